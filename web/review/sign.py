"""Serves `/admin/review/<pk>/sign/?action=...`: the form of a decision, with its signature.

With `X-Fragment: 1`, only the form is returned, which `review.js` shows in a dialog. Without
JavaScript, the form is a page of its own.
"""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters

from audit.electronic_signatures import ElectronicSignature
from ingestion.core.states import DocumentState
from ingestion.intake import corrections
from ingestion.models import Action, Decision, Document
from ingestion.review import assignments, decisions
from ingestion.review.assignments import QueueFilter
from ingestion.review.decision_rules import (
    ACTIONS_ON_FILED,
    ACTIONS_WITH_OWN_PAGE,
    RULES,
    list_permitted_actions,
)
from ingestion.review.decisions import DecisionConflict, DecisionRefused
from web import permissions
from web.review.forms import ReviewDecisionForm
from web.review.page import get_reviewed_document
from web.shell.access import FORM, SignedIn, restrict_page


@restrict_page(FORM, permission=permissions.REVIEW_DOCUMENTS)
@sensitive_post_parameters("password")
def sign_decision(request: SignedIn, pk: int) -> HttpResponse:
    """Show the form of one action. With POST, decide, and go to the next document."""
    try:
        action = Action(request.GET.get("action", ""))
    except ValueError as error:
        raise Http404 from error
    if action in ACTIONS_WITH_OWN_PAGE:
        raise Http404
    document = get_reviewed_document(pk)
    seen_version = request.GET.get("made_on") or decisions.get_version(document)
    form = ReviewDecisionForm(
        action, [document], request.POST or None, initial={"made_on": seen_version}
    )
    if response := decide_with(request, document, form):
        return response
    back = "document" if action in ACTIONS_ON_FILED else "review"
    context = {
        "document": document,
        "form": form,
        "rule": RULES[action],
        "meaning": RULES[action].meaning,
        "back": reverse(back, args=[pk]),
    }
    status = 400 if form.errors else 200
    return render(request, _get_template(request, "sign"), context, status=status)


def decide_with(
    request: SignedIn, document: Document, form: ReviewDecisionForm
) -> HttpResponse | None:
    """Decide about a document as the form states, and return the response, or None.

    Without a response, the form has to be shown: it was not sent, or it has errors. Raises
    PermissionDenied if the person may not decide in this way.
    """
    seen_version = form.data.get("made_on", form.initial["made_on"])
    if seen_version != decisions.get_version(document):
        last = document.qa_decisions.order_by("pk").last()
        return _render_conflict(request, document.pk, form, last)
    if form.action not in list_permitted_actions(request.user, document):
        raise PermissionDenied
    if not form.is_valid() or (by := make_signature(request, form)) is None:
        return None
    try:
        decision = decisions.decide(
            document,
            form.decision_input,
            expected_version=form.cleaned_data["made_on"],
            user=request.user,
            by=by,
        )
    except DecisionConflict as conflict:
        return _render_conflict(request, document.pk, form, conflict.decision)
    except DecisionRefused as refusal:
        form.add_error(None, str(refusal))
        return None
    return _go_to_next(request, decision)


def make_signature(request: SignedIn, form: ReviewDecisionForm) -> ElectronicSignature | None:
    """Return the signature of a valid form, or None if the credentials are wrong.

    For an action that is not signed, the signature has no meaning.
    """
    person, rule = request.user, RULES[form.action]
    if form.is_signed:
        return form.sign(person, rule.meaning, rule.permission)
    return ElectronicSignature(person.actor_with(rule.permission), str(person), "")


def _go_to_next(request: SignedIn, decision: Decision) -> HttpResponse:
    """Confirm the decision, and go to the next document of the queue.

    After a decision about a filed document, go back to its page.
    """
    document = decision.document
    sentence = _("Decision recorded for {type}, site {site}: {action}.").format(
        type=document.type_name,
        site=document.site.site_id,
        action=decision.get_action_display(),
    )
    messages.success(request, sentence)
    if decision.action == Action.REDECLARE:
        messages.info(request, _("The checks run again."))
    url = reverse("review_queue")
    if decision.action in ACTIONS_ON_FILED and decision.from_state == DocumentState.ARCHIVED:
        url = reverse("document", args=[decision.document_id])
    elif decision.action == Action.REDACT:  # the document still waits for its decision
        url = reverse("review", args=[decision.document_id])
    elif next_key := assignments.filter_queue(QueueFilter()).values_list("pk", flat=True).first():
        url = reverse("review", args=[next_key])
    if request.headers.get("X-Fragment"):
        # A redirect would use up the message: fetch() would follow it, and discard the page.
        return HttpResponse(status=204, headers={"X-Go-To": url})
    return redirect(url)


def _render_conflict(
    request: SignedIn, pk: int, form: ReviewDecisionForm, decision: Decision | None
) -> HttpResponse:
    """Answer 409 with the current state of the document and the text that was entered.

    `decision` is the one that was recorded first, or None if the site replaced the file.
    """
    document = get_reviewed_document(pk)
    context = {
        "document": document,
        "decision": decision,
        "newer": None if decision else corrections.find_correction(document),
        "entered_text": form.data.get("note", "") or form.data.get("reason", ""),
    }
    return render(request, _get_template(request, "conflict"), context, status=409)


def _get_template(request: SignedIn, name: str) -> str:
    return f"review/_{name}.html" if request.headers.get("X-Fragment") else f"review/{name}.html"
