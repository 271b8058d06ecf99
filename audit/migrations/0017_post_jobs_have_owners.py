from django.db import migrations
from django.db.models import F


def name_owners(apps, schema_editor):
    """Jobs of the release before belong to who requested them."""
    jobs = apps.get_model("audit", "AuditJob")
    jobs.objects.filter(owner="").update(owner=F("asked_by"))


class Migration(migrations.Migration):
    """Name the owners of jobs that code of the release before created."""

    dependencies = [
        ("audit", "0016_pre_jobs_on_request"),
        ("audit", "0016_post_join_correlation_of_messages"),
    ]

    operations = [migrations.RunPython(name_owners, migrations.RunPython.noop)]
