import django.utils.timezone
from django.db import migrations, models

from audit.ledger import append_only


def install(_apps, schema_editor):
    append_only.install_triggers(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0003_what_keeps_an_anchor_away"),
    ]

    operations = [
        migrations.CreateModel(
            name="CheckRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("began_at", models.DateTimeField(verbose_name="began (UTC)")),
                ("seconds", models.FloatField()),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("incremental", "what was entered since the last check"),
                            ("since_anchor", "what was entered since the last anchored checkpoint"),
                            (
                                "rolling",
                                "a part of what is older, and what was entered since the last check",
                            ),
                            ("full", "all of it"),
                        ],
                        max_length=20,
                    ),
                ),
                ("from_seq", models.BigIntegerField()),
                ("to_seq", models.BigIntegerField()),
                ("head", models.CharField(max_length=64)),
                ("again_from", models.BigIntegerField(null=True)),
                ("again_to", models.BigIntegerField(null=True)),
                (
                    "result",
                    models.CharField(
                        choices=[
                            ("intact", "intact"),
                            ("unanchored", "intact, but not held elsewhere"),
                            ("broken", "broken"),
                        ],
                        max_length=20,
                    ),
                ),
                ("findings", models.JSONField(default=list)),
                ("asked_by", models.CharField(max_length=200)),
            ],
            options={
                "verbose_name": "check of the ledger",
                "verbose_name_plural": "checks of the ledger",
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="AuditJob",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=40)),
                ("arguments", models.JSONField(default=dict)),
                ("asked_by", models.CharField(max_length=200)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waits for a worker"),
                            ("running", "is being done"),
                            ("done", "done"),
                            ("failed", "failed"),
                        ],
                        default="waiting",
                        max_length=20,
                    ),
                ),
                ("done", models.BigIntegerField(default=0)),
                ("total", models.BigIntegerField(default=0)),
                ("result", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("worker", models.CharField(blank=True, max_length=200)),
                ("rung_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("seen_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["waiting", "running"])),
                        fields=["due_at"],
                        name="jobs_that_are_open",
                    )
                ],
            },
        ),
        migrations.RunPython(install, migrations.RunPython.noop),
    ]
