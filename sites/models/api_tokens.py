"""Tokens let programs in: on behalf of a site, or of a member of staff (docs/api.md).

A token sees what its site or its person sees.
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
    """What a token may do, within what its site or its person may."""

    READ = "read", _("Read batches, documents and sites")
    DOWNLOAD = "download", _("Download originals")
    SUBMIT = "submit", _("Submit and cancel packets")
    OPERATE = (
        "operate",
        _("Operate: cancel any batch, repeat portal downloads, read metrics (staff)"),
    )


TOKEN_LIFE = timedelta(days=365)
_USE_IS_NOTED_EVERY = timedelta(minutes=10)


def in_a_year() -> datetime:
    return timezone.now() + TOKEN_LIFE


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def presented(self, text: str) -> "ApiToken | None":
        """The token whose secret this is, if it may be used now."""
        secret = token_secrets.parse(text)
        if secret is None:
            return None
        rows = self.select_related("site", "user")
        token = rows.filter(prefix=secret.prefix).first()
        return token if token and secret.fits(token.digest) and token.is_usable else None


class ApiToken(RecordedRow):
    """Lets a program in: on behalf of one site, or of one member of staff.

    Only a SHA-256 of its secret is kept. Never deleted: the ledger names it.
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
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)  # ten minutes' grain

    objects = ApiTokenQuerySet.as_manager()

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
        if self.site and TokenScope.OPERATE in self.scopes:
            raise ValidationError({"scopes": _("A token of a site cannot have the scope operate.")})

    def draw_secret(self) -> str:
        """Give it a fresh secret, before it is saved. The answer is the only copy."""
        secret = token_secrets.new_secret()
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
        return self.user.role if self.user else "site system"

    @property
    def owner(self) -> str:
        """Whose it is: several tokens of one owner stand for each other."""
        return f"site:{self.site_id}" if self.site_id else f"user:{self.user_id}"

    @property
    def is_usable(self) -> bool:
        if self.revoked_at or not self.approved_at or self.expires_at <= timezone.now():
            return False
        person = self.user
        if person is None:
            return True
        is_open = person.is_active and person.has_access()
        return is_open and person.sees_all_sites and not person.is_auditor

    def may(self, scope: TokenScope) -> bool:
        held: Collection[str] = self.scopes
        return scope in held

    def note_use(self) -> None:
        """At most one write in ten minutes, however often it is used."""
        now = timezone.now()
        if self.last_used_at is None or self.last_used_at < now - _USE_IS_NOTED_EVERY:
            ApiToken.objects.filter(pk=self.pk).update(last_used_at=now)
