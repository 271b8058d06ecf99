from django.db import migrations


class Migration(migrations.Migration):
    """Permit that containers of files are expanded (`ingestion.documents.expansion.is_enabled`).

    Code of the release before knows no entries of containers. So no container is expanded before
    this migration, which runs when no old process is left.
    """

    dependencies = [
        ("ingestion", "0035_pre_container_entries"),
        ("ingestion", "0038_post_join_renditions"),
    ]

    operations = []
