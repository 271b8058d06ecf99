from django.db import migrations


class Migration(migrations.Migration):
    """Join the migration of mirrors, which runs before an upgrade, with later ones."""

    dependencies = [
        ("clinical_sites", "0014_pre_mirrors"),
        ("clinical_sites", "0019_post_portal_addresses_by_scheme"),
    ]

    operations = []
