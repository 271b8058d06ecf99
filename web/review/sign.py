"""`/admin/review/<pk>/sign/?action=...`: decide, and sign. A page, or the inside of a dialog.

With `X-Fragment: 1` the form alone is answered, for `review.js` to show in a dialog; without
JavaScript the same form is a page of its own.
"""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters

from audit.electronic_signatures import ElectronicSignature
from ingestion.documents import downloads
from ingestion.intake import corrections
from ingestion.models import Action, Decision, Document
from ingestion.review import assignments, decisions
from ingestion.review.assignments import QueueFilter
from ingestion.review.decision_rules import ACTIONS_ON_FILED, RULES, list_permitted_actions
from ingestion.review.decisions import DecisionConflict, DecisionRefused
from web.review.forms import ReviewDecisionForm
from web.review.page import get_reviewed_document
from web.shell.access import FORM, SignedIn, page


@page(FORM, permission=downloads.REVIEW_PERMISSION)
@sensitive_post_parameters("password")
def sign_decision(request: SignedIn, pk: int) -> HttpResponse:
    document, action = get_reviewed_document(pk), _action(request)
    made_on = request.GET.get("made_on") or decisions.get_version(document)
    form = ReviewDecisionForm(
        action, [document], request.POST or None, initial={"made_on": made_on}
    )
    if form.data.get("made_on", made_on) != decisions.get_version(document):
        return _overtaken(request, document, form, document.qa_decisions.order_by("pk").last())
    if action not in list_permitted_actions(request.user, document):
        raise PermissionDenied
    if form.is_valid() and (by := make_signature(request, form)):
        try:
            decision = decisions.decide(
                document,
                form.decision_input,
                expected_version=form.cleaned_data["made_on"],
                user=request.user,
                by=by,
            )
        except DecisionConflict as overtaken:
            return _overtaken(request, document, form, overtaken.decision)
        except DecisionRefused as refused:
            form.add_error(None, str(refused))
        else:
            return _decided(request, decision)
    return _shown(request, document, form, status=400 if form.errors else 200)


def make_signature(request: SignedIn, form: ReviewDecisionForm) -> ElectronicSignature | None:
    """Of the person who is signed in. Its meaning is empty where nothing is signed."""
    person, rule = request.user, RULES[form.action]
    if form.is_signed:
        return form.signed(person, rule.meaning, rule.permission)
    return ElectronicSignature(person.actor_with(rule.permission), str(person), "")


def _action(request: SignedIn) -> Action:
    try:
        return Action(request.GET.get("action", ""))
    except ValueError as error:
        raise Http404 from error


def _decided(request: SignedIn, decision: Decision) -> HttpResponse:
    """On to the next that waits; after a filed one, back to its page."""
    document = decision.document
    saved = _("Decision recorded for {type}, site {site}: {action}.").format(
        type=document.type_name,
        site=document.site.site_id,
        action=decision.get_action_display(),
    )
    messages.success(request, saved)
    if decision.action == Action.REDECLARE:
        messages.info(request, _("The checks run again."))
    after = _after(decision)
    if request.headers.get("X-Fragment"):  # following it would show the message to nobody
        return HttpResponse(status=204, headers={"X-Go-To": after})
    return redirect(after)


def _after(decision: Decision) -> str:
    if decision.action in ACTIONS_ON_FILED:
        return reverse("document", args=[decision.document_id])
    following = assignments.filter_queue(QueueFilter()).values_list("pk", flat=True).first()
    return reverse("review", args=[following]) if following else reverse("review_queue")


def _overtaken(
    request: SignedIn, document: Document, form: ReviewDecisionForm, decision: Decision | None
) -> HttpResponse:
    """409: nothing is overwritten, and what was typed is not lost."""
    typed = [form.data.get(name, "") for name in ("note", "reason")]
    context = {
        "document": get_reviewed_document(document.pk),
        "decision": decision,
        "newer": None if decision else corrections.find_correction(document),
        "typed": next(filter(None, typed), ""),
    }
    return render(request, _template(request, "conflict"), context, status=409)


def _shown(
    request: SignedIn, document: Document, form: ReviewDecisionForm, *, status: int
) -> HttpResponse:
    is_afterwards = form.action in ACTIONS_ON_FILED
    context = {
        "document": document,
        "form": form,
        "rule": RULES[form.action],
        "meaning": RULES[form.action].meaning,
        "back": reverse("document" if is_afterwards else "review", args=[document.pk]),
    }
    return render(request, _template(request, "sign"), context, status=status)


def _template(request: SignedIn, name: str) -> str:
    return f"review/_{name}.html" if request.headers.get("X-Fragment") else f"review/{name}.html"
