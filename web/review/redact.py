"""Serves `/admin/review/<pk>/redact/`, where a reviewer marks participants' data on the pages."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from ingestion.core.states import DocumentState
from ingestion.documents import redactions
from ingestion.models import Action
from ingestion.review import decisions
from ingestion.review.decision_rules import RULES
from web import permissions
from web.review.page import get_reviewed_document
from web.review.redaction_form import RedactionForm
from web.review.sign import decide_with
from web.shell.access import FORM, SignedIn, restrict_page


@restrict_page(FORM, permission=permissions.REVIEW_DOCUMENTS)
@sensitive_post_parameters("password")
def redact_document(request: SignedIn, pk: int) -> HttpResponse:
    """Show the pages with the proposed places. With POST, redact the document."""
    document = get_reviewed_document(pk)
    seen_version = request.GET.get("made_on") or decisions.get_version(document)
    form = RedactionForm(document, request.POST or None, initial={"made_on": seen_version})
    if response := decide_with(request, document, form):
        return response
    is_filed = document.state == DocumentState.ARCHIVED
    context = {
        "document": document,
        "form": form,
        "rule": RULES[Action.REDACT],
        "meaning": RULES[Action.REDACT].meaning,
        "is_proposed": bool(form.proposed.area_count),
        "is_redacted": redactions.is_redacted(document),
        "is_filed": is_filed,
        "back": reverse("document" if is_filed else "review", args=[pk]),
    }
    return render(request, "review/redact.html", context, status=400 if form.errors else 200)
