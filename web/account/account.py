"""Shows a person's own account: what is recorded, and what they still have to do."""

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
from web.shell.access import CHANGE, FORM, READ, SignedIn, restrict_page
from web.shell.current_person import get_requested_next_page

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


@restrict_page(READ)
def account(request: SignedIn) -> HttpResponse:
    """Show the person's account, with the requirements that they still have to meet."""
    person = request.user
    requirements = []
    if not person.is_auditor:
        blocking_upload = set(eligibility.list_missing_for_upload(person))
        requirements = [
            UnmetRequirement(missing, missing.sentence, missing in blocking_upload)
            for missing in eligibility.list_missing_for_signature(person)
        ]
    context = {
        "requirements": requirements,
        "roles": person.roles,
        "sites": person.memberships.select_related("site").order_by("site__site_id"),
        "is_waiting_for_identity": identity.is_waiting(person),
        "codes_left": second_factor.count_recovery_codes(person),
    }
    return render(request, "account/account.html", context)


@restrict_page(CHANGE)
def confirm_training(request: SignedIn) -> HttpResponse:
    """Record that the person confirms their training (R36)."""
    return _record_acknowledgement(request, Missing.TRAINING)


@restrict_page(FORM)
def accept_policy(request: SignedIn) -> HttpResponse:
    """Show the policy, and record that the person confirms having read it (R37)."""
    if request.method == "POST":
        return _record_acknowledgement(request, Missing.POLICY)
    return render(request, "account/policy.html", {"next": get_requested_next_page(request)})


@restrict_page(CHANGE)
def request_verification(request: SignedIn) -> HttpResponse:
    """Ask the administrators to verify the identity of the person (R27)."""
    person = request.user
    if person.is_auditor or not (person.signing_suspended_at or not person.identity_verified_at):
        messages.error(request, gettext("Your identity is already verified."))
    elif identity.is_waiting(person):
        messages.error(
            request, gettext("The administrators have already been asked to verify your identity.")
        )
    else:
        with ledger():
            identity.request_verification(person, identity.Cause.ASKED, by=person)
        messages.success(
            request, gettext("The administrators have been asked to verify your identity.")
        )
    return redirect("account")


def _record_acknowledgement(request: SignedIn, requirement: Missing) -> HttpResponse:
    """Record that the person meets a requirement, and go on to the next page."""
    account_changes.acknowledge(request.user, requirement)
    messages.success(request, _CONFIRMATIONS[requirement])
    return redirect(get_requested_next_page(request) or "account")
