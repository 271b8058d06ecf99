import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Give documents the pages of their file.

    Old code never finds a part of a file: files are divided only after `0033_post_divide_files`.
    This migration depends on no migration that runs after an upgrade, so that it can run before
    one. Its number sorts it before them in Django's plan (`MigrationGraph.iterative_dfs`).
    """

    dependencies = [
        ("ingestion", "0030_pre_models_are_learned"),
    ]

    operations = [
        migrations.CreateModel(
            name="ExcludedPage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("page", models.PositiveIntegerField()),
                ("region", models.CharField(blank=True, max_length=40)),
                ("use", models.CharField(max_length=12)),
                ("reason", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "ordering": ["document", "page", "region"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="decision",
            name="a_decision_is_one_of_the_table",
        ),
        migrations.RemoveConstraint(
            model_name="document",
            name="a_document_comes_from_a_portal_or_an_upload",
        ),
        migrations.RemoveConstraint(
            model_name="document",
            name="an_upload_is_filed_once",
        ),
        migrations.RemoveConstraint(
            model_name="document",
            name="a_batch_names_a_document_once",
        ),
        migrations.AddField(
            model_name="decision",
            name="division",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="document",
            name="first_page",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="document",
            name="last_page",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="document",
            name="part_of",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="parts",
                to="ingestion.document",
            ),
        ),
        migrations.AddField(
            model_name="document",
            name="region",
            field=models.CharField(blank=True, db_default="", default="", max_length=40),
        ),
        migrations.AddField(
            model_name="extraction",
            name="cut",
            field=models.JSONField(blank=True, null=True),
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
                    ("divide", "Divided into documents"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="decision",
            name="doc_id",
            field=models.CharField(blank=True, db_default="", max_length=160),
        ),
        migrations.AlterField(
            model_name="decision",
            name="from_state",
            field=models.CharField(
                choices=[
                    ("RECEIVED", "Received"),
                    ("VALIDATING", "Checking"),
                    ("IN_REVIEW", "In review"),
                    ("ARCHIVED", "Filed"),
                    ("REJECTED", "Rejected"),
                    ("DEDUPED", "Already on file"),
                    ("DIVIDED", "Divided"),
                    ("HELD", "Held by us"),
                    ("RETURNED", "Returned to site"),
                    ("WITHDRAWN", "Withdrawn"),
                    ("CANCELLED", "Cancelled"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="decision",
            name="new_doc_id",
            field=models.CharField(blank=True, db_default="", max_length=160),
        ),
        migrations.AlterField(
            model_name="decision",
            name="to_state",
            field=models.CharField(
                choices=[
                    ("RECEIVED", "Received"),
                    ("VALIDATING", "Checking"),
                    ("IN_REVIEW", "In review"),
                    ("ARCHIVED", "Filed"),
                    ("REJECTED", "Rejected"),
                    ("DEDUPED", "Already on file"),
                    ("DIVIDED", "Divided"),
                    ("HELD", "Held by us"),
                    ("RETURNED", "Returned to site"),
                    ("WITHDRAWN", "Withdrawn"),
                    ("CANCELLED", "Cancelled"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="document",
            name="doc_id",
            field=models.CharField(max_length=160, verbose_name="document"),
        ),
        migrations.AlterField(
            model_name="document",
            name="state",
            field=models.CharField(
                choices=[
                    ("RECEIVED", "Received"),
                    ("VALIDATING", "Checking"),
                    ("IN_REVIEW", "In review"),
                    ("ARCHIVED", "Filed"),
                    ("REJECTED", "Rejected"),
                    ("DEDUPED", "Already on file"),
                    ("DIVIDED", "Divided"),
                    ("HELD", "Held by us"),
                    ("RETURNED", "Returned to site"),
                    ("WITHDRAWN", "Withdrawn"),
                    ("CANCELLED", "Cancelled"),
                ],
                default="RECEIVED",
                max_length=20,
            ),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(
                condition=models.Q(("part_of__isnull", False)),
                fields=["part_of", "first_page"],
                name="parts_of_a_file",
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
                            "divide",
                        ],
                    )
                ),
                name="a_decision_is_one_of_the_table",
            ),
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "ARCHIVED"), ("url", "")),
                fields=("site", "sha256", "first_page", "last_page", "region"),
                name="an_upload_is_filed_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_redeclared", False), ("part_of", None)),
                fields=("batch", "site", "doc_id"),
                name="a_batch_names_a_document_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.UniqueConstraint(
                condition=models.Q(("part_of__isnull", False)),
                fields=("part_of", "first_page", "last_page", "region"),
                name="a_file_has_a_part_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("first_page", 0), ("last_page", 0), ("part_of", None), ("region", "")
                    ),
                    models.Q(
                        ("first_page__gte", 1),
                        ("last_page__gte", models.F("first_page")),
                        ("part_of__isnull", False),
                        models.Q(
                            ("region", ""), ("last_page", models.F("first_page")), _connector="OR"
                        ),
                    ),
                    _connector="OR",
                ),
                name="a_part_has_pages_of_its_file",
            ),
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("url", ""), _negated=True),
                    models.Q(("spooled", ""), _negated=True),
                    ("part_of__isnull", False),
                    _connector="OR",
                ),
                name="a_document_comes_from_a_portal_or_an_upload",
            ),
        ),
        migrations.AddField(
            model_name="excludedpage",
            name="document",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="excluded_pages",
                to="ingestion.document",
            ),
        ),
        migrations.AddConstraint(
            model_name="excludedpage",
            constraint=models.UniqueConstraint(
                fields=("document", "page", "region"), name="a_page_is_accounted_for_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="excludedpage",
            constraint=models.CheckConstraint(
                condition=models.Q(("use__in", ["blank", "separator", "set_aside"])),
                name="the_use_of_a_page_is_one_of_the_table",
            ),
        ),
        migrations.AddConstraint(
            model_name="excludedpage",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("use", "set_aside"), _negated=True),
                    models.Q(("reason", ""), _negated=True),
                    _connector="OR",
                ),
                name="a_page_is_set_aside_with_a_reason",
            ),
        ),
    ]
