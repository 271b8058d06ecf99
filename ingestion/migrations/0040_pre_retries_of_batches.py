import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Store retries of batches that are requested over HTTP.

    This migration depends on no migration that runs after an upgrade, so that it can run before
    one.
    """

    dependencies = [("ingestion", "0039_pre_portal_places")]

    operations = [
        migrations.CreateModel(
            name="BatchRetry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("idempotency_key", models.CharField(max_length=200, unique=True)),
                ("request_digest", models.CharField(max_length=64)),
                ("requested_by", models.CharField(max_length=200)),
                ("documents", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="retries",
                        to="ingestion.batch",
                    ),
                ),
            ],
            options={"verbose_name_plural": "retries of batches", "ordering": ["-pk"]},
        ),
    ]
