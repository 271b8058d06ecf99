"""Stores clients of FHIR Bulk Data exports, which identify themselves with their own keys.

A client has no secret that SiteLedger knows: it signs each request for an access token with a
private key, and an administrator registers its public keys (SMART Backend Services).
"""

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.ledger.actors import Actor
from audit.ledger.recorded_row import RecordedRow
from sites.fhir_keys import KeyFault, check_public_keys

RESOURCE_TYPES = ("AuditEvent", "DocumentReference", "Organization", "Practitioner")
CLIENT = "client:"  # the beginning of the actor's name
ROLE = "bulk data client"


class FhirClient(RecordedRow):
    """A program that may export resources of all sites in bulk. It is never deleted."""

    client_id = models.CharField(
        _("client ID"),
        max_length=100,
        unique=True,
        validators=[RegexValidator(r"^[A-Za-z0-9._:/-]+$", _("Use letters, digits, ._:/ and -."))],
        help_text=_("The client sends it as `iss` and `sub` of its assertions."),
    )
    name = models.CharField(
        max_length=100, help_text=_("The program, and the organisation that runs it.")
    )
    public_keys = models.JSONField(
        _("public keys"),
        help_text=_(
            'A JSON Web Key Set, {"keys": [...]}, with public keys for RS384 or ES384 only.'
        ),
    )
    resource_types = models.JSONField(_("resource types"), default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("FHIR client")

    def __str__(self) -> str:
        return f"{self.name} ({self.client_id})"

    def clean(self) -> None:
        """Refuse keys that are private, too short, or of another algorithm."""
        try:
            check_public_keys(self.public_keys)
        except KeyFault as error:
            raise ValidationError({"public_keys": str(error)}) from error

    @property
    def actor(self) -> Actor:
        """Return the actor of what the client requests."""
        return Actor(f"{CLIENT}{self.pk}", ROLE)

    @property
    def is_usable(self) -> bool:
        """Return whether the client may request and use access tokens now."""
        return self.revoked_at is None


class UsedAssertion(models.Model):
    """Remembers an assertion until it expires, so that it is accepted only once."""

    client = models.ForeignKey(FhirClient, on_delete=models.CASCADE, related_name="+")
    jti_sha256 = models.CharField(max_length=64)  # of the claim `jti`, which may have any length
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["client", "jti_sha256"], name="an_assertion_is_used_once"
            )
        ]
        indexes = [models.Index(fields=["expires_at"], name="assertions_by_expiry")]

    def __str__(self) -> str:
        return f"assertion of {self.client_id} until {self.expires_at}"


def remove_expired_assertions(now: datetime) -> Any:
    """Delete the assertions that have expired, which would be refused for that reason."""
    return UsedAssertion.objects.filter(expires_at__lt=now).delete()
