import django.db.models.deletion
from django.db import migrations, models

from audit.ledger import append_only


def install(_apps, schema_editor):
    append_only.install_triggers(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0001_a_chain_of_entries_that_only_grows"),
    ]

    operations = [
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                (
                    "size",
                    models.BigIntegerField(
                        primary_key=True, serialize=False, verbose_name="entries"
                    ),
                ),
                ("head", models.CharField(max_length=64)),
                ("root", models.CharField(max_length=64)),
                ("frontier", models.TextField()),
                ("note", models.TextField()),
                ("created_at", models.DateTimeField(verbose_name="signed (UTC)")),
            ],
            options={
                "ordering": ["-size"],
            },
        ),
        migrations.CreateModel(
            name="Receipt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("anchor", models.TextField()),
                ("place", models.TextField()),
                ("proof", models.TextField()),
                ("anchored_at", models.DateTimeField(verbose_name="anchored (UTC)")),
                (
                    "checkpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="receipts",
                        to="audit.checkpoint",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("checkpoint", "anchor", "place"), name="a_place_gives_one_receipt"
                    )
                ],
            },
        ),
        # With the tables go their triggers.
        migrations.RunPython(install, migrations.RunPython.noop),
    ]
