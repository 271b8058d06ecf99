import django.utils.timezone
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    """Add the outbox. Columns that it replaces get defaults, because new code leaves them out."""

    dependencies = [
        ("audit", "0010_pre_plain_labels"),
    ]

    operations = [
        migrations.CreateModel(
            name="OutboxMessage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=40)),
                ("key", models.CharField(blank=True, max_length=200)),
                ("ordering_key", models.CharField(blank=True, max_length=200)),
                ("payload", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("claimed", "being delivered"),
                            ("dead", "given up"),
                        ],
                        default="waiting",
                        max_length=20,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField(null=True)),
                ("claim_id", models.UUIDField(null=True)),
                ("claimed_by", models.CharField(blank=True, max_length=200)),
                ("lease_until", models.DateTimeField(null=True)),
                ("woken_at", models.DateTimeField(null=True)),
                ("dead_at", models.DateTimeField(null=True)),
            ],
            options={"ordering": ["pk"]},
        ),
        migrations.AddIndex(
            "outboxmessage",
            models.Index(
                condition=models.Q(("state__in", ["waiting", "claimed"])),
                fields=["kind", "due_at"],
                name="open_outbox_messages",
            ),
        ),
        migrations.AddConstraint(
            "outboxmessage",
            models.UniqueConstraint(
                condition=models.Q(("state", "waiting"), models.Q(("key", ""), _negated=True)),
                fields=("kind", "key"),
                name="one_message_of_a_key_waits",
            ),
        ),
        migrations.AddConstraint(
            "outboxmessage",
            models.UniqueConstraint(
                condition=models.Q(
                    ("state", "claimed"), models.Q(("ordering_key", ""), _negated=True)
                ),
                fields=("kind", "ordering_key"),
                name="one_message_of_an_order_is_claimed",
            ),
        ),
        migrations.AlterField(
            "auditjob",
            "due_at",
            models.DateTimeField(default=django.utils.timezone.now, db_default=Now()),
        ),
        migrations.AlterField(
            "auditjob", "worker", models.CharField(blank=True, max_length=200, db_default="")
        ),
    ]
