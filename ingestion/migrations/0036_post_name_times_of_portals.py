from django.db import migrations, models


class Migration(migrations.Migration):
    """Name two times of PortalLimitState for what they are. The columns keep their names."""

    dependencies = [("ingestion", "0035_post_lock_changes_by_outbox")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("portallimitstate", "given_at", "delivered_at"),
                migrations.AlterField(
                    "portallimitstate",
                    "delivered_at",
                    models.BigIntegerField(db_column="given_at", default=0),
                ),
                migrations.RenameField("portallimitstate", "shut_until", "probe_at"),
                migrations.AlterField(
                    "portallimitstate",
                    "probe_at",
                    models.BigIntegerField(db_column="shut_until", default=0),
                ),
            ]
        )
    ]
