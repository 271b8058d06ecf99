from django.db import migrations, models

from sites.portal_origin import validate_portal_address


class Migration(migrations.Migration):
    """Check the addresses of portals by one validator, which knows the schemes of all sources."""

    dependencies = [("clinical_sites", "0018_post_name_the_second_factor")]

    operations = [
        migrations.AlterField(
            "portal",
            "base_url",
            models.CharField(max_length=500, validators=[validate_portal_address]),
        )
    ]
