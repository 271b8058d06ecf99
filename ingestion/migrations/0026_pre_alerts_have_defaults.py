import django.utils.timezone
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    """Give columns defaults that the outbox replaces, because new code leaves them out.

    It depends on no migration that runs after an upgrade, so that it can run before one. Its number
    sorts it before them in Django's plan (`MigrationGraph.iterative_dfs`).
    """

    dependencies = [
        ("ingestion", "0021_pre_resumable_uploads"),
    ]

    operations = [
        migrations.AlterField(
            "alarmmessage", "tries", models.PositiveIntegerField(default=0, db_default=0)
        ),
        migrations.AlterField(
            "alarmmessage",
            "next_try_at",
            models.DateTimeField(default=django.utils.timezone.now, db_default=Now()),
        ),
        migrations.AlterField("alarmmessage", "error", models.TextField(blank=True, db_default="")),
    ]
