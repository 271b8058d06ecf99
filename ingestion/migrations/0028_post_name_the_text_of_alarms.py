from django.db import migrations, models


class Migration(migrations.Migration):
    """Rename fields of alarms and alerts in the code. The columns keep their names."""

    dependencies = [("ingestion", "0027_post_name_the_numbers_of_entries")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("alarmrow", "said", "text"),
                migrations.AlterField("alarmrow", "text", models.TextField(db_column="said")),
                migrations.RenameField("alarmrow", "told_at", "alerted_at"),
                migrations.AlterField(
                    "alarmrow", "alerted_at", models.DateTimeField(db_column="told_at")
                ),
                migrations.RenameField("alarmmessage", "said", "text"),
                migrations.AlterField("alarmmessage", "text", models.TextField(db_column="said")),
            ]
        )
    ]
