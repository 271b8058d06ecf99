import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clinical_sites", "0003_tokens_let_programs_in"),
    ]

    operations = [
        migrations.AlterField(
            model_name="portal",
            name="max_in_flight",
            field=models.PositiveIntegerField(
                default=2,
                help_text="Requests at a time of each worker process, not of all together.",
                validators=[django.core.validators.MinValueValidator(1)],
            ),
        ),
    ]
