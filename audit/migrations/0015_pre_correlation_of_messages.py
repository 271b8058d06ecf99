from django.db import migrations, models


class Migration(migrations.Migration):
    """Store the correlation ID of the action that wrote a message of the outbox.

    This migration depends on no migration that runs after an upgrade, so that it can run before
    one.
    """

    dependencies = [("audit", "0011_pre_outbox")]

    operations = [
        migrations.AddField("outboxmessage", "correlation_id", models.UUIDField(null=True))
    ]
