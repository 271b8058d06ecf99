from datetime import timedelta

from django.db import migrations

LIFETIME = timedelta(days=1)


def move_alerts(apps, schema_editor):
    """Write a message for each alert that the release before has not sent."""
    message_model = apps.get_model("audit", "OutboxMessage")
    known = {
        message.payload["message"]
        for message in message_model.objects.filter(kind__startswith="alert.")
    }
    alerts = apps.get_model("ingestion", "AlarmMessage").objects.filter(sent_at=None)
    for alert in alerts.exclude(pk__in=known).select_related("alarm").order_by("pk"):
        message_model.objects.create(
            kind=f"alert.{alert.channel}",
            ordering_key=alert.alarm.key,
            payload={"message": alert.pk},
            state="dead" if alert.given_up_at else "waiting",
            attempts=alert.tries,
            error=alert.error,
            created_at=alert.created_at,
            due_at=alert.next_try_at,
            expires_at=alert.created_at + LIFETIME,
            dead_at=alert.given_up_at,
        )


class Migration(migrations.Migration):
    """Move unsent alerts into the outbox, and remove the columns that it replaces."""

    dependencies = [
        ("audit", "0011_pre_outbox"),
        ("ingestion", "0025_post_plain_labels"),
        ("ingestion", "0026_pre_alerts_have_defaults"),
    ]

    operations = [
        migrations.RunPython(move_alerts, migrations.RunPython.noop),
        migrations.RemoveIndex("alarmmessage", "alarm_messages_to_send"),
        migrations.RemoveField("alarmmessage", "tries"),
        migrations.RemoveField("alarmmessage", "next_try_at"),
        migrations.RemoveField("alarmmessage", "error"),
        migrations.RemoveField("alarmmessage", "given_up_at"),
    ]
