"""The account page of a person: what is recorded, and what they still have to do."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.ledger.log import ledger
from sites import account_changes, eligibility
from sites.accounts import identity, second_factor
from sites.eligibility import Missing
from web.shell.access import CHANGE, FORM, READ, SignedIn, page
from web.shell.current_person import requested_next_page

_CONFIRMATIONS = {
    Missing.TRAINING: _("Your training is recorded."),
    Missing.POLICY: _("Your confirmation that you have read the policy is recorded."),
}


@dataclass(frozen=True, slots=True)
class UnmetRequirement:
    """A requirement that blocks signing, with a sentence that says what to do."""

    code: str
    sentence: str
    blocks_upload: bool


@page(READ)
def account(request: SignedIn) -> HttpResponse:
    person = request.user
    context = {
        "requirements": _unmet_requirements(request),
        "roles": person.roles,
        "sites": person.memberships.select_related("site").order_by("site__site_id"),
        "is_waiting_for_identity": identity.is_waiting(person),
        "codes_left": second_factor.recovery_codes_left(person),
    }
    return render(request, "account/account.html", context)


def _unmet_requirements(request: SignedIn) -> list[UnmetRequirement]:
    if request.user.is_auditor:
        return []
    blocks_upload = set(eligibility.may_upload(request.user))
    return [
        UnmetRequirement(each, each.sentence, each in blocks_upload)
        for each in eligibility.may_sign(request.user)
    ]


@page(CHANGE)
def training(request: SignedIn) -> HttpResponse:
    """Record that the person confirms their training (R36)."""
    return _acknowledged(request, Missing.TRAINING)


@page(FORM)
def policy(request: SignedIn) -> HttpResponse:
    """Show the policy, and record that the person confirms having read it (R37)."""
    if request.method == "POST":
        return _acknowledged(request, Missing.POLICY)
    return render(request, "account/policy.html", {"next": requested_next_page(request)})


@page(CHANGE)
def ask_for_identity(request: SignedIn) -> HttpResponse:
    """Ask the administrators to verify one's own identity (R27)."""
    person = request.user
    if person.is_auditor or not (person.signing_suspended_at or not person.identity_verified_at):
        messages.error(request, gettext("Your identity is already verified."))
    elif identity.is_waiting(person):
        messages.error(
            request, gettext("The administrators have already been asked to verify your identity.")
        )
    else:
        with ledger():
            identity.ask(person, identity.Cause.ASKED, by=person)
        messages.success(
            request, gettext("The administrators have been asked to verify your identity.")
        )
    return redirect("account")


def _acknowledged(request: SignedIn, requirement: Missing) -> HttpResponse:
    account_changes.acknowledge(request.user, requirement)
    messages.success(request, _CONFIRMATIONS[requirement])
    return redirect(requested_next_page(request) or "account")
