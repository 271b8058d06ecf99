from django.db import migrations


class Migration(migrations.Migration):
    """Join the migration of renditions, which runs before an upgrade, with later ones."""

    dependencies = [
        ("ingestion", "0034_pre_renditions"),
        ("ingestion", "0038_post_join_index_of_pages"),
    ]

    operations = []
