from django.db import migrations


class Migration(migrations.Migration):
    """Join the branches of migrations before and after an upgrade."""

    dependencies = [
        ("audit", "0014_post_name_entries_read_anew"),
        ("audit", "0015_pre_correlation_of_messages"),
    ]

    operations = []
