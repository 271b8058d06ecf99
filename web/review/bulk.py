"""Applies one action to several documents, at `/admin/review/together/`.

Reviewers can assign documents to themselves, and return documents of one code with the same note.
They cannot file several documents at once: QA reads each document before it is filed.
"""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters

from ingestion.models import Action, Document
from ingestion.review import assignments, decisions
from ingestion.review.decision_rules import RULES, list_permitted_actions
from ingestion.review.decisions import DecisionRefused
from ingestion.rules.finding_texts import get_short_text
from web import permissions
from web.review.forms import ReviewDecisionForm
from web.review.sign import make_signature
from web.shell.access import CHANGE, SignedIn, restrict_page
from web.shell.request_limits import parse_whole_number

MAX_DOCUMENTS_AT_ONCE = 50  # as on one page of the queue


@restrict_page(CHANGE, permission=permissions.REVIEW_DOCUMENTS)
@sensitive_post_parameters("password")
def decide_several(request: SignedIn) -> HttpResponse:
    """Assign the selected documents to the person, or return them to their sites."""
    documents = _get_selected_documents(request)
    if not documents:
        messages.warning(request, _("Select at least one document."))
        return redirect("review_queue")
    if request.POST.get("do") == "take":
        number = sum(
            assignments.assign(document, request.user, by=request.user) for document in documents
        )
        sentence = ngettext(
            "{n} document is now assigned to you.", "{n} documents are now assigned to you.", number
        )
        messages.success(request, sentence.format(n=number))
        return redirect("review_queue")
    codes = {document.code for document in documents}
    if len(codes) > 1:
        messages.warning(request, _("Select documents that have the same reason."))
        return redirect("review_queue")
    return _return_documents(request, documents, code=codes.pop())


def _get_selected_documents(request: SignedIn) -> list[Document]:
    """Return the selected documents that the person may return, in the order of the queue."""
    numbers = map(parse_whole_number, request.POST.getlist("document"))
    keys = [number for number in numbers if number is not None][:MAX_DOCUMENTS_AT_ONCE]
    rows = Document.objects.filter(pk__in=keys).order_by("settled_at", "pk")
    rows = rows.select_related("site", "packet", "batch").prefetch_related("findings")
    return [
        document
        for document in rows
        if Action.RETURN in list_permitted_actions(request.user, document)
    ]


def _return_documents(
    request: SignedIn, documents: Sequence[Document], *, code: str
) -> HttpResponse:
    """Show the form for the note. When it is signed, return each document separately.

    The form carries the version of each document that the reviewer saw, as a query string. A
    document that has changed since then is not returned.
    """
    versions = QueryDict(mutable=True)
    for document in documents:
        versions[str(document.pk)] = decisions.get_version(document)
    data = request.POST if "made_on" in request.POST else None
    form = ReviewDecisionForm(
        Action.RETURN, documents, data, initial={"made_on": versions.urlencode()}
    )
    if form.is_valid() and (by := make_signature(request, form)):
        seen_versions = QueryDict(form.cleaned_data["made_on"])
        warnings = []
        for document in documents:
            try:
                decisions.decide(
                    document,
                    form.decision_input,
                    expected_version=seen_versions.get(str(document.pk), ""),
                    user=request.user,
                    by=by,
                )
            except DecisionRefused as refusal:
                sentence = _("{type}, site {site}, was not returned: {error}")
                warnings.append(
                    sentence.format(
                        type=document.type_name, site=document.site.site_id, error=refusal
                    )
                )
        returned = len(documents) - len(warnings)
        sentence = ngettext("{n} document was returned.", "{n} documents were returned.", returned)
        messages.success(request, sentence.format(n=returned))
        for warning in warnings:
            messages.warning(request, warning)
        return redirect("review_queue")
    context = {
        "form": form,
        "documents": documents,
        "reason": get_short_text(code),
        "rule": RULES[Action.RETURN],
        "meaning": RULES[Action.RETURN].meaning,
        "back": reverse("review_queue"),
    }
    status = 400 if form.errors else 200
    return render(request, "review/return_several.html", context, status=status)
