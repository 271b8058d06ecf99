from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingestion", "0002_portals_have_gates_and_documents_wait"),
    ]

    operations = [
        migrations.AddField(
            model_name="document",
            name="etag",
            field=models.CharField(blank=True, max_length=200),
        ),
    ]
