from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the principal investigator of a site and the number of his or her licence.

    Both columns are empty for the sites that are there, and stay optional. It depends on no
    migration that runs after an upgrade, so that new code can run beside the old code.
    """

    dependencies = [("clinical_sites", "0012_pre_entries_bind_accounts_and_tokens")]

    operations = [
        migrations.AddField(
            model_name="site",
            name="investigator",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text=(
                    "The full name. Names on documents that differ by a few letters are reviewed."
                ),
                max_length=200,
                verbose_name="principal investigator",
            ),
        ),
        migrations.AddField(
            model_name="site",
            name="investigator_licence",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="A licence with a number that differs by one character is reviewed.",
                max_length=60,
                verbose_name="licence number of the principal investigator",
            ),
        ),
    ]
