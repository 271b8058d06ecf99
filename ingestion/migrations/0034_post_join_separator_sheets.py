from django.db import migrations


class Migration(migrations.Migration):
    """Join the migration of separator sheets, which runs before an upgrade, with later ones."""

    dependencies = [
        ("ingestion", "0033_post_divide_files"),
        ("ingestion", "0033_pre_separator_sheets"),
    ]

    operations = []
