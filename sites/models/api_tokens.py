"""Stores tokens of programs, which act for a site or for a member of staff (docs/api.md).

A token can see the same rows as its site or its person.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.ledger.actors import TOKEN, Actor
from audit.ledger.recorded_row import RecordedRow
from sites import token_secrets


class TokenScope(models.TextChoices):
    """Lists what a token may permit, within the permissions of its site or its person."""

    READ = "read", _("Read batches, documents and sites")
    DOWNLOAD = "download", _("Download originals")
    SUBMIT = "submit", _("Submit and cancel packets")
    OPERATE = (
        "operate",
        _("Operate: cancel any batch, repeat portal downloads, read metrics (staff)"),
    )
    JOBS = "jobs", _("Request and read background jobs, such as exports and backups (staff)")


STAFF_SCOPES = frozenset({TokenScope.OPERATE, TokenScope.JOBS})


TOKEN_LIFE = timedelta(days=365)
_USE_WRITE_INTERVAL = timedelta(minutes=10)


def in_a_year() -> datetime:
    """Return the default expiry time of a token. Migrations refer to this function by name."""
    return timezone.now() + TOKEN_LIFE


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    """Finds tokens by their secret."""

    def find_usable(self, text: str) -> "ApiToken | None":
        """Return the usable token with this secret, or None."""
        secret = token_secrets.parse(text)
        if secret is None:
            return None
        rows = self.select_related("site", "user")
        token = rows.filter(prefix=secret.prefix).first()
        return token if token and secret.matches(token.digest) and token.is_usable else None


class ApiToken(RecordedRow):
    """A token with which a program acts for one site or one member of staff.

    Only a SHA-256 of its secret is stored. A token is never deleted, because the ledger names it.
    """

    name = models.CharField(
        max_length=100, help_text=_("The program that uses the token, and where it runs.")
    )
    site = models.ForeignKey(
        "Site", on_delete=models.PROTECT, null=True, blank=True, related_name="tokens"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="tokens",
        verbose_name=_("member of staff"),
    )
    scopes = models.JSONField(default=list)
    prefix = models.CharField(max_length=12, unique=True, editable=False)
    digest = models.CharField(max_length=64, editable=False)  # SHA-256 of the secret
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
    )
    approved_at = models.DateTimeField(null=True, blank=True, editable=False)
    expires_at = models.DateTimeField(default=in_a_year)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(
        null=True, blank=True, editable=False
    )  # to within ten minutes

    objects = ApiTokenQuerySet.as_manager()

    new_secret = ""  # set only while a new token is shown once

    class Meta:
        ordering = ["-pk"]
        verbose_name = _("API token")
        constraints = [
            models.CheckConstraint(
                condition=Q(site__isnull=False, user__isnull=True)
                | Q(site__isnull=True, user__isnull=False),
                name="a_token_belongs_to_a_site_or_to_a_person",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} (slt_{self.prefix}_...)"

    def clean(self) -> None:
        if (self.site is None) == (self.user is None):
            raise ValidationError(_("Select either a site or a member of staff."))
        if self.user and (not self.user.is_staff or self.user.is_auditor):
            raise ValidationError({"user": _("Only members of staff can have their own tokens.")})
        if self.site and (refused := STAFF_SCOPES.intersection(self.scopes)):
            message = _("A token of a site cannot have the scope {scope}.")
            scopes = ", ".join(sorted(refused))
            raise ValidationError({"scopes": message.format(scope=scopes)})

    def generate_secret(self) -> str:
        """Set a new secret before the token is saved, and return its only copy."""
        secret = token_secrets.generate()
        self.prefix, self.digest = secret.prefix, secret.digest
        return secret.text

    @property
    def actor(self) -> Actor:
        """Return the actor of what a program does with this token."""
        return Actor.token(self.prefix, self.role)

    @property
    def actor_name(self) -> str:
        """Return the name of `actor`, without the queries that the role needs."""
        return f"{TOKEN}{self.prefix}"

    @property
    def role(self) -> str:
        """Return the role of the token in entries: that of its person, or "site system"."""
        return self.user.role if self.user else "site system"

    @property
    def owner(self) -> str:
        """Return the site or person of the token. The tokens of one owner are interchangeable."""
        return f"site:{self.site_id}" if self.site_id else f"user:{self.user_id}"

    @property
    def is_usable(self) -> bool:
        """Return whether requests with the token are accepted now.

        It must be approved, not revoked and not expired, and its person must have access.
        """
        if self.revoked_at or not self.approved_at or self.expires_at <= timezone.now():
            return False
        person = self.user
        if person is None:
            return True
        is_open = person.is_active and person.has_access()
        return is_open and person.sees_all_sites and not person.is_auditor

    def may(self, scope: TokenScope) -> bool:
        """Return whether the token has the scope."""
        scopes: Collection[str] = self.scopes
        return scope in scopes

    def record_use(self) -> None:
        """Store the time of use, at most once in ten minutes."""
        now = timezone.now()
        if self.last_used_at is None or self.last_used_at < now - _USE_WRITE_INTERVAL:
            ApiToken.objects.filter(pk=self.pk).update(last_used_at=now)
