from django.db import migrations, models


class Migration(migrations.Migration):
    """Name the detected type of DraftFile for what it is. The columns keep their names."""

    dependencies = [("ingestion", "0036_post_name_times_of_portals")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("draftfile", "guess", "detected_type"),
                migrations.AlterField(
                    "draftfile",
                    "detected_type",
                    models.CharField(blank=True, db_column="guess", max_length=40),
                ),
                migrations.RenameField("draftfile", "guessed_at", "detected_at"),
                migrations.AlterField(
                    "draftfile",
                    "detected_at",
                    models.DateTimeField(db_column="guessed_at", null=True),
                ),
            ]
        )
    ]
