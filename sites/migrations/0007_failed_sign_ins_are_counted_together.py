from django.db import migrations, models

import sites.models.users


class Migration(migrations.Migration):
    dependencies = [
        ("clinical_sites", "0006_sites_go_live"),
    ]

    operations = [
        migrations.AlterModelManagers(
            name="user",
            managers=[
                ("objects", sites.models.users.PeopleManager()),
            ],
        ),
        migrations.CreateModel(
            name="FailedSignIns",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("minute", models.DateTimeField()),
                ("name", models.CharField(max_length=150)),
                ("address", models.CharField(max_length=45)),
                ("count", models.PositiveIntegerField(default=1)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("minute", "name", "address"), name="failures_are_counted_together"
                    )
                ],
            },
        ),
    ]
