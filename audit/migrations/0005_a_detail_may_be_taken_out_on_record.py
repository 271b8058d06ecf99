from django.db import migrations

from audit.ledger import append_only


def install(_apps, schema_editor):
    append_only.install_triggers(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0004_checks_are_kept_and_jobs_wait"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="entrydetail",
            options={"permissions": [("redact", "Can take out the detail of an entry")]},
        ),
        # The guards as they are now: they let a detail go whose redaction is on record.
        migrations.RunPython(install, migrations.RunPython.noop),
    ]
