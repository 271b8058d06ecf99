from django.db import migrations, models


def _add(name: str, length: int) -> migrations.AddField:
    field = models.CharField(blank=True, db_default="", default="", max_length=length)
    return migrations.AddField("document", name, field)


class Migration(migrations.Migration):
    """Store what submissions of schema v2.1 declare about a document.

    This migration depends on no migration that runs after an upgrade, so that it can run before
    one.
    """

    dependencies = [("ingestion", "0042_pre_polls_are_not_stored")]

    operations = [
        _add("person_role", 80),
        _add("declared_language", 10),
        _add("declared_version", 40),
    ]
