import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Store how many worker hosts are wanted.

    Depends on no migration that runs after an upgrade, so that it can run before one.
    """

    dependencies = [("ingestion", "0040_pre_retries_of_batches")]

    operations = [
        migrations.CreateModel(
            name="ScalingRow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("wanted_hosts", models.PositiveIntegerField()),
                ("full_since", models.DateTimeField(null=True)),
                ("idle_since", models.DateTimeField(null=True)),
                ("asked_at", models.DateTimeField(null=True)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={"db_table": "ingestion_scaling"},
        ),
    ]
