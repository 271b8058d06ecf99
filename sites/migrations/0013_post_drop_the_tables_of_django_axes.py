"""Drop the tables of django-axes, which is no longer installed. They have always been empty.

`sites.accounts.lockout` counts failed sign-ins in `Tries`. Nothing is done in a new database.
"""

from django.db import migrations

TABLES = (
    "axes_accessattemptexpiration",
    "axes_accessattempt",
    "axes_accessfailurelog",
    "axes_accesslog",
)


class Migration(migrations.Migration):
    dependencies = [("clinical_sites", "0012_pre_entries_bind_accounts_and_tokens")]

    operations = [
        *(
            migrations.RunSQL(f"DROP TABLE IF EXISTS {table}", migrations.RunSQL.noop)
            for table in TABLES
        ),
        migrations.RunSQL(
            "DELETE FROM django_migrations WHERE app = 'axes'", migrations.RunSQL.noop
        ),
    ]
