"""`/admin/review/<pk>/`: one document before a reviewer: its pages, its findings, what to do."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from ingestion.core.states import DocumentState
from ingestion.documents import downloads
from ingestion.intake import corrections
from ingestion.models import Document
from ingestion.review import assignments, decisions
from ingestion.review.decision_rules import is_submitter
from web.documents.decision_display import list_choices, list_signed_decisions
from web.documents.extracted_fields import (
    describe_reading,
    get_last_extraction,
    list_extracted_values,
)
from web.documents.outcomes import describe_findings
from web.documents.page_images import build_marked_page_image
from web.review.forms import FilterForm
from web.review.names import compared_names
from web.review.queue import (
    build_queue_row,
    find_neighbours,
    without_page,
)
from web.shell.access import CHANGE, READ, SignedIn, page
from web.shell.request_limits import whole_number

WAITS = (DocumentState.IN_REVIEW, DocumentState.REJECTED)


@page(READ, permission=downloads.REVIEW_PERMISSION)
def review_page(request: SignedIn, pk: int) -> HttpResponse:
    document = get_reviewed_document(pk)
    page, pages = _page(request, document)
    zoom = 2 if request.GET.get("zoom") == "2" else 1
    place, length, before, behind = find_neighbours(
        document, FilterForm(request.GET).wanted(request.user)
    )
    last, current = get_last_extraction(document), document.current_findings
    context = {
        "document": document,
        "row": build_queue_row(document),
        "page": page,
        "pages": pages,
        "page_numbers": range(1, pages + 1),
        "zoom": zoom,
        "picture": build_marked_page_image(request.user, document, current, page, zoom),
        "remarks": describe_findings(document, for_staff=True),
        "newer": corrections.find_correction(document),
        "extracted": list_extracted_values(document),
        "names": compared_names(document),
        "ways": describe_reading(last) if last else [],
        "versions": Document.objects.filter(site=document.site, doc_id=document.doc_id),
        "signed": list_signed_decisions(document),
        "choices": list_choices(request.user, document),
        "is_own": is_submitter(request.user, document),
        "version": decisions.get_version(document),
        "looking": assignments.record_opening(document, request.user)
        if document.state in WAITS
        else None,
        "place": place,
        "length": length,
        "before": before,
        "behind": behind,
        "query": _filters(request),
    }
    return render(request, "review/page.html", context)


@page(CHANGE, permission=downloads.REVIEW_PERMISSION)
def assign_to_me(request: SignedIn, pk: int) -> HttpResponse:
    document = get_reviewed_document(pk)
    if assignments.assign(document, request.user, by=request.user):
        messages.success(request, _("This document is assigned to you."))
    return redirect("review", pk)


def get_reviewed_document(pk: int) -> Document:
    rows = Document.objects.select_related(
        "site__study", "packet", "batch__submitted_by", "duplicate_of", "assignment__assigned_to"
    )
    return get_object_or_404(rows.prefetch_related("findings", "review_requests"), pk=pk)


def _page(request: SignedIn, document: Document) -> tuple[int, int]:
    """The page that is shown, and of how many: at first the one of the primary finding."""
    last = get_last_extraction(document)
    pages = max(document.pages or 0, len(last.pages) if last else 0, 1)
    wanted = request.GET.get("page", "")
    first = next((each.page for each in document.current_findings if each.page), 1)
    number = whole_number(wanted)
    return min(first if number is None else max(number, 1), pages), pages


def _filters(request: SignedIn) -> str:
    """Those of the queue from which the reviewer came."""
    kept = request.GET.copy()
    kept.pop("zoom", None)
    return without_page(kept)
