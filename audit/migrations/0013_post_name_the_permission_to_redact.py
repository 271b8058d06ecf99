from django.db import migrations

NAME = "Can redact the detail of an entry"


def rename_permission(apps, schema_editor):
    """Change the name in the table, because Django only adds permissions and renames none.

    In a new installation there is no row yet: Django adds it, with this name, after all migrations.
    """
    permissions = apps.get_model("auth", "Permission").objects.using(schema_editor.connection.alias)
    permissions.filter(content_type__app_label="audit", codename="redact").update(name=NAME)


class Migration(migrations.Migration):
    """Use the word "redact" in the name of the permission. Its codename stays the same."""

    dependencies = [
        ("audit", "0012_post_deliver_by_outbox"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.AlterModelOptions("entrydetail", {"permissions": [("redact", NAME)]}),
        migrations.RunPython(rename_permission, migrations.RunPython.noop, elidable=True),
    ]
