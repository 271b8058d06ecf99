from django.db import migrations, models

ACTIONS = [
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
    ("set_aside", "Set aside"),
]


class Migration(migrations.Migration):
    """Give documents the container from which they came, and list entries that are set aside.

    Old code never finds an entry of a container: containers are expanded only after
    `0039_post_open_containers`. This migration depends on no migration that runs after an upgrade,
    as `0032_pre_parts_of_files` says.
    """

    dependencies = [
        ("ingestion", "0034_pre_renditions"),
    ]

    operations = [
        migrations.CreateModel(
            name="ExcludedEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("entry", models.PositiveIntegerField()),
                ("name", models.CharField(max_length=255)),
                ("sha256", models.CharField(max_length=64)),
                ("size", models.PositiveBigIntegerField()),
                ("use", models.CharField(max_length=20)),
                (
                    "document",
                    models.ForeignKey(
                        on_delete=models.deletion.PROTECT,
                        related_name="excluded_entries",
                        to="ingestion.document",
                    ),
                ),
            ],
            options={"ordering": ["document", "entry"]},
        ),
        migrations.AddConstraint(
            model_name="excludedentry",
            constraint=models.UniqueConstraint(
                fields=("document", "entry"), name="an_entry_is_accounted_for_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="excludedentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("use__in", ["empty", "system_file", "small_picture", "covering_note"])
                ),
                name="the_use_of_an_entry_is_one_of_the_table",
            ),
        ),
        migrations.RemoveConstraint(model_name="document", name="a_file_has_a_part_once"),
        migrations.RemoveConstraint(model_name="document", name="a_part_has_pages_of_its_file"),
        migrations.RemoveConstraint(
            model_name="excludedpage", name="the_use_of_a_page_is_one_of_the_table"
        ),
        migrations.RemoveConstraint(model_name="decision", name="a_decision_is_one_of_the_table"),
        migrations.AddField(
            model_name="document",
            name="entry",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="document",
            name="entry_name",
            field=models.CharField(blank=True, db_default="", default="", max_length=255),
        ),
        migrations.AddField(
            model_name="document",
            name="is_doubtful",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name="decision",
            name="action",
            field=models.CharField(choices=ACTIONS, max_length=20),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(("action__in", [value for value, _label in ACTIONS])),
                name="a_decision_is_one_of_the_table",
            ),
        ),
        migrations.AddConstraint(
            model_name="excludedpage",
            constraint=models.CheckConstraint(
                condition=models.Q(("use__in", ["blank", "separator", "cover", "set_aside"])),
                name="the_use_of_a_page_is_one_of_the_table",
            ),
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.UniqueConstraint(
                condition=models.Q(("part_of__isnull", False)),
                fields=("part_of", "entry", "first_page", "last_page", "region"),
                name="a_file_has_a_part_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("entry", 0),
                        ("first_page", 0),
                        ("last_page", 0),
                        ("part_of", None),
                        ("region", ""),
                    ),
                    models.Q(
                        ("entry", 0),
                        ("first_page__gte", 1),
                        ("last_page__gte", models.F("first_page")),
                        ("part_of__isnull", False),
                        models.Q(
                            ("region", ""), ("last_page", models.F("first_page")), _connector="OR"
                        ),
                    ),
                    models.Q(
                        ("entry__gte", 1),
                        ("first_page", 0),
                        ("last_page", 0),
                        ("part_of__isnull", False),
                        ("region", ""),
                    ),
                    _connector="OR",
                ),
                name="a_part_has_pages_or_is_an_entry",
            ),
        ),
    ]
