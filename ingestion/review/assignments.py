"""Selects the review queue of QA: its documents, their deadlines, and their reviewers.

An assignment does not prevent other reviewers from deciding.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from audit.ledger.log import ledger
from ingestion.core.states import DocumentState
from ingestion.models import Action, Decision, Document, ReviewAssignment, ReviewRequest
from ingestion.rules.codes import CODES, select_codes
from sites.models import User

# After so long a time, a reviewer who opened a page probably does not work on it any more.
CONCURRENT_VIEW_WINDOW = timedelta(minutes=10)
DAY = timedelta(days=1)
_SATURDAY = 5  # of datetime.weekday()
_SHORTEST = timedelta(microseconds=1)
_D = DocumentState


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFilter:
    """Selects a part of the queue. All given conditions apply together."""

    rejected: bool = False  # documents that the checks rejected; otherwise documents in review
    code: str = ""
    category: str = ""
    severity: str = ""
    owner: str = ""
    retryable: bool | None = None  # whether the same file may pass another attempt
    site: str = ""  # number of the site
    mine: User | None = None  # the reviewer to whom the documents are assigned
    overdue: bool = False
    asked: bool = False  # a site has requested the review


def filter_queue(wanted: QueueFilter) -> "QuerySet[Document]":
    """Return the documents of the queue, the longest wait first, with related rows."""
    rows = Document.objects.filter(state=_D.IN_REVIEW)
    if wanted.rejected:
        # Without documents about which QA has decided, and those that the site has replaced.
        decided = Decision.objects.filter(document=OuterRef("pk")).exclude(action=Action.REDECLARE)
        rows = Document.objects.needing_site().filter(~Exists(decided), state=_D.REJECTED)
        rows = rows.exclude(sha256="")
    given: dict[str, Any] = {
        "code": wanted.code,
        "site__site_id": wanted.site,
        "assignment__assigned_to": wanted.mine,
    }
    rows = rows.filter(**{name: value for name, value in given.items() if value})
    codes = select_codes(
        category=wanted.category,
        severity=wanted.severity,
        owner=wanted.owner,
        retryable=wanted.retryable,
    )
    if len(codes) < len(CODES):
        rows = rows.filter(code__in=codes)
    if wanted.overdue:
        rows = rows.filter(settled_at__lte=compute_overdue_before(timezone.now()))
    if wanted.asked:
        rows = rows.filter(Exists(ReviewRequest.objects.open().filter(document=OuterRef("pk"))))
    related = rows.select_related(
        "site", "packet", "batch__submitted_by", "assignment__assigned_to"
    )
    return related.prefetch_related("findings", "review_requests").order_by("settled_at", "pk")


def count_waiting() -> int:
    """Return the number of documents that wait for a decision."""
    return Document.objects.filter(state=_D.IN_REVIEW).count()


def compute_due_at(since: datetime) -> datetime:
    """Return the time REVIEW_WORKING_DAYS later.

    A wait that begins on a weekend (UTC) begins on Monday at midnight.
    """
    moment, left = since.astimezone(UTC), settings.REVIEW_WORKING_DAYS
    while moment.weekday() >= _SATURDAY:
        moment = _midnight(moment) + DAY
    while left:
        moment += DAY
        left -= moment.weekday() < _SATURDAY
    return moment


def compute_overdue_before(now: datetime) -> datetime:
    """Return the time since which a document has to wait to be overdue.

    It is the inverse of `compute_due_at`.
    """
    moment, left = now.astimezone(UTC), settings.REVIEW_WORKING_DAYS
    while moment.weekday() >= _SATURDAY:  # Nothing is due on a weekend: go back to Friday's end.
        moment = _midnight(moment) - _SHORTEST
    while left:
        moment -= DAY
        left -= moment.weekday() < _SATURDAY
    return moment


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def assign(document: Document, person: User, *, by: User) -> bool:
    """Assign a document to a reviewer, and record it.

    Returns False if it is assigned to them already, or does not wait for a decision any more.
    """
    with ledger():
        row = Document.lock(document.pk)
        assignment, _ = ReviewAssignment.objects.select_for_update(of=("self",)).get_or_create(
            document=row
        )
        if row.state not in {_D.IN_REVIEW, _D.REJECTED} or assignment.assigned_to_id == person.pk:
            return False
        before = assignment.assigned_to.actor_name if assignment.assigned_to else ""
        assignment.assigned_to, assignment.assigned_at = person, timezone.now()
        assignment.save(update_fields=["assigned_to", "assigned_at"])
        detail = {"assigned_to": person.actor_name, "before": before}
        row.record("document.assigned", by=by.actor, detail=detail)
    return True


def record_opening(document: Document, person: User) -> User | None:
    """Store that a reviewer opened the page, and return who else opened it recently, or None."""
    now = timezone.now()
    assignment, _ = ReviewAssignment.objects.select_related("opened_by").get_or_create(
        document=document
    )
    before, at = assignment.opened_by, assignment.opened_at
    ReviewAssignment.objects.filter(pk=assignment.pk).update(opened_by=person, opened_at=now)
    is_other = before is not None and before != person
    return before if is_other and at and now - at < CONCURRENT_VIEW_WINDOW else None
