"""Whose identity has to be verified, and by whom (21 CFR 11.100(b), 11.300; R23, R27).

Whoever can change how a person signs in could sign as that person. So each such change by another
person suspends the person's signing until a second administrator, who is neither that other person
nor the person, has verified the identity again. The person is told by mail, and later signatures
show it.
"""

from collections import defaultdict
from enum import StrEnum

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from sites import account_notices, approvals
from sites.approvals import ApprovalRule, Kind, State
from sites.models import User
from sites.models.approval_requests import ApprovalRequest


class Cause(StrEnum):
    """Why an identity has to be verified."""

    ASKED = "asked"
    CREATED = "created"
    PASSWORD = "password"  # noqa: S105 - a code
    SECOND_FACTOR = "second_factor"
    EMAIL = "email"
    NAME = "name"
    ADMINISTRATOR = "administrator"

    @property
    def label(self) -> str:
        return str(_LABELS[self])


_LABELS = {
    Cause.ASKED: _("First verification"),
    Cause.CREATED: _("Account created"),
    Cause.PASSWORD: _("Link for a new password issued"),
    Cause.SECOND_FACTOR: _("Second factor removed"),
    Cause.EMAIL: _("Email address changed"),
    Cause.NAME: _("Printed name changed"),
    Cause.ADMINISTRATOR: _("Made an administrator"),
}
# What does not say that somebody else has touched an account that was in use.
_FIRST = {Cause.ASKED, Cause.CREATED}


def is_waiting(person: User) -> bool:
    """Whether a request to verify this person is open."""
    return ApprovalRequest.objects.open().about(Kind.IDENTITY, person.subject).exists()


def ask(person: User, cause: Cause, *, by: User | None, reason: str = "") -> ApprovalRequest:
    """Ask for the person's identity to be verified. Inside `ledger()`."""
    return approvals.ask(
        Kind.IDENTITY,
        about=person.subject,
        subject_name=f"{person} ({person.username})",
        by=by,
        reason=reason,
        cause=cause,
        expires=False,
    )


def tell(person: User, cause: Cause, *, by: str, to: str = "") -> None:
    """Write to the person, at their own address or at `to`, what another person changed."""
    text = (
        gettext("{change} by {person}, for the account {account}.").format(
            change=cause.label, person=by, account=person.username
        )
        + "\n\n"
        + gettext(
            "You cannot sign until a second administrator has verified your identity again. If you "
            "did not expect this, tell your quality assurance immediately."
        )
    )
    subject = gettext("Your account: {change}").format(change=cause.label.lower())
    account_notices.write(person, subject, text, to=to)


def signer_note(person: User) -> str:
    """What a signature of this person says about their account: the last change by another.

    Empty where no one else has changed how the person signs in.
    """
    rows = ApprovalRequest.objects.about(Kind.IDENTITY, person.subject)
    changed = rows.filter(state=State.APPROVED).exclude(cause__in=_FIRST).order_by("-pk").first()
    if changed is None or changed.decided_at is None:
        return ""
    return (
        f"{_LABELS[Cause(changed.cause)]} by {changed.asked_by_name} on "
        f"{changed.asked_at:%Y-%m-%d}; identity verified again by {changed.decided_by_name} on "
        f"{changed.decided_at:%Y-%m-%d} (UTC)"
    )


def requests_by_subject() -> dict[str, list[ApprovalRequest]]:
    """Every request about an identity, the newest first, by the ledger's name of the person."""
    found: defaultdict[str, list[ApprovalRequest]] = defaultdict(list)
    rows = ApprovalRequest.objects.filter(kind=Kind.IDENTITY).select_related("decided_by")
    for request in rows.order_by("-pk"):
        found[request.about].append(request)
    return dict(found)


def _barred(request: ApprovalRequest, person: User) -> str:
    if request.about == person.subject:
        return gettext("This is your own identity. A second administrator must verify it.")
    since = ApprovalRequest.objects.about(Kind.IDENTITY, request.about)
    verified = since.filter(state=State.APPROVED).order_by("-pk").values_list("pk", flat=True)
    # Of those refused too: else who changed the account could have it asked for once more.
    if since.filter(asked_by=person, pk__gt=verified.first() or 0).exists():
        return gettext(
            "You changed how this person signs in. A second administrator must verify the identity."
        )
    return ""


def _verify(request: ApprovalRequest, by: User) -> None:
    person = User.lock(request.about_key)
    now = timezone.now()
    said = {
        "identity_evidence": request.note,
        "identity_verified_at": now,
        "signing_suspended_at": None,
    }
    changes = {
        name: {"old": _text(getattr(person, name)), "new": _text(value)}
        for name, value in said.items()
        if getattr(person, name) != value
    }
    for name, value in said.items():
        setattr(person, name, value)
    person.save(update_fields=list(said))
    approvals.close_others(request, by)
    person.record(
        "user.changed",
        by=by.actor,
        detail={
            "object": str(person),
            "changes": changes,
            **approvals.entry_facts(request),
        },
    )
    account_notices.write(
        person,
        gettext("Your account: identity verified"),
        gettext("{person} has verified your identity. You can sign.").format(person=by),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def register() -> None:
    approvals.register(
        Kind.IDENTITY,
        ApprovalRule(
            may_decide=approvals.is_administrator,
            apply=_verify,
            barred=_barred,
            note_label=_("How you verified the identity: which document you saw, where and when"),
        ),
    )
