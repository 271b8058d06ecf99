from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def remember_what_was_decided_about(apps, schema_editor):
    """Until now a document kept its type and doc_id for ever: they are those of each decision."""
    own = apps.get_model("ingestion", "Document").objects.filter(pk=OuterRef("document"))
    apps.get_model("ingestion", "Decision").objects.update(
        doc_id=Subquery(own.values("doc_id")[:1]),
        document_type=Subquery(own.values("document_type")[:1]),
    )


class Migration(migrations.Migration):
    dependencies = [
        ("ingestion", "0019_pre_uploads_come_in_parts"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="decision",
            name="a_decision_is_one_of_the_table",
        ),
        migrations.RemoveConstraint(
            model_name="document",
            name="a_batch_names_a_document_once",
        ),
        migrations.AddField(
            model_name="decision",
            name="doc_id",
            field=models.CharField(blank=True, db_default="", max_length=120),
        ),
        migrations.AddField(
            model_name="decision",
            name="document_type",
            field=models.CharField(blank=True, db_default="", max_length=40),
        ),
        migrations.AddField(
            model_name="decision",
            name="new_doc_id",
            field=models.CharField(blank=True, db_default="", max_length=120),
        ),
        migrations.AddField(
            model_name="decision",
            name="new_document_type",
            field=models.CharField(blank=True, db_default="", max_length=40),
        ),
        migrations.AddField(
            model_name="document",
            name="is_redeclared",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name="decision",
            name="action",
            field=models.CharField(
                choices=[
                    ("confirm", "Rejection confirmed"),
                    ("return", "Returned to the site"),
                    ("redeclare", "Type or person corrected"),
                    ("release", "Released from review"),
                    ("unseal", "Released from quarantine"),
                    ("override", "Filed in spite of a finding"),
                    ("supersede", "Superseded by a newer version"),
                    ("withdraw", "Withdrawn"),
                    ("rehome", "Moved to another site"),
                ],
                max_length=20,
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "action__in",
                        [
                            "confirm",
                            "return",
                            "redeclare",
                            "release",
                            "unseal",
                            "override",
                            "supersede",
                            "withdraw",
                            "rehome",
                        ],
                    )
                ),
                name="a_decision_is_one_of_the_table",
            ),
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_redeclared", False)),
                fields=("batch", "site", "doc_id"),
                name="a_batch_names_a_document_once",
            ),
        ),
        migrations.RunPython(remember_what_was_decided_about, migrations.RunPython.noop),
    ]
