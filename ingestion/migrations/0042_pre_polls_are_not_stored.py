from django.db import migrations, models


class Migration(migrations.Migration):
    """Give a column of polls a default, because new code leaves it out.

    Depends on no migration that runs after an upgrade, so that it can run before one.
    """

    dependencies = [("ingestion", "0041_pre_scaling")]

    operations = [
        migrations.AlterField(
            "batch",
            "poll_retries",
            models.PositiveIntegerField(default=0, db_default=0, editable=False),
        ),
    ]
