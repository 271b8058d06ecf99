import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the table of renditions, and name the one from which a document was read.

    It depends on no migration that runs after an upgrade, as `0032_pre_parts_of_files` says.
    """

    dependencies = [
        ("ingestion", "0034_pre_index_pages"),
    ]

    operations = [
        migrations.CreateModel(
            name="DocumentRendition",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("sha256", models.CharField(db_index=True, max_length=64)),
                ("size", models.PositiveBigIntegerField()),
                ("media_type", models.CharField(max_length=100)),
                ("tool", models.CharField(max_length=120)),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="renditions",
                        to="ingestion.document",
                    ),
                ),
            ],
            options={"ordering": ["document", "pk"]},
        ),
        migrations.AddConstraint(
            model_name="documentrendition",
            constraint=models.UniqueConstraint(
                fields=("document", "kind", "sha256"), name="a_rendition_is_stored_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="documentrendition",
            constraint=models.CheckConstraint(
                condition=models.Q(("sha256", ""), _negated=True),
                name="a_rendition_has_its_fingerprint",
            ),
        ),
        migrations.AddField(
            model_name="extraction",
            name="rendition",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="extractions",
                to="ingestion.documentrendition",
            ),
        ),
    ]
