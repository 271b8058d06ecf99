"""Requires administrators to verify identities (21 CFR 11.100(b), 11.300; R23, R27).

A person who can change how another person signs in could sign as that person. Each such change
therefore suspends the signing of the account, until a second administrator has verified the
identity again. This administrator is neither the person nor the one who made the change. The person
is notified by email, and later signatures show the change.
"""

from collections import defaultdict
from enum import StrEnum

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sites import account_notices, approvals
from sites.approvals import ApprovalRule, Kind, State
from sites.models import User
from sites.models.approval_requests import ApprovalRequest


class Cause(StrEnum):
    """Lists the reasons for which an identity has to be verified."""

    ASKED = "asked"
    CREATED = "created"
    PASSWORD = "password"  # noqa: S105 - a code
    SECOND_FACTOR = "second_factor"
    EMAIL = "email"
    NAME = "name"
    ADMINISTRATOR = "administrator"

    @property
    def label(self) -> str:
        """Return the reason in words, in the language of the request."""
        return str(_LABELS[self])


_LABELS = {
    Cause.ASKED: gettext_lazy("First verification"),
    Cause.CREATED: gettext_lazy("Account created"),
    Cause.PASSWORD: gettext_lazy("Link for a new password issued"),
    Cause.SECOND_FACTOR: gettext_lazy("Second factor removed"),
    Cause.EMAIL: gettext_lazy("Email address changed"),
    Cause.NAME: gettext_lazy("Printed name changed"),
    Cause.ADMINISTRATOR: gettext_lazy("Made an administrator"),
}
# Causes that do not mean that another person changed an account in use.
_INITIAL_CAUSES = {Cause.ASKED, Cause.CREATED}


def is_waiting(person: User) -> bool:
    """Return whether a request to verify this person is open."""
    return ApprovalRequest.objects.open().about(Kind.IDENTITY, person.subject).exists()


def request_verification(
    person: User, cause: Cause, *, by: User | None, reason: str = ""
) -> ApprovalRequest:
    """Request the verification of the person's identity. Call this inside `ledger()`."""
    return approvals.create_request(
        Kind.IDENTITY,
        about=person.subject,
        subject_name=f"{person} ({person.username})",
        by=by,
        reason=reason,
        cause=cause,
        expires=False,
    )


def notify_person(person: User, cause: Cause, *, by: str, to: str = "") -> None:
    """Notify the person, at their own address or at `to`, of a change by another person."""
    change = cause.label
    text = _("{change} by {person}, for the account {account}.").format(
        change=change, person=by, account=person.username
    )
    advice = _(
        "You cannot sign until a second administrator has verified your identity again. If you "
        "did not expect this, tell your quality assurance immediately."
    )
    account_notices.write(
        person,
        _("Your account: {change}").format(change=change.lower()),
        f"{text}\n\n{advice}",
        to=to,
    )


def describe_last_identity_change(person: User) -> str:
    """Return a note for signatures of this person about the last change by another person.

    It is "" if nobody else has changed how the person signs in.
    """
    rows = ApprovalRequest.objects.about(Kind.IDENTITY, person.subject)
    changed = (
        rows.filter(state=State.APPROVED).exclude(cause__in=_INITIAL_CAUSES).order_by("-pk").first()
    )
    if changed is None or changed.decided_at is None:
        return ""
    return (
        f"{_LABELS[Cause(changed.cause)]} by {changed.asked_by_name} on "
        f"{changed.asked_at:%Y-%m-%d}; identity verified again by {changed.decided_by_name} on "
        f"{changed.decided_at:%Y-%m-%d} (UTC)"
    )


def group_requests_by_subject() -> dict[str, list[ApprovalRequest]]:
    """Return all requests about identities, newest first, by the subject of the person."""
    found: defaultdict[str, list[ApprovalRequest]] = defaultdict(list)
    rows = ApprovalRequest.objects.filter(kind=Kind.IDENTITY).select_related("decided_by")
    for request in rows.order_by("-pk"):
        found[request.about].append(request)
    return dict(found)


def _explain_exclusion(request: ApprovalRequest, person: User) -> str:
    if request.about == person.subject:
        return _("This is your own identity. A second administrator must verify it.")
    requests = ApprovalRequest.objects.about(Kind.IDENTITY, request.about)
    verified = requests.filter(state=State.APPROVED).order_by("-pk").values_list("pk", flat=True)
    # Refused requests count too. Otherwise the person who changed the account could verify it after
    # another request.
    if requests.filter(asked_by=person, pk__gt=verified.first() or 0).exists():
        return _(
            "You changed how this person signs in. A second administrator must verify the identity."
        )
    return ""


def _verify(request: ApprovalRequest, by: User) -> None:
    person = User.lock(request.about_key)
    now = timezone.now()
    values = {
        "identity_evidence": request.note,
        "identity_verified_at": now,
        "signing_suspended_at": None,
    }
    changes = {
        name: {"old": _as_text(getattr(person, name)), "new": _as_text(value)}
        for name, value in values.items()
        if getattr(person, name) != value
    }
    for name, value in values.items():
        setattr(person, name, value)
    person.save(update_fields=list(values))
    approvals.close_others(request, by)
    person.record(
        "user.changed",
        by=by.actor,
        detail={
            "object": str(person),
            "changes": changes,
            **approvals.get_approval_facts(request),
        },
    )
    account_notices.write(
        person,
        _("Your account: identity verified"),
        _("{person} has verified your identity. You can sign.").format(person=by),
    )


def _as_text(value: object) -> str | None:
    return None if value is None else str(value)


def register_approval_rule() -> None:
    """Register the rule for requests to verify an identity. Called once, when the app is ready."""
    approvals.register_rule(
        Kind.IDENTITY,
        ApprovalRule(
            may_decide=approvals.is_administrator,
            apply=_verify,
            explain_exclusion=_explain_exclusion,
            note_label=gettext_lazy(
                "How you verified the identity: which document you saw, where and when"
            ),
        ),
    )
