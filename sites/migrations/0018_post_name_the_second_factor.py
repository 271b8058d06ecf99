from django.db import migrations, models


class Migration(migrations.Migration):
    """Rename User.second_step_since to `second_factor_since`. The column keeps its name."""

    dependencies = [("clinical_sites", "0017_post_join_investigators")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("user", "second_step_since", "second_factor_since"),
                migrations.AlterField(
                    "user",
                    "second_factor_since",
                    models.DateTimeField(
                        blank=True,
                        db_column="second_step_since",
                        null=True,
                        verbose_name="multi-factor authentication since",
                    ),
                ),
            ]
        )
    ]
