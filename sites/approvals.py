"""Implements second-person approval: a change takes effect when another person approves it.

`create_request()` stores a request, and `decide()` applies or refuses it. The ledger records each
step. The person who made a request never decides it, and neither does a person whose own signing is
suspended. An `ApprovalRule` defines a kind of request. The module of the kind registers it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.ledger.context import get_current_origin
from audit.ledger.log import ledger
from sites import account_changes, account_notices
from sites.models import User
from sites.models.approval_requests import ApprovalRequest, ApprovalRequestQuerySet

Kind = ApprovalRequest.Kind
State = ApprovalRequest.State
MIN_NOTE_CHARACTERS = 10  # of the reason for a decision


class NotDecided(Exception):
    """The request was not decided. The message for people states the reason."""


_NOTE_LABEL = gettext_lazy("Reason for your decision")


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Defines a kind of request.

    `may_decide` returns whether the role of a person permits the decision. `apply` applies an
    approved request inside `ledger()` and records its own entry. It raises NotDecided if the rows
    have changed since the request. `explain_exclusion` returns why this person may not decide this
    request, beyond the rules for all kinds, or "".
    """

    may_decide: Callable[[User], bool]
    apply: Callable[[ApprovalRequest, User], None]
    explain_exclusion: Callable[[ApprovalRequest, User], str] = lambda _request, _person: ""
    note_label: str | Promise = _NOTE_LABEL


_rules: dict[str, ApprovalRule] = {}


def register_rule(kind: Kind, rule: ApprovalRule) -> None:
    """Register the rule of a kind. Called once, when the app is ready."""
    _rules[kind] = rule


def get_rule(request: ApprovalRequest) -> ApprovalRule:
    """Return the rule for the kind of the request. Raises KeyError if none is registered."""
    return _rules[request.kind]


def create_request(  # noqa: PLR0913 - keyword arguments, the columns of the row
    kind: Kind,
    *,
    about: str,
    subject_name: str,
    by: User | None,
    reason: str,
    proposed: Mapping[str, Any] | None = None,
    current: Mapping[str, Any] | None = None,
    cause: str = "",
    site: str = "",
    expires: bool = True,
) -> ApprovalRequest:
    """Store and record a request, and notify the people who may decide it.

    Call this inside `ledger()`. `by` is None for a command, and the user of the operating system is
    stored instead. An open request of the same kind and subject is withdrawn, except for
    identities: each change of an account keeps its own request, so that nobody who made one of the
    changes can verify the identity.
    """
    now = timezone.now()
    if kind is not Kind.IDENTITY:
        for older in ApprovalRequest.objects.open().about(kind, about).select_for_update():
            _close(older, State.WITHDRAWN, by, "Replaced by a newer request.")
    request: ApprovalRequest = ApprovalRequest.objects.create(
        kind=kind,
        about=about,
        subject_name=subject_name,
        site=site,
        cause=cause,
        proposed=dict(proposed or {}),
        current=dict(current or {}),
        reason=reason,
        asked_by=by,
        asked_by_name=str(by) if by else get_command_name(),
        asked_at=now,
        expires_at=now + timedelta(days=settings.APPROVAL_DAYS) if expires else None,
    )
    request.record_at_revision("approval.requested", **_entry_of(request, by))
    for person in find_deciders(request):
        account_notices.write(
            person,
            _("Your approval is needed: {request}").format(request=request),
            _("{person} requests your approval.").format(person=request.asked_by_name)
            + f"\n\n{request}\n\n"
            + _("Approve or refuse the request: {address}").format(address=_url(request)),
        )
    return request


def get_command_name() -> str:
    """Return the name of the running command in a request, as in "otto (system:account_link)"."""
    os_user = get_current_origin().facts.get("os_user", "")
    name = account_changes.get_current_actor().name
    return f"{os_user} ({name})" if os_user else name


def is_trusted(person: User) -> bool:
    """Return whether the person has access and their signing is not suspended."""
    return person.is_active and person.has_access() and person.signing_suspended_at is None


def is_administrator(person: User) -> bool:
    """Return whether the person administers accounts. Auditors never do."""
    return person.is_staff and person.is_superuser and not person.is_auditor


def explain_approval_refusal(request: ApprovalRequest, person: User) -> str:
    """Return why this person may not decide this request, in a sentence, or "" if they may."""
    if not request.is_open:
        is_expired = request.state == State.OPEN
        state = State.EXPIRED.label if is_expired else request.get_state_display()
        return _("This request is closed: {state}.").format(state=str(state).lower())
    if request.asked_by_id == person.pk:
        return _("This is your own request. Another person must decide about it.")
    if not get_rule(request).may_decide(person):
        return _("Your role cannot decide about requests of this kind.")
    if not is_trusted(person):
        return _(
            "You cannot decide until your own identity is verified again, because another person "
            "changed how you sign in."
        )
    return get_rule(request).explain_exclusion(request, person)


def find_deciders(request: ApprovalRequest) -> list[User]:
    """Return all people who may decide this request now."""
    staff = User.objects.filter(is_active=True, is_staff=True).prefetch_related("groups")
    return [person for person in staff if not explain_approval_refusal(request, person)]


def filter_visible_requests(person: User) -> ApprovalRequestQuerySet:
    """Return the requests of the kinds that the person may decide, and their own, newest first."""
    kinds = [kind for kind, rule in _rules.items() if rule.may_decide(person)]
    return ApprovalRequest.objects.filter(Q(asked_by=person) | Q(kind__in=kinds))


def count_waiting_for(person: User) -> int:
    """Return how many requests wait for a decision of this person's role, with one query."""
    if not is_trusted(person):
        return 0
    others = (
        filter_visible_requests(person)
        .open()
        .exclude(asked_by=person)
        .exclude(about=person.subject)
    )
    return others.count()


def decide(request: ApprovalRequest, person: User, *, is_approved: bool, note: str) -> None:
    """Approve and apply a request, or refuse it. Raises NotDecided; nothing is changed then.

    The caller has checked the password of the person before.
    """
    if len(note.strip()) < MIN_NOTE_CHARACTERS:
        message = _("Enter a reason of at least {n} characters.")
        raise NotDecided(message.format(n=MIN_NOTE_CHARACTERS))
    with ledger():
        row = ApprovalRequest.lock(request.pk)
        decider = User.lock(person.pk)
        if refusal := explain_approval_refusal(row, decider):
            raise NotDecided(refusal)
        _close(row, State.APPROVED if is_approved else State.REFUSED, decider, note)
        if is_approved:
            get_rule(row).apply(row, decider)
    request.refresh_from_db()
    if request.asked_by is None:
        return
    state = request.get_state_display()
    with ledger():
        account_notices.write(
            request.asked_by,
            f"{state}: {request}",
            _("{person} has decided about your request.").format(person=request.decided_by_name)
            + f"\n\n{request}\n\n{state}. {request.note}\n\n{_url(request)}",
        )


def withdraw(request: ApprovalRequest, person: User) -> None:
    """Withdraw a request. Raises NotDecided unless it is open, own and not about an identity."""
    with ledger():
        row = ApprovalRequest.lock(request.pk)
        if not row.is_open or row.asked_by_id != person.pk or row.kind == Kind.IDENTITY:
            message = _(
                "Only the person who made a request can withdraw it, and only while it waits."
            )
            raise NotDecided(message)
        _close(row, State.WITHDRAWN, person, "")


def close_others(request: ApprovalRequest, person: User) -> None:
    """Close the other open requests of the same kind and subject with the same decision."""
    others = ApprovalRequest.objects.open().about(request.kind, request.about)
    for other in others.exclude(pk=request.pk).select_for_update():
        _close(other, State(request.state), person, request.note)


def expire_due() -> int:
    """Close and record the requests that have expired. Return their number."""
    expired = ApprovalRequest.objects.filter(state=State.OPEN, expires_at__lte=timezone.now())
    if not expired.exists():
        return 0
    with ledger():
        rows = list(expired.select_for_update())
        for row in rows:
            _close(row, State.EXPIRED, None, "")
    return len(rows)


def get_approval_facts(request: ApprovalRequest) -> dict[str, str]:
    """Return the facts about the approval for the entry of the approved change."""
    return {
        "approval": request.subject,
        "asked_by": request.asked_by_name,
        "reason": request.reason or request.note,
    }


def _close(request: ApprovalRequest, state: State, by: User | None, note: str) -> None:
    request.state, request.note = state, note.strip()
    request.decided_by, request.decided_at = by, timezone.now()
    request.decided_by_name = str(by) if by else ""
    request.save()
    request.record(f"approval.{state}", **_entry_of(request, by))


def _entry_of(request: ApprovalRequest, by: User | None) -> dict[str, Any]:
    """Return the actor and the detail of a request's entry."""
    return {
        "by": by.actor if by else account_changes.get_current_actor(),
        "detail": {
            "kind": str(request.kind),
            "object": request.subject_name,
            "about": request.about,
            "cause": request.cause,
            "proposed": request.proposed,
            "current": request.current,
            "asked_by": request.asked_by_name,
            "reason": request.note or request.reason,
        },
    }


def _url(request: ApprovalRequest) -> str:
    return f"{settings.SITE_URL.rstrip('/')}/approvals/{request.pk}/"


def iter_differences(request: ApprovalRequest) -> Iterable[tuple[str, Any, Any]]:
    """Yield the name, the current and the proposed value of each column in the request."""
    for name, value in request.proposed.items():
        yield name, request.current.get(name, ""), value
