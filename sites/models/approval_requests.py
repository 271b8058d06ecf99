"""Stores requests that a second person has to decide. `sites.approvals` has the rules."""

from collections.abc import Mapping
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.ledger.recorded_row import RecordedRow


class ApprovalRequestQuerySet(models.QuerySet["ApprovalRequest"]):
    """Selects requests that are open, or that concern one subject."""

    def open(self) -> Self:
        """Return the requests that can still be decided."""
        in_time = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        return self.filter(in_time, state=ApprovalRequest.State.OPEN)

    def about(self, kind: str, subject: str) -> Self:
        """Return the requests of this kind that concern the subject, such as `account:7`."""
        return self.filter(kind=kind, about=subject)


class ApprovalRequest(RecordedRow):
    """A change that takes effect only when another person approves it. Never deleted.

    `proposed` and `current` hold the values that are asked for and those that stood when they were
    asked for, by the name of the column. A request without `asked_by` was made at a shell;
    `asked_by_name` then has the command and the operating system's user.
    """

    class Kind(models.TextChoices):
        """Lists the changes that need a second person's approval."""

        IDENTITY = "identity", _("Identity of a person")
        API_TOKEN = "api_token", _("API token")
        PORTAL_ADDRESS = "portal_address", _("Address of a portal")

    class State(models.TextChoices):
        """Lists the states of a request."""

        OPEN = "open", _("Waiting")
        APPROVED = "approved", _("Approved")
        REFUSED = "refused", _("Refused")
        WITHDRAWN = "withdrawn", _("Withdrawn")
        EXPIRED = "expired", _("Expired")

    kind = models.CharField(max_length=30, choices=Kind.choices)
    # The ledger's name of the row that is to change, for example "user:3".
    about = models.CharField(max_length=80, db_column="subject")
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

    objects = ApprovalRequestQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["kind", "about"], name="approvals_of_a_subject")]
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
    def subject(self) -> str:
        """Return how the ledger names this request."""
        return f"approval:{self.pk}"

    @property
    def about_key(self) -> int:
        """Return the primary key of the row that is to change."""
        return int(self.about.partition(":")[2])

    def entry_facts(self) -> Mapping[str, Any]:
        """Return the facts that all entries of the request contain: the number of its site."""
        return {"site": self.site}

    @property
    def is_open(self) -> bool:
        """Return whether the request can still be decided: it is open and has not expired."""
        in_time = self.expires_at is None or self.expires_at > timezone.now()
        return self.state == self.State.OPEN and in_time
