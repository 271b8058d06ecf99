"""`/admin/review/`: what waits for QA, the longest wait first."""

from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone

from ingestion.documents import downloads
from ingestion.models import Document, ReviewRequest
from ingestion.review import assignments
from ingestion.review.assignments import QueueFilter
from ingestion.rules.finding_texts import reason
from sites.models import User
from web.review.forms import FilterForm
from web.shell.access import READ, SignedIn, page

DOCUMENTS_PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One document that waits."""

    document: Document
    reason: str  # the finding that decides, as a sentence
    due: datetime
    is_overdue: bool
    request: ReviewRequest | None
    assigned_to: User | None


@page(READ, permission=downloads.REVIEW_PERMISSION)
def review_queue(request: SignedIn) -> HttpResponse:
    form = FilterForm(request.GET)
    wanted = form.wanted(request.user)
    waiting = assignments.filter_queue(wanted)
    page = Paginator(waiting, DOCUMENTS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "form": form,
        "page": page,
        "rows": [build_queue_row(document) for document in page.object_list],
        "query": without_page(request.GET),
        "is_rejected": wanted.rejected,
        "is_filtered": form.is_narrowed,
        "one_code": wanted.code,
        "waiting": assignments.count_waiting(),
    }
    return render(request, "review/queue.html", context)


def build_queue_row(document: Document) -> QueueRow:
    since = document.settled_at or document.received_at
    due = assignments.compute_due_at(since)
    open_requests = [each for each in document.review_requests.all() if not each.answered_at]
    held = getattr(document, "assignment", None)
    return QueueRow(
        document,
        reason(document.code) if document.code else "",
        due,
        due <= timezone.now(),
        next(iter(open_requests), None),
        held.assigned_to if held else None,
    )


def without_page(query: QueryDict) -> str:
    """The filters of the list, for links that keep them."""
    kept = query.copy()
    kept.pop("page", None)
    return kept.urlencode()


def find_neighbours(
    document: Document, wanted: QueueFilter
) -> tuple[int, int, int | None, int | None]:
    """Its place in the queue from 1, how long that is, and the keys before and behind it.

    Place 0: it does not wait here any more; then the first of the queue comes next.
    """
    keys = list(assignments.filter_queue(wanted).values_list("pk", flat=True))
    if document.pk not in keys:
        return 0, len(keys), None, keys[0] if keys else None
    at = keys.index(document.pk)
    before = keys[at - 1] if at else None
    return at + 1, len(keys), before, keys[at + 1] if at + 1 < len(keys) else None
