from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0002_checkpoints_and_their_receipts"),
    ]

    operations = [
        migrations.CreateModel(
            name="AnchorOutage",
            fields=[
                ("anchor", models.TextField(primary_key=True, serialize=False)),
                ("since", models.DateTimeField(verbose_name="since (UTC)")),
                ("tries", models.PositiveIntegerField()),
                ("next_try_at", models.DateTimeField()),
                ("error", models.TextField()),
            ],
        ),
    ]
