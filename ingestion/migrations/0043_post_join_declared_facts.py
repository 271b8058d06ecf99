from django.db import migrations


class Migration(migrations.Migration):
    """Join the branches of migrations before and after an upgrade."""

    dependencies = [
        ("ingestion", "0042_post_join_correlation_ids"),
        ("ingestion", "0039_pre_declared_facts"),
    ]

    operations = []
