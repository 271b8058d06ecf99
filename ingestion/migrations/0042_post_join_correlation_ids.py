from django.db import migrations


class Migration(migrations.Migration):
    """Join the branches of migrations before and after an upgrade."""

    dependencies = [
        ("ingestion", "0041_post_join_chunks_queued"),
        ("ingestion", "0038_pre_correlation_ids"),
    ]

    operations = []
