"""Serves `/admin/review/<pk>/divide/`, where a reviewer marks the documents of a file."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_post_parameters

from ingestion.models import Action
from ingestion.review import decisions
from ingestion.review.decision_rules import RULES
from ingestion.rules.segmentation.cut_reasons import REASONS
from web import permissions
from web.documents.extracted_fields import get_last_extraction
from web.review.division_form import DivisionForm
from web.review.page import get_reviewed_document
from web.review.sign import decide_with
from web.shell.access import FORM, SignedIn, restrict_page


@restrict_page(FORM, permission=permissions.REVIEW_DOCUMENTS)
@sensitive_post_parameters("password")
def divide_file(request: SignedIn, pk: int) -> HttpResponse:
    """Show the pages with the proposed cut. With POST, divide the file."""
    document = get_reviewed_document(pk)
    extraction = get_last_extraction(document)
    seen_version = request.GET.get("made_on") or decisions.get_version(document)
    form = DivisionForm(
        document, extraction, request.POST or None, initial={"made_on": seen_version}
    )
    if response := decide_with(request, document, form):
        return response
    cut = (extraction.cut if extraction else None) or {}
    context = {
        "document": document,
        "form": form,
        "rule": RULES[Action.DIVIDE],
        "meaning": RULES[Action.DIVIDE].meaning,
        "is_proposed": bool(cut),
        "reasons": [gettext(REASONS[key]) for key in cut.get("reasons", ()) if key in REASONS],
        "back": reverse("review", args=[pk]),
    }
    return render(request, "review/divide.html", context, status=400 if form.errors else 200)
