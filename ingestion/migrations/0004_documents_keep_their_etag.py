from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingestion", "0003_batches_are_cancelled_polled_and_pruned"),
    ]

    operations = [
        migrations.AddField(
            model_name="document",
            name="etag",
            field=models.CharField(blank=True, max_length=200),
        ),
    ]
