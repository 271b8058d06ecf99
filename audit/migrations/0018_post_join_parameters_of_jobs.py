from django.db import migrations


class Migration(migrations.Migration):
    """Join the branches of migrations before and after an upgrade."""

    dependencies = [
        ("audit", "0017_post_jobs_have_owners"),
        ("audit", "0017_pre_parameters_of_jobs"),
    ]

    operations = []
