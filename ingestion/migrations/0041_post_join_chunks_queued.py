from django.db import migrations


class Migration(migrations.Migration):
    """Join the migration of the time of queueing, which runs before an upgrade, with later ones."""

    dependencies = [
        ("ingestion", "0037_pre_chunks_queued"),
        ("ingestion", "0040_post_redact_documents"),
    ]

    operations = []
