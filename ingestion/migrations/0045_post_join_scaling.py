from django.db import migrations


class Migration(migrations.Migration):
    """Join the migration of scaling, which runs before an upgrade, with later ones."""

    dependencies = [
        ("ingestion", "0041_pre_scaling"),
        ("ingestion", "0044_post_join_retries"),
    ]

    operations = []
