from django.db import migrations, models

from audit.ledger import append_only


def install(_apps, schema_editor):
    append_only.install_triggers(schema_editor.connection)


def remove(_apps, schema_editor):
    append_only.remove_triggers(schema_editor.connection)


class Migration(migrations.Migration):
    """Tables and guards in one step: there is no moment at which entries are unguarded."""

    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="Entry",
            fields=[
                (
                    "seq",
                    models.BigIntegerField(primary_key=True, serialize=False, verbose_name="no."),
                ),
                ("prev", models.CharField(max_length=64)),
                ("hash", models.CharField(max_length=64)),
                ("event_id", models.CharField(max_length=64)),
                ("recorded_at", models.DateTimeField(verbose_name="recorded (UTC)")),
                ("event", models.TextField()),
                ("subject", models.TextField()),
                ("site", models.TextField()),
                ("doc_id", models.TextField(verbose_name="document")),
                ("from_state", models.TextField()),
                ("to_state", models.TextField()),
                ("code", models.TextField()),
                ("correlation_id", models.TextField()),
                ("actor", models.TextField()),
                ("body", models.TextField(verbose_name="line")),
            ],
            options={
                "ordering": ["-seq"],
                "verbose_name_plural": "entries",
                "indexes": [
                    models.Index(fields=["subject", "seq"], name="entries_of_a_subject"),
                    models.Index(fields=["site", "seq"], name="entries_of_a_site"),
                    models.Index(fields=["doc_id", "seq"], name="entries_of_a_document"),
                    models.Index(fields=["correlation_id", "seq"], name="entries_of_a_correlation"),
                    models.Index(fields=["recorded_at"], name="entries_by_time"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=["prev"], name="an_entry_has_one_successor"),
                    models.UniqueConstraint(fields=["event_id"], name="an_event_is_entered_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="EntryDetail",
            fields=[
                (
                    "entry",
                    models.OneToOneField(
                        on_delete=models.PROTECT,
                        primary_key=True,
                        related_name="detail",
                        serialize=False,
                        to="audit.entry",
                    ),
                ),
                ("salt", models.CharField(max_length=32)),
                ("detail", models.TextField()),
            ],
            options={"abstract": False},
        ),
        migrations.RunPython(install, remove),
    ]
