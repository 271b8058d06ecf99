import django.utils.timezone
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    """Let people and programs request jobs with a priority, and cancel them.

    The new columns have defaults in the database, because code of the release before leaves them
    out. This migration depends on no migration that runs after an upgrade, so that it can run
    before one.
    """

    dependencies = [("audit", "0015_pre_correlation_of_messages")]

    operations = [
        migrations.AlterModelOptions(
            "auditjob",
            options={
                "ordering": ["-pk"],
                "permissions": [
                    ("cancel_job", "Can cancel anybody's background jobs"),
                    ("verify_archive", "Can verify the archive"),
                    ("create_backup", "Can create backups"),
                ],
                "verbose_name": "background job",
            },
        ),
        *(
            migrations.AddField("auditjob", name, field)
            for name, field in (
                ("asked_role", models.CharField(blank=True, db_default="", max_length=200)),
                ("owner", models.CharField(blank=True, db_default="", max_length=200)),
                ("priority", models.PositiveSmallIntegerField(db_default=5, default=5)),
                (
                    "idempotency_key",
                    models.CharField(blank=True, max_length=200, null=True, unique=True),
                ),
                ("request_digest", models.CharField(blank=True, db_default="", max_length=64)),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                (
                    "cancel_requested_by",
                    models.CharField(blank=True, db_default="", max_length=200),
                ),
                (
                    "cancel_requested_role",
                    models.CharField(blank=True, db_default="", max_length=200),
                ),
            )
        ),
        migrations.AlterField(
            "auditjob",
            "state",
            models.CharField(
                choices=[
                    ("waiting", "waiting for a worker"),
                    ("running", "in progress"),
                    ("done", "done"),
                    ("failed", "failed"),
                    ("cancelled", "cancelled"),
                ],
                default="waiting",
                max_length=20,
            ),
        ),
        migrations.AddIndex(
            "auditjob", models.Index(fields=["kind", "state"], name="jobs_by_kind")
        ),
        migrations.AddField(
            "outboxmessage",
            "turn_at",
            models.DateTimeField(db_default=Now(), default=django.utils.timezone.now),
        ),
    ]
