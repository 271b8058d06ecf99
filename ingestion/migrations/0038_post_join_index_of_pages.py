from django.db import migrations


class Migration(migrations.Migration):
    """Join the migration of the search, which runs before an upgrade, with later ones."""

    dependencies = [
        ("ingestion", "0034_pre_index_pages"),
        ("ingestion", "0037_post_name_types_and_events"),
    ]

    operations = []
