"""Serves `/admin/review/`: the documents that wait for QA, the longest wait first."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from io import StringIO

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone

from audit.files.csv_export import escape_formula
from ingestion.models import Document, ReviewRequest
from ingestion.review import assignments
from ingestion.review.assignments import QueueFilter
from ingestion.rules.codes import CODES
from ingestion.rules.finding_texts import CodeAttributes, describe_attributes, get_short_text
from sites.models import User
from web import permissions
from web.review.forms import NO, YES, FilterForm
from web.shell.access import READ, SignedIn, restrict_page

DOCUMENTS_PER_PAGE = 50
CSV_ROWS_PER_QUERY = 500
# Headings of the CSV file: programs use them, so they have the names of the HTTP interface.
CSV_HEADINGS = (
    "document", "site_id", "document_type", "filename", "packet", "code", "reason", "category",
    "severity", "owner", "retryable", "waiting_since", "decide_by", "assigned_to",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One document of the queue."""

    document: Document
    reason: str  # the label of the finding that decides
    attributes: CodeAttributes | None  # of its code
    due: datetime
    is_overdue: bool
    request: ReviewRequest | None
    assigned_to: User | None


@restrict_page(READ, permission=permissions.REVIEW_DOCUMENTS)
def review_queue(request: SignedIn) -> HttpResponse:
    """Show the review queue with its filters, in pages."""
    form = FilterForm(request.GET)
    queue_filter = form.to_queue_filter(request.user)
    queue = assignments.filter_queue(queue_filter)
    documents = Paginator(queue, DOCUMENTS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "form": form,
        "page": documents,
        "rows": [build_queue_row(document) for document in documents.object_list],
        "query": drop_page_number(request.GET),
        "is_rejected": queue_filter.rejected,
        "is_filtered": form.has_filters,
        "code": queue_filter.code,
        "waiting": assignments.count_waiting(),
    }
    return render(request, "review/queue.html", context)


@restrict_page(READ, permission=permissions.REVIEW_DOCUMENTS)
def review_queue_csv(request: SignedIn) -> StreamingHttpResponse:
    """Return the review queue with its filters as a CSV file."""
    queue = assignments.filter_queue(FilterForm(request.GET).to_queue_filter(request.user))
    filename = f"review-queue-{timezone.now():%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{filename}"'}
    return StreamingHttpResponse(
        _generate_csv(queue), content_type="text/csv; charset=utf-8", headers=headers
    )


def _generate_csv(queue: "QuerySet[Document]") -> Iterator[str]:
    """Yield the lines of the CSV file. Attributes have the values of the filters of the queue."""
    line = StringIO()
    writer = csv.writer(line)
    writer.writerow(CSV_HEADINGS)
    for document in queue.iterator(CSV_ROWS_PER_QUERY):
        row, code = build_queue_row(document), CODES.get(document.code)
        attributes = (
            [code.category, code.severity, code.owner, YES if code.is_retryable else NO]
            if code
            else []
        )
        cells = [
            document.pk,
            document.site.site_id,
            document.document_type,
            document.filename or document.doc_id,
            document.packet.reference,
            document.code,
            row.reason,
            *(attributes or [""] * 4),
            (document.settled_at or document.received_at).isoformat(timespec="seconds"),
            row.due.isoformat(timespec="seconds"),
            row.assigned_to or "",
        ]
        writer.writerow([escape_formula(cell) for cell in cells])
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()


def build_queue_row(document: Document) -> QueueRow:
    """Return the row of a document, with its deadline, review request and reviewer."""
    since = document.settled_at or document.received_at
    due = assignments.compute_due_at(since)
    requests = document.review_requests.all()
    assignment = getattr(document, "assignment", None)
    return QueueRow(
        document,
        reason=get_short_text(document.code) if document.code else "",
        attributes=describe_attributes(document.code),
        due=due,
        is_overdue=due <= timezone.now(),
        request=next((request for request in requests if not request.answered_at), None),
        assigned_to=assignment.assigned_to if assignment else None,
    )


def drop_page_number(query: QueryDict) -> str:
    """Return the query string without the page number, for links that keep the filters."""
    filters = query.copy()
    filters.pop("page", None)
    return filters.urlencode()


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """The position of a document in the queue, and the documents beside it."""

    number: int  # from 1; 0 if the document is no longer in the queue
    length: int
    previous: int | None  # primary key
    next: int | None  # of a document that is no longer in the queue, this is the first one


def find_position(document: Document, queue_filter: QueueFilter) -> QueuePosition:
    """Return the position of a document in the filtered queue."""
    keys = list(assignments.filter_queue(queue_filter).values_list("pk", flat=True))
    if document.pk not in keys:
        return QueuePosition(0, len(keys), None, keys[0] if keys else None)
    index = keys.index(document.pk)
    return QueuePosition(
        number=index + 1,
        length=len(keys),
        previous=keys[index - 1] if index else None,
        next=keys[index + 1] if index + 1 < len(keys) else None,
    )
