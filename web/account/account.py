"""`/account/`: what is on record of one's own account, and what is still to be done for it."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from audit.ledger.log import ledger
from sites import account_changes, eligibility
from sites.accounts import identity, second_factor
from sites.eligibility import Missing
from web.shell.access import CHANGE, FORM, READ, SignedIn, page
from web.shell.current_person import requested_next_page

_THANKS = {
    Missing.TRAINING: "Your training is on record.",
    Missing.POLICY: "It is on record that you have read the policy.",
}


@dataclass(frozen=True, slots=True)
class Need:
    """A requirement that is missing, with a sentence that says what to do. It blocks signing."""

    code: str
    said: str
    blocks_upload: bool


@page(READ)
def account(request: SignedIn) -> HttpResponse:
    person = request.user
    context = {
        "needs": _needs(request),
        "roles": person.roles,
        "sites": person.memberships.select_related("site").order_by("site__site_id"),
        "is_waiting_for_identity": identity.is_waiting(person),
        "codes_left": second_factor.recovery_codes_left(person),
    }
    return render(request, "account/account.html", context)


def _needs(request: SignedIn) -> list[Need]:
    if request.user.is_auditor:
        return []
    blocks_upload = set(eligibility.may_upload(request.user))
    return [
        Need(each, each.sentence, each in blocks_upload)
        for each in eligibility.may_sign(request.user)
    ]


@page(CHANGE)
def training(request: SignedIn) -> HttpResponse:
    """The person says that they have been trained (R36)."""
    return _acknowledged(request, Missing.TRAINING)


@page(FORM)
def policy(request: SignedIn) -> HttpResponse:
    """The text, and that it was read (R37)."""
    if request.method == "POST":
        return _acknowledged(request, Missing.POLICY)
    return render(request, "account/policy.html", {"next": requested_next_page(request)})


@page(CHANGE)
def ask_for_identity(request: SignedIn) -> HttpResponse:
    """Ask the administrators to verify one's own identity (R27)."""
    person = request.user
    if person.is_auditor or not (person.signing_suspended_at or not person.identity_verified_at):
        messages.error(request, "Your identity is verified. There is nothing to ask for.")
    elif identity.is_waiting(person):
        messages.error(request, "The administrators have been asked already.")
    else:
        with ledger():
            identity.ask(person, identity.Cause.ASKED, by=person)
        messages.success(request, "The administrators are asked to verify your identity.")
    return redirect("account")


def _acknowledged(request: SignedIn, what: Missing) -> HttpResponse:
    account_changes.acknowledge(request.user, what)
    messages.success(request, _THANKS[what])
    return redirect(requested_next_page(request) or "account")
