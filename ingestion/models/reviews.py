"""Stores the decisions of people about documents, requests for review, and assignments.

Decisions are added and never changed. Only `ingestion.review` adds them.
"""

from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ingestion.core.states import DocumentState
from ingestion.models.added_only import AddedOnlyRow
from ingestion.models.choices import list_state_choices
from ingestion.models.documents import Document
from sites.models import User

MAX_DECISION_REASON_CHARACTERS = 500


class Action(models.TextChoices):
    """Lists the actions of QA on a document.

    `ingestion.review.decision_rules` defines for each from which states it is allowed.
    """

    CONFIRM = "confirm", _("Rejection confirmed")
    RETURN = "return", _("Returned to the site")
    REDECLARE = "redeclare", _("Type or person corrected")
    RELEASE = "release", _("Released from review")
    UNSEAL = "unseal", _("Released from quarantine")
    OVERRIDE = "override", _("Filed in spite of a finding")
    SUPERSEDE = "supersede", _("Superseded by a newer version")
    WITHDRAW = "withdraw", _("Withdrawn")
    REHOME = "rehome", _("Moved to another site")
    DIVIDE = "divide", _("Divided into documents")
    SET_ASIDE = "set_aside", _("Set aside")
    REDACT = "redact", _("Participants' data redacted")


class Decision(AddedOnlyRow):
    """Stores one decision of a person. `meaning` is empty if no signature was required."""

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="qa_decisions")
    action = models.CharField(max_length=20, choices=Action)
    from_state = models.CharField(max_length=20, choices=list_state_choices(DocumentState))
    to_state = models.CharField(max_length=20, choices=list_state_choices(DocumentState))
    judged = models.PositiveIntegerField(default=0)  # the attempt whose findings were decided about
    reason_code = models.CharField(max_length=40, blank=True)
    # Not shown to the site.
    reason = models.CharField(max_length=MAX_DECISION_REASON_CHARACTERS, blank=True)
    note = models.TextField(blank=True)  # the site reads it verbatim
    # The newer version, or the document at the right site.
    other = models.ForeignKey(
        Document, on_delete=models.PROTECT, null=True, blank=True, related_name="decided_with"
    )
    # What the document was sent as at the time of the decision, and what it became by REDECLARE.
    document_type = models.CharField(max_length=40, blank=True, db_default="")
    doc_id = models.CharField(max_length=160, blank=True, db_default="")
    new_document_type = models.CharField(max_length=40, blank=True, db_default="")
    new_doc_id = models.CharField(max_length=160, blank=True, db_default="")
    # Of DIVIDE: the parts of the file, and its pages without document (`documents.division`).
    division = models.JSONField(null=True, blank=True)
    # Of REDACT: the places on the pages, and the rendition (`documents.redactions`).
    redaction = models.JSONField(null=True, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)  # of the bytes that were reviewed
    decided_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="decisions")
    printed_name = models.CharField(max_length=150)
    role = models.CharField(max_length=200)
    meaning = models.CharField(max_length=300, blank=True)  # 21 CFR 11.50(a)(3)
    decided_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(action__in=[action.value for action in Action]),
                name="a_decision_is_one_of_the_table",
            ),
            models.CheckConstraint(
                condition=Q(action=Action.RETURN) | ~Q(meaning=""), name="a_decision_is_signed"
            ),
            models.CheckConstraint(
                condition=~Q(reason="") | ~Q(note=""), name="a_decision_has_its_reason"
            ),
            models.CheckConstraint(
                condition=~Q(action=Action.REDACT) | Q(redaction__isnull=False),
                name="a_redaction_has_its_places",
            ),
        ]
        indexes = [
            models.Index(
                fields=["sha256"], condition=Q(action="redact"), name="redactions_of_a_file"
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_action_display()} by {self.printed_name}"


class ReviewRequestQuerySet(models.QuerySet["ReviewRequest"]):
    """Selects the requests that QA has not answered."""

    def open(self) -> Self:
        """Return the requests that QA has not answered."""
        return self.filter(answered_at=None)


class ReviewRequest(models.Model):
    """Stores the request of a site that a person reviews an automatic rejection."""

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="review_requests")
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(default=timezone.now)
    words = models.TextField()  # QA reads them verbatim
    answered_at = models.DateTimeField(null=True, blank=True)

    objects = ReviewRequestQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["document"],
                condition=Q(answered_at=None),
                name="a_review_is_asked_for_once_at_a_time",
            ),
            models.CheckConstraint(condition=~Q(words=""), name="a_request_says_why"),
        ]

    def __str__(self) -> str:
        return f"asked of {self.document}"

    @property
    def is_open(self) -> bool:
        """Return whether QA has not answered the request."""
        return self.answered_at is None


class ReviewAssignment(models.Model):
    """Stores which reviewer a document is assigned to, and who opened its page last.

    Every other reviewer may decide about the document too.
    """

    document = models.OneToOneField(Document, on_delete=models.CASCADE, related_name="assignment")
    assigned_to = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    assigned_at = models.DateTimeField(null=True, blank=True)
    opened_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    opened_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "ingestion_desk"

    def __str__(self) -> str:
        return f"{self.document} with {self.assigned_to or 'nobody'}"
