from django.db import migrations, models


class Migration(migrations.Migration):
    """Store the parameters of a job as they were requested.

    This migration depends on no migration that runs after an upgrade, so that it can run before
    one.
    """

    dependencies = [("audit", "0016_pre_jobs_on_request")]

    operations = [migrations.AddField("auditjob", "parameters", models.JSONField(null=True))]
