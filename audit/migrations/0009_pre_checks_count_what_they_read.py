from django.db import migrations, models

from audit.ledger import append_only


def install(_apps, schema_editor):
    append_only.install_triggers(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0008_entries_of_an_event_and_of_an_actor"),
    ]

    operations = [
        migrations.AddField("checkrun", "entries_read", models.BigIntegerField(null=True)),
        migrations.AddField("checkrun", "vouched_to", models.BigIntegerField(null=True)),
        migrations.AlterField(
            "checkrun",
            "result",
            models.CharField(
                choices=[
                    ("intact", "intact, and vouched for from outside"),
                    ("unanchored", "consistent, but only by this installation's own word"),
                    ("broken", "broken"),
                ],
                max_length=20,
            ),
        ),
        # SQLite makes the table anew without its triggers. And what nothing outside vouches for is
        # now an ordinary result: such a check may go in time like one that is intact.
        migrations.RunPython(install, migrations.RunPython.noop),
    ]
