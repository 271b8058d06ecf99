from django.db import migrations, models


class Migration(migrations.Migration):
    """Rename fields of verifications in the code. The columns keep their names."""

    dependencies = [("audit", "0013_post_name_the_permission_to_redact")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("checkrun", "again_from", "reread_from"),
                migrations.AlterField(
                    "checkrun",
                    "reread_from",
                    models.BigIntegerField(db_column="again_from", null=True),
                ),
                migrations.RenameField("checkrun", "again_to", "reread_to"),
                migrations.AlterField(
                    "checkrun", "reread_to", models.BigIntegerField(db_column="again_to", null=True)
                ),
            ]
        )
    ]
