from django.db import migrations, models

from audit.ledger import append_only


def install(_apps, schema_editor):
    append_only.install_triggers(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0005_a_detail_may_be_taken_out_on_record"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditReview",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("period_from", models.DateField()),
                ("period_to", models.DateField()),
                ("site", models.TextField(blank=True)),
                ("filters", models.TextField(blank=True)),
                ("findings", models.TextField()),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("nothing_found", "Nothing that needs an answer"),
                            ("answered", "Something was found, and it is answered"),
                            ("open", "Something was found, and it is being followed up"),
                        ],
                        max_length=20,
                    ),
                ),
                ("entries", models.BigIntegerField()),
                ("last_seq", models.BigIntegerField()),
                ("reviewer", models.TextField()),
                ("printed_name", models.TextField()),
                ("meaning", models.CharField(max_length=40)),
                ("signed_at", models.DateTimeField(verbose_name="signed (UTC)")),
            ],
            options={
                "verbose_name": "review of the trail",
                "verbose_name_plural": "reviews of the trail",
                "ordering": ["-pk"],
            },
        ),
        # Who may read the trail may not therefore have it checked, or take copies of it away.
        migrations.AlterModelOptions(
            name="entry",
            options={
                "ordering": ["-seq"],
                "permissions": [
                    ("check_ledger", "Can have the ledger checked"),
                    ("export_ledger", "Can export from the ledger"),
                ],
                "verbose_name_plural": "entries",
            },
        ),
        # With the table go its triggers.
        migrations.RunPython(install, migrations.RunPython.noop),
    ]
