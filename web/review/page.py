"""Serves `/admin/review/<pk>/`: a document's pages and findings, and the decisions about it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from ingestion.core.states import DocumentState
from ingestion.intake import corrections
from ingestion.models import Document
from ingestion.review import assignments, decisions
from ingestion.review.decision_rules import is_submitter
from web import permissions
from web.documents.decision_display import list_choices, list_signed_decisions
from web.documents.declared_facts import describe_declared_facts
from web.documents.extracted_fields import (
    describe_reading,
    get_last_extraction,
    list_extracted_values,
)
from web.documents.outcomes import describe_findings
from web.documents.page_account import name_pages
from web.documents.page_images import build_page_image
from web.review.forms import FilterForm
from web.review.names import compare_names
from web.review.queue import (
    build_queue_row,
    drop_page_number,
    find_position,
)
from web.shell.access import CHANGE, READ, SignedIn, restrict_page
from web.shell.request_limits import parse_whole_number

_STATES_WITH_VIEWERS = (DocumentState.IN_REVIEW, DocumentState.REJECTED)


@restrict_page(READ, permission=permissions.REVIEW_DOCUMENTS)
def review_page(request: SignedIn, pk: int) -> HttpResponse:
    """Show one document to its reviewer: a page with its areas, findings and possible decisions."""
    document = get_reviewed_document(pk)
    extraction, findings = get_last_extraction(document), document.current_findings
    count = max(document.pages or 0, len(extraction.pages) if extraction else 0, 1)
    numbers = document.page_numbers if document.has_pages_of_a_file else range(1, count + 1)
    # At first, the page of the primary finding is shown.
    number = parse_whole_number(request.GET.get("page", ""))
    if number is None:
        number = next((finding.page for finding in findings if finding.page), numbers[0])
    number = min(max(number, numbers[0]), numbers[-1])
    zoom = 2 if request.GET.get("zoom") == "2" else 1
    position = find_position(document, FilterForm(request.GET).to_queue_filter(request.user))
    # The filters of the queue from which the reviewer came.
    filters = request.GET.copy()
    filters.pop("zoom", None)
    context = {
        "document": document,
        "row": build_queue_row(document),
        "page": number,
        "first_page": numbers[0],
        "pages": numbers[-1],
        "page_numbers": numbers,
        "part_pages": name_pages(document.file_part) if document.file_part else "",
        "zoom": zoom,
        "current_image": build_page_image(request.user, document, findings, number, zoom),
        "findings": describe_findings(document, for_staff=True),
        "newer": corrections.find_correction(document),
        "extracted": list_extracted_values(document, request.user),
        "declared": describe_declared_facts(document),
        "names": compare_names(document),
        "reading": describe_reading(extraction) if extraction else [],
        "versions": Document.objects.filter(site=document.site, doc_id=document.doc_id),
        "signed_decisions": list_signed_decisions(document),
        "choices": list_choices(request.user, document),
        "is_own": is_submitter(request.user, document),
        "version": decisions.get_version(document),
        "other_viewer": assignments.record_opening(document, request.user)
        if document.state in _STATES_WITH_VIEWERS
        else None,
        "position": position,
        "query": drop_page_number(filters),
    }
    return render(request, "review/page.html", context)


@restrict_page(CHANGE, permission=permissions.REVIEW_DOCUMENTS)
def assign_to_me(request: SignedIn, pk: int) -> HttpResponse:
    """Assign the document to the person, unless it no longer waits for a decision."""
    document = get_reviewed_document(pk)
    if assignments.assign(document, request.user, by=request.user):
        messages.success(request, _("This document is assigned to you."))
    elif document.state not in _STATES_WITH_VIEWERS:
        messages.error(request, _("This document no longer waits for a decision."))
    return redirect("review", pk)


def get_reviewed_document(pk: int) -> Document:
    """Return a document of any site, with what the pages of the review need."""
    rows = Document.objects.select_related(
        "site__study", "packet", "batch__submitted_by", "duplicate_of", "assignment__assigned_to"
    )
    return get_object_or_404(rows.prefetch_related("findings", "review_requests"), pk=pk)
