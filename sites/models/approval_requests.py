"""Requests that a second person has to decide: the rows. `sites.approvals` has the rules."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class ApprovalRequestQuerySet(models.QuerySet["ApprovalRequest"]):
    def open(self) -> Self:
        """Those that can still be decided."""
        in_time = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        return self.filter(in_time, state=ApprovalRequest.State.OPEN)

    def about(self, kind: str, subject: str) -> Self:
        return self.filter(kind=kind, subject=subject)


class ApprovalRequest(models.Model):
    """A change that takes effect only when another person approves it. Never deleted.

    `proposed` and `current` hold the values that are asked for and those that stood when they were
    asked for, by the name of the column. A request without `asked_by` was made at a shell;
    `asked_by_name` then has the command and the operating system's user.
    """

    class Kind(models.TextChoices):
        IDENTITY = "identity", _("Identity of a person")
        API_TOKEN = "api_token", _("API token")
        PORTAL_ADDRESS = "portal_address", _("Address of a portal")

    class State(models.TextChoices):
        OPEN = "open", _("Waiting")
        APPROVED = "approved", _("Approved")
        REFUSED = "refused", _("Refused")
        WITHDRAWN = "withdrawn", _("Withdrawn")
        EXPIRED = "expired", _("Expired")

    kind = models.CharField(max_length=30, choices=Kind.choices)
    subject = models.CharField(max_length=80)  # as the ledger names it: user:3
    subject_name = models.CharField(max_length=300)  # as people name it, when it was asked for
    site = models.CharField(max_length=60, blank=True)  # the number that entries are filed under
    cause = models.CharField(max_length=30, blank=True)  # why an identity is verified again
    proposed = models.JSONField(default=dict)
    current = models.JSONField(default=dict)
    reason = models.TextField(blank=True)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    asked_by_name = models.CharField(max_length=200)
    asked_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)  # null: the request waits until it is decided
    state = models.CharField(max_length=20, choices=State.choices, default=State.OPEN)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    decided_by_name = models.CharField(max_length=200, blank=True)
    decided_at = models.DateTimeField(null=True)
    note = models.TextField(blank=True)  # the reason of the decision, or the evidence seen
    revision = models.PositiveIntegerField(default=0, editable=False)

    objects = ApprovalRequestQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["kind", "subject"], name="approvals_of_a_subject")]
        constraints = [
            models.CheckConstraint(
                condition=~Q(state__in=["approved", "refused"])
                | Q(asked_by=None)
                | ~Q(decided_by=F("asked_by")),
                name="no_one_decides_their_own_request",
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.subject_name}"

    @property
    def ledger_name(self) -> str:
        """The subject of this request's own entries."""
        return f"approval:{self.pk}"

    @property
    def subject_key(self) -> int:
        """The primary key of the row that is to change."""
        return int(self.subject.partition(":")[2])

    @property
    def is_open(self) -> bool:
        in_time = self.expires_at is None or self.expires_at > timezone.now()
        return self.state == self.State.OPEN and in_time
