import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("clinical_sites", "0007_failed_sign_ins_are_counted_together"),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="ended_on",
            field=models.DateField(
                blank=True,
                help_text="In all countries. Its documents are kept for years from this day; empty, it has not ended.",
                null=True,
                verbose_name="end of the trial",
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="retention_years",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="From the end of the trial. Empty: as everywhere here (RETENTION_YEARS).",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(100),
                ],
                verbose_name="years to keep it",
            ),
        ),
        migrations.CreateModel(
            name="LegalHold",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        help_text="Why its documents have to stay, as an inspection that was announced.",
                        max_length=300,
                        validators=[django.core.validators.MinLengthValidator(10)],
                    ),
                ),
                (
                    "set_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, editable=False, verbose_name="set (UTC)"
                    ),
                ),
                (
                    "lifted_because",
                    models.CharField(
                        blank=True, max_length=300, verbose_name="reason for lifting it"
                    ),
                ),
                (
                    "lifted_at",
                    models.DateTimeField(editable=False, null=True, verbose_name="lifted (UTC)"),
                ),
                ("revision", models.PositiveIntegerField(default=0, editable=False)),
                (
                    "lifted_by",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "set_by",
                    models.ForeignKey(
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="holds",
                        to="clinical_sites.study",
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True),
                        name="a_hold_has_its_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("lifted_at", None), ("lifted_because", ""), ("lifted_by", None)
                            ),
                            models.Q(
                                models.Q(
                                    ("lifted_at__isnull", False), ("lifted_by__isnull", False)
                                ),
                                models.Q(("lifted_because", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="a_lifted_hold_says_who_when_and_why",
                    ),
                ],
            },
        ),
    ]
