"""What waits for QA: the queue, until when, and who has what in hand. Nobody is held back by it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from audit.ledger.log import ledger
from ingestion.core.states import DocumentState
from ingestion.models import Action, Decision, Document, ReviewAssignment, ReviewRequest
from sites.models import User

# For so long after opening a page, a reviewer may still be working on it.
CONCURRENT_VIEW_WINDOW = timedelta(minutes=10)
DAY = timedelta(days=1)
_SATURDAY, _INSTANT = 5, timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFilter:
    """Which part of the queue; all that is given applies together."""

    rejected: bool = False  # those that the machine rejected and nobody looked at; else in review
    code: str = ""
    site: str = ""
    mine: User | None = None
    overdue: bool = False
    asked: bool = False  # by a site


def filter_queue(wanted: QueueFilter) -> "QuerySet[Document]":
    """The longest wait first. With site, packet, assignment and findings."""
    rows = _rejected() if wanted.rejected else Document.objects.filter(state=_D.IN_REVIEW)
    given: dict[str, Any] = {
        "code": wanted.code,
        "site__site_id": wanted.site,
        "assignment__assigned_to": wanted.mine,
    }
    rows = rows.filter(**{name: value for name, value in given.items() if value})
    if wanted.overdue:
        rows = rows.filter(settled_at__lte=compute_overdue_before(timezone.now()))
    if wanted.asked:
        rows = rows.filter(Exists(ReviewRequest.objects.open().filter(document=OuterRef("pk"))))
    related = rows.select_related(
        "site", "packet", "batch__submitted_by", "assignment__assigned_to"
    )
    return related.prefetch_related("findings", "review_requests").order_by("settled_at", "pk")


_D = DocumentState


def _rejected() -> "QuerySet[Document]":
    """Without what somebody in QA has decided about, and what the site has replaced."""
    decided = Decision.objects.filter(document=OuterRef("pk")).exclude(action=Action.REDECLARE)
    rejected = Document.objects.needing_site().filter(~Exists(decided), state=_D.REJECTED)
    return rejected.exclude(sha256="")


def count_waiting() -> int:
    """How many documents wait for a decision."""
    return Document.objects.filter(state=_D.IN_REVIEW).count()


def compute_due_at(since: datetime) -> datetime:
    """REVIEW_WORKING_DAYS later. What comes on a weekend (UTC) comes on Monday at midnight."""
    moment, left = since.astimezone(UTC), settings.REVIEW_WORKING_DAYS
    while moment.weekday() >= _SATURDAY:
        moment = _midnight(moment) + DAY
    while left:
        moment += DAY
        left -= moment.weekday() < _SATURDAY
    return moment


def compute_overdue_before(now: datetime) -> datetime:
    """What has waited since then or longer is overdue: the inverse of `due_at`."""
    moment, left = now.astimezone(UTC), settings.REVIEW_WORKING_DAYS
    while moment.weekday() >= _SATURDAY:  # nothing falls due then: back to Friday's last moment
        moment = _midnight(moment) - _INSTANT
    while left:
        moment -= DAY
        left -= moment.weekday() < _SATURDAY
    return moment


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def assign(document: Document, person: User, *, by: User) -> bool:
    """Give it to somebody, on record. False: they have it already, or it does not wait any more."""
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
    """Note that they have its page open. Answers who else opened it just now."""
    now = timezone.now()
    assignment, _ = ReviewAssignment.objects.select_related("opened_by").get_or_create(
        document=document
    )
    before, at = assignment.opened_by, assignment.opened_at
    ReviewAssignment.objects.filter(pk=assignment.pk).update(opened_by=person, opened_at=now)
    is_other = before is not None and before != person
    return before if is_other and at and now - at < CONCURRENT_VIEW_WINDOW else None
