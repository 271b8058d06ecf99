"""A look for work that finds nothing, as most do, is one probe of this index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingestion", "0006_a_portal_is_asked_again"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="chunk",
            index=models.Index(
                fields=["is_urgent", "state", "next_dispatch_at"], name="chunks_waiting"
            ),
        ),
    ]
