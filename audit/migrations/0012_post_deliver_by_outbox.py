import hashlib
import json

from django.db import migrations
from django.utils import timezone


def move_jobs(apps, schema_editor):
    """Write a message for each job that the release before left waiting or running."""
    job_model = apps.get_model("audit", "AuditJob")
    message_model = apps.get_model("audit", "OutboxMessage")
    messages = message_model.objects.filter(kind__startswith="job.")
    known = {message.payload["job"] for message in messages}
    keys = set(messages.values_list("kind", "key"))
    for job in job_model.objects.filter(state__in=["waiting", "running"]).order_by("pk"):
        if job.pk in known:
            continue
        kind, key = f"job.{job.kind}", ""
        if job.asked_by == "system:worker" and job.state == "waiting":
            text = json.dumps(job.arguments, sort_keys=True)
            key = hashlib.sha256(text.encode()).hexdigest()
        if (kind, key) in keys:
            key = ""
        keys.add((kind, key))
        message_model.objects.create(
            kind=kind,
            key=key,
            payload={"job": job.pk},
            attempts=job.attempts,
            created_at=job.created_at,
            due_at=job.due_at if job.state == "waiting" else timezone.now(),
        )
        job_model.objects.filter(pk=job.pk).update(state="waiting")


def move_outages(apps, schema_editor):
    """Keep the attempts, the backoff and the error of each anchor that cannot be reached."""
    message_model = apps.get_model("audit", "OutboxMessage")
    known = set(message_model.objects.filter(kind="anchor").values_list("key", flat=True))
    for outage in apps.get_model("audit", "AnchorOutage").objects.exclude(anchor__in=known):
        message_model.objects.create(
            kind="anchor",
            key=outage.anchor,
            payload={"anchor": outage.anchor},
            attempts=outage.tries,
            error=outage.error,
            created_at=outage.since,
            due_at=outage.next_try_at,
        )


class Migration(migrations.Migration):
    """Move what waits into the outbox, and remove the columns and the table that it replaces."""

    dependencies = [
        ("audit", "0011_pre_outbox"),
    ]

    operations = [
        migrations.RunPython(move_jobs, migrations.RunPython.noop),
        migrations.RunPython(move_outages, migrations.RunPython.noop),
        migrations.RemoveIndex("auditjob", "jobs_that_are_open"),
        migrations.RemoveField("auditjob", "due_at"),
        migrations.RemoveField("auditjob", "worker"),
        migrations.RemoveField("auditjob", "rung_at"),
        migrations.RemoveField("auditjob", "seen_at"),
        migrations.DeleteModel("AnchorOutage"),
    ]
