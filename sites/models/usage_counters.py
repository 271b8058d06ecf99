"""Counts events that are too frequent for single ledger entries.

`sites.accounts.lockout` counts attempts to sign in. `sites.accounts.auditor_access_log` counts the
pages that auditors open.
"""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Tries(models.Model):
    """Failed attempts in the current lockout window. The row is deleted after its end."""

    class Kind(models.TextChoices):
        """Lists by what failed attempts are counted."""

        NAME = "name", _("a user name, from a browser not used before")
        BROWSER = "browser", _("a user name, from a known browser")
        ADDRESS = "address", _("an address, with any user name")
        PERSON = "person", _("a person whose password or session is valid")

    kind = models.CharField(max_length=10, choices=Kind.choices)
    value = models.CharField(max_length=200)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="tries"
    )
    failures = models.PositiveIntegerField(default=0)
    is_locked = models.BooleanField(default=False)
    ends_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name_plural = _("sign-in attempts")
        constraints = [
            models.UniqueConstraint(fields=["kind", "value"], name="tries_are_counted_together")
        ]

    def __str__(self) -> str:
        return f"{self.failures} by {self.kind} {self.value}"


class PageViews(models.Model):
    """Counts how often one auditor opened one page from one IP address in one period (R34)."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    began_at = models.DateTimeField()  # of the period
    client = models.CharField(max_length=45)  # the auditor's IP address
    request = models.CharField(max_length=300)  # as in "200 GET /documents/17/"
    count = models.PositiveIntegerField(default=1)

    class Meta:
        verbose_name_plural = _("page views")
        constraints = [
            models.UniqueConstraint(
                fields=["user", "began_at", "client", "request"],
                name="views_are_counted_together",
            )
        ]

    def __str__(self) -> str:
        return f"{self.request}, {self.count} times"
