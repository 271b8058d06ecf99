from django.db import migrations


class Migration(migrations.Migration):
    """Join the migrations of both stages."""

    dependencies = [
        ("clinical_sites", "0015_pre_fhir_clients"),
        ("clinical_sites", "0020_post_join_mirrors"),
    ]

    operations = []
