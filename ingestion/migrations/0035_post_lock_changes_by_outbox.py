from django.db import migrations


def move_lock_changes(apps, schema_editor):
    """Write a message for each change that the release before has not applied to the bucket."""
    message_model = apps.get_model("audit", "OutboxMessage")
    for change in apps.get_model("ingestion", "LockChange").objects.order_by("pk"):
        message_model.objects.create(
            kind="lock_change",
            payload={"study": change.study_id},
            attempts=1 if change.error else 0,
            error=change.error,
            created_at=change.changed_at,
        )


class Migration(migrations.Migration):
    """Move the changes of object locks into the outbox, and remove their table."""

    dependencies = [
        ("audit", "0011_pre_outbox"),
        ("ingestion", "0034_post_join_separator_sheets"),
    ]

    operations = [
        migrations.RunPython(move_lock_changes, migrations.RunPython.noop),
        migrations.DeleteModel("LockChange"),
    ]
