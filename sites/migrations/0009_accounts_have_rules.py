import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("clinical_sites", "0008_studies_end_and_are_kept"),
    ]

    operations = [
        migrations.CreateModel(
            name="PageViews",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("began_at", models.DateTimeField()),
                ("client", models.CharField(max_length=45)),
                ("request", models.CharField(max_length=300)),
                ("count", models.PositiveIntegerField(default=1)),
            ],
            options={
                "verbose_name_plural": "page views",
            },
        ),
        migrations.CreateModel(
            name="Tries",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("name", "a user name, from browsers that its person has not used"),
                            ("browser", "a user name, from a browser that its person has used"),
                            ("address", "an address, whatever the names"),
                            (
                                "person",
                                "somebody whose password or session is good, and the rest is not",
                            ),
                        ],
                        max_length=10,
                    ),
                ),
                ("value", models.CharField(max_length=200)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("is_locked", models.BooleanField(default=False)),
                ("ends_at", models.DateTimeField(db_index=True)),
            ],
            options={
                "verbose_name_plural": "tries",
            },
        ),
        migrations.AlterModelOptions(
            name="user",
            options={
                "permissions": [("review_user", "Can sign the review of accounts")],
                "verbose_name": "user",
            },
        ),
        migrations.AddField(
            model_name="failedsignins",
            name="locked_until",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="user",
            name="access_from",
            field=models.DateField(
                blank=True, help_text="The first day (UTC). Empty: from the beginning.", null=True
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="access_until",
            field=models.DateField(
                blank=True, help_text="The last day (UTC). Auditors have to have one.", null=True
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="identity_evidence",
            field=models.TextField(
                blank=True,
                help_text="Which document was seen, by whom and when. Once this is written the identity counts as verified; without it nobody signs (21 CFR 11.100(b)).",
                max_length=1000,
                verbose_name="how the identity was verified",
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="password_changed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="user",
            name="password_is_temporary",
            field=models.BooleanField(
                default=False, editable=False, verbose_name="has to choose a new password"
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="second_step_since",
            field=models.DateTimeField(blank=True, null=True, verbose_name="code at sign-in since"),
        ),
        migrations.AddField(
            model_name="user",
            name="training_acknowledged_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("username"),
                name="a_user_name_is_never_used_again",
                violation_error_message="This user name is taken, or was used before: names are never used again, in capitals or not. Choose another.",
            ),
        ),
        migrations.AddField(
            model_name="pageviews",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="tries",
            name="user",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="tries",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="pageviews",
            constraint=models.UniqueConstraint(
                fields=("user", "began_at", "client", "request"), name="views_are_counted_together"
            ),
        ),
        migrations.AddConstraint(
            model_name="tries",
            constraint=models.UniqueConstraint(
                fields=("kind", "value"), name="tries_are_counted_together"
            ),
        ),
    ]
