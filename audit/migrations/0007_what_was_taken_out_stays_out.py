from django.db import migrations

from audit.ledger import append_only


def install(_apps, schema_editor):
    append_only.install_triggers(schema_editor.connection)


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0006_reviews_of_the_trail"),
    ]

    operations = [
        # The guards as they are now: a detail that was taken out does not come back, and checks
        # that found nothing may go when later ones stand in for them.
        migrations.RunPython(install, migrations.RunPython.noop),
    ]
