from django.db import migrations


class Migration(migrations.Migration):
    """Permit that documents are redacted (`ingestion.documents.redactions.MIGRATION`).

    Code of the release before knows no redactions, and would show originals. So nothing is redacted
    before this migration, which runs when no old process is left.
    """

    dependencies = [
        ("ingestion", "0036_pre_redactions"),
        ("ingestion", "0039_post_open_containers"),
    ]

    operations = []
