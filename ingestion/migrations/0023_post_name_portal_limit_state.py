import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Rename PortalGate to PortalLimitState. The table keeps its name, and nothing is changed in it."""

    dependencies = [
        ("clinical_sites", "0001_people_studies_sites_and_portals"),
        ("ingestion", "0022_post_drop_parts_of_uploads"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("PortalGate", "PortalLimitState"),
                migrations.AlterModelTable("PortalLimitState", "ingestion_portalgate"),
                migrations.AlterField(
                    "PortalLimitState",
                    "portal",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="limit_state",
                        serialize=False,
                        to="clinical_sites.portal",
                    ),
                ),
            ]
        )
    ]
