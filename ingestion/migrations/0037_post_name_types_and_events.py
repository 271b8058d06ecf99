from django.db import migrations, models


class Migration(migrations.Migration):
    """Name the detected type of a draft's file, and what an alert says. Columns keep their names."""

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
                migrations.RenameField("alarmmessage", "word", "event"),
                migrations.AlterField(
                    "alarmmessage",
                    "event",
                    models.CharField(
                        choices=[("begun", "started"), ("lasts", "continues"), ("over", "ended")],
                        db_column="word",
                        max_length=10,
                    ),
                ),
            ]
        )
    ]
