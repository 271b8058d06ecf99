from django.db import migrations


class Migration(migrations.Migration):
    """Join the migration of investigators, which runs before an upgrade, with later ones."""

    dependencies = [
        ("clinical_sites", "0013_pre_sites_name_their_investigator"),
        ("clinical_sites", "0016_post_name_what_an_approval_is_about"),
    ]

    operations = []
