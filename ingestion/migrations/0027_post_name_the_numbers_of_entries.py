from django.db import migrations, models


class Migration(migrations.Migration):
    """Name the number of a row's last entry alike in all tables. The columns keep their names.

    Rows go on where their numbers stand (docs/adr/0037-recorded-rows.md).
    """

    dependencies = [("ingestion", "0026_post_alerts_by_outbox")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                operation
                for model, column in (
                    ("batch", "transitions"),
                    ("document", "transitions"),
                    ("mailbox", "transitions"),
                    ("portallimitstate", "switches"),
                )
                for operation in (
                    migrations.RenameField(model, column, "revision"),
                    migrations.AlterField(
                        model,
                        "revision",
                        models.PositiveIntegerField(default=0, editable=False, db_column=column),
                    ),
                )
            ]
        )
    ]
