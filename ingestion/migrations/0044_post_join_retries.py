from django.db import migrations


class Migration(migrations.Migration):
    """Join the migrations of both stages."""

    dependencies = [
        ("ingestion", "0040_pre_retries_of_batches"),
        ("ingestion", "0043_post_join_portal_places"),
    ]

    operations = []
