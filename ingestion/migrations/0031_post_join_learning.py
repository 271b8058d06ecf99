from django.db import migrations


class Migration(migrations.Migration):
    """Join the migrations of learning, which run before an upgrade, with those that run after."""

    dependencies = [
        ("ingestion", "0028_post_name_the_text_of_alarms"),
        ("ingestion", "0030_pre_models_are_learned"),
    ]

    operations = []
