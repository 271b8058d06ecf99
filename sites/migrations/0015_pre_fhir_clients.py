import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Register clients of FHIR Bulk Data exports.

    This migration depends on no migration that runs after an upgrade, so that it can run before
    one.
    """

    dependencies = [("clinical_sites", "0014_pre_mirrors")]

    operations = [
        migrations.CreateModel(
            name="FhirClient",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("revision", models.PositiveIntegerField(default=0, editable=False)),
                (
                    "client_id",
                    models.CharField(
                        help_text="The client sends it as `iss` and `sub` of its assertions.",
                        max_length=100,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z0-9._:/-]+$", "Use letters, digits, ._:/ and -."
                            )
                        ],
                        verbose_name="client ID",
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="The program, and the organisation that runs it.",
                        max_length=100,
                    ),
                ),
                (
                    "public_keys",
                    models.JSONField(
                        help_text='A JSON Web Key Set, {"keys": [...]}, with public keys for '
                        "RS384 or ES384 only.",
                        verbose_name="public keys",
                    ),
                ),
                (
                    "resource_types",
                    models.JSONField(default=list, verbose_name="resource types"),
                ),
                (
                    "created_at",
                    models.DateTimeField(default=django.utils.timezone.now, editable=False),
                ),
                ("revoked_at", models.DateTimeField(blank=True, editable=False, null=True)),
            ],
            options={"verbose_name": "FHIR client", "ordering": ["-pk"]},
        ),
        migrations.CreateModel(
            name="UsedAssertion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("jti_sha256", models.CharField(max_length=64)),
                ("expires_at", models.DateTimeField()),
                (
                    "client",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="clinical_sites.fhirclient",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["expires_at"], name="assertions_by_expiry")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("client", "jti_sha256"), name="an_assertion_is_used_once"
                    )
                ],
            },
        ),
    ]
