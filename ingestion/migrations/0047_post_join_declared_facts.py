from django.db import migrations


class Migration(migrations.Migration):
    """Join the branches of migrations before and after an upgrade."""

    dependencies = [
        ("ingestion", "0046_post_remove_polls"),
        ("ingestion", "0043_pre_declared_facts"),
    ]

    operations = []
