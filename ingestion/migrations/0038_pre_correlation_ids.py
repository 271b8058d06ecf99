from django.db import migrations, models


class Migration(migrations.Migration):
    """Store the correlation ID of the request or command that submitted a batch.

    This migration depends on no migration that runs after an upgrade, so that it can run before
    one.
    """

    dependencies = [("ingestion", "0037_pre_chunks_queued")]

    operations = [
        migrations.AddField("batch", "correlation_id", models.UUIDField(editable=False, null=True))
    ]
