from django.db import migrations, models


class Migration(migrations.Migration):
    """Store what separator sheets declare, and the proposed division of a file in the upload form.

    It depends on no migration that runs after an upgrade, as `0032_pre_parts_of_files` says.
    """

    dependencies = [
        ("ingestion", "0032_pre_parts_of_files"),
    ]

    operations = [
        migrations.AddField(
            model_name="document",
            name="person",
            field=models.CharField(blank=True, db_default="", default="", max_length=80),
        ),
        migrations.AddField(
            model_name="draftfile",
            name="cut",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
