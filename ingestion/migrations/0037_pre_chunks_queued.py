import django.db.models.functions.datetime
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Store when a chunk was queued, from which the deadline of its site counts.

    Depends on no migration that runs after an upgrade, so that it can run before one.
    """

    dependencies = [("ingestion", "0036_pre_redactions")]

    operations = [
        migrations.AddField(
            model_name="chunk",
            name="created_at",
            field=models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(),
                default=django.utils.timezone.now,
            ),
        ),
    ]
