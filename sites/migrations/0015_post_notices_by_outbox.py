from datetime import timedelta

from django.db import migrations
from django.utils import timezone

LIFETIME = timedelta(days=3)


def move_notices(apps, schema_editor):
    """Write a message for each notice that the release before has not sent and not given up."""
    notices = apps.get_model("clinical_sites", "AccountNotice").objects.filter(
        sent_at=None, created_at__gt=timezone.now() - LIFETIME
    )
    message_model = apps.get_model("audit", "OutboxMessage")
    for notice in notices.order_by("pk"):
        message_model.objects.create(
            kind="account_notice",
            payload={
                "user": notice.user_id,
                "address": notice.address,
                "about": notice.about,
                "text": notice.text,
                "has_link": notice.has_link,
            },
            attempts=notice.tries,
            error=notice.error,
            created_at=notice.created_at,
            due_at=notice.next_try_at,
            expires_at=notice.created_at + LIFETIME,
        )


class Migration(migrations.Migration):
    """Move unsent notices into the outbox, and remove their table.

    The ledger has an entry for each notice that was sent.
    """

    dependencies = [
        ("audit", "0011_pre_outbox"),
        ("clinical_sites", "0014_post_plain_labels"),
    ]

    operations = [
        migrations.RunPython(move_notices, migrations.RunPython.noop),
        migrations.DeleteModel("AccountNotice"),
    ]
