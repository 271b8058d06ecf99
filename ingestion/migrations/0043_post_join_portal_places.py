from django.db import migrations


class Migration(migrations.Migration):
    """Join the migration of the places of portals, which runs before an upgrade, with later ones."""

    dependencies = [
        ("ingestion", "0039_pre_portal_places"),
        ("ingestion", "0042_post_join_correlation_ids"),
    ]

    operations = []
