"""Second-person approval: what one person asks for takes effect when another one approves it.

`ask()` keeps a request, `decide()` carries it out or refuses it, and each step is an entry of the
ledger. Who asked never decides, nor does a person whose own signing is suspended. What a kind of
request means is an `ApprovalRule`, which the module that owns the kind registers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from audit.ledger.context import current_origin
from audit.ledger.log import ledger
from sites import account_changes, account_notices
from sites.models import User
from sites.models.approval_requests import ApprovalRequest, ApprovalRequestQuerySet

Kind = ApprovalRequest.Kind
State = ApprovalRequest.State
MIN_NOTE_LENGTH = 10  # characters of a decision's reason, as of every reason


class NotDecided(Exception):
    """The request was not decided; the message tells people why."""


_DEFAULT_NOTE_LABEL = gettext_lazy("Reason for your decision")


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """What a kind of request means.

    `may_decide`: whether a person's role lets them decide. `apply` carries an approved request out
    inside `ledger()`, with its own entry; it raises NotDecided when the rows have changed since.
    `barred`: why this person may not decide this request, beyond the rules for all; "" if they may.
    """

    may_decide: Callable[[User], bool]
    apply: Callable[[ApprovalRequest, User], None]
    barred: Callable[[ApprovalRequest, User], str] = lambda _request, _person: ""
    note_label: "str | Promise" = _DEFAULT_NOTE_LABEL


_rules: dict[str, ApprovalRule] = {}


def register(kind: Kind, rule: ApprovalRule) -> None:
    """Say what a kind of request means. Once, when the app is ready."""
    _rules[kind] = rule


def rule_of(request: ApprovalRequest) -> ApprovalRule:
    return _rules[request.kind]


def ask(  # noqa: PLR0913 - the columns of the row; callers name each
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
    """Keep a request, on record, and tell those who may decide it. Inside `ledger()`.

    `by` is None for what a command asks for: then the operating system's user is kept. An open
    request of the same kind and subject is withdrawn, except for identities: each change of an
    account keeps its own, so that no one who made one of them verifies it.
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
        asked_by_name=str(by) if by else name_of_command(),
        asked_at=now,
        expires_at=now + timedelta(days=settings.APPROVAL_DAYS) if expires else None,
    )
    request.record_at_revision("approval.requested", **_entry_of(request, by))
    for person in deciders(request):
        account_notices.write(
            person,
            gettext("Your approval is needed: {request}").format(request=request),
            gettext("{person} requests your approval.").format(person=request.asked_by_name)
            + f"\n\n{request}\n\n"
            + gettext("Approve or refuse the request: {address}").format(address=_address(request)),
        )
    return request


def name_of_command() -> str:
    """Return how a request names the command that asked, as in "otto (system:account_link)"."""
    os_user = current_origin().facts.get("os_user", "")
    name = account_changes.current_actor().name
    return f"{os_user} ({name})" if os_user else name


def is_trusted(person: User) -> bool:
    """Whether what the person decides counts: no one else has changed how they sign in since."""
    return person.is_active and person.has_access() and person.signing_suspended_at is None


def is_administrator(person: User) -> bool:
    return person.is_staff and person.is_superuser and not person.is_auditor


def refusal(request: ApprovalRequest, person: User) -> str:
    """Why this person does not decide this request, in a sentence; "" where they may."""
    if not request.is_open:
        return gettext("This request is closed: {state}.").format(state=_state_of(request))
    if request.asked_by_id == person.pk:
        return gettext("This is your own request. Another person must decide about it.")
    if not rule_of(request).may_decide(person):
        return gettext("Your role cannot decide about requests of this kind.")
    if not is_trusted(person):
        return gettext(
            "You cannot decide until your own identity is verified again, because another person "
            "changed how you sign in."
        )
    return rule_of(request).barred(request, person)


def deciders(request: ApprovalRequest) -> list[User]:
    """Everyone who may decide this request now."""
    staff = User.objects.filter(is_active=True, is_staff=True).prefetch_related("groups")
    return [person for person in staff if not refusal(request, person)]


def visible_to(person: User) -> ApprovalRequestQuerySet:
    """The requests of the kinds that the person may decide, and their own. The newest first."""
    kinds = [kind for kind, rule in _rules.items() if rule.may_decide(person)]
    return ApprovalRequest.objects.filter(Q(asked_by=person) | Q(kind__in=kinds))


def count_waiting_for(person: User) -> int:
    """How many requests wait for this person or another one in the same role. One query."""
    if not is_trusted(person):
        return 0
    others = visible_to(person).open().exclude(asked_by=person).exclude(about=person.subject)
    return others.count()


def decide(request: ApprovalRequest, person: User, *, is_approved: bool, note: str) -> None:
    """Approve and carry out, or refuse. Raises NotDecided; then nothing has changed.

    That it is really this person is proved before, with the password.
    """
    if len(note.strip()) < MIN_NOTE_LENGTH:
        message = gettext("Enter a reason of at least {n} characters.")
        raise NotDecided(message.format(n=MIN_NOTE_LENGTH))
    with ledger():
        row = ApprovalRequest.lock(request.pk)
        decider = User.lock(person.pk)
        if why := refusal(row, decider):
            raise NotDecided(why)
        _close(row, State.APPROVED if is_approved else State.REFUSED, decider, note)
        if is_approved:
            rule_of(row).apply(row, decider)
    request.refresh_from_db()
    _tell_who_asked(request)


def withdraw(request: ApprovalRequest, person: User) -> None:
    """Take back one's own request. Raises NotDecided. An identity stays unverified until it is."""
    with ledger():
        row = ApprovalRequest.lock(request.pk)
        if not row.is_open or row.asked_by_id != person.pk or row.kind == Kind.IDENTITY:
            raise NotDecided(
                gettext(
                    "Only the person who made a request can withdraw it, and only while it waits."
                )
            )
        _close(row, State.WITHDRAWN, person, "")


def close_others(request: ApprovalRequest, person: User) -> None:
    """Close the other open requests of the same kind and subject with the same decision."""
    others = ApprovalRequest.objects.open().about(request.kind, request.about)
    for other in others.exclude(pk=request.pk).select_for_update():
        _close(other, State(request.state), person, request.note)


def expire_due() -> int:
    """Close the requests whose time is over, on record. Returns how many there were."""
    over = ApprovalRequest.objects.filter(state=State.OPEN, expires_at__lte=timezone.now())
    if not over.exists():
        return 0
    with ledger():
        rows = list(over.select_for_update())
        for row in rows:
            _close(row, State.EXPIRED, None, "")
    return len(rows)


def entry_facts(request: ApprovalRequest) -> dict[str, str]:
    """What the entry of the approved change says about its approval."""
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
        "by": by.actor if by else account_changes.current_actor(),
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


def _state_of(request: ApprovalRequest) -> str:
    is_over = request.state == State.OPEN
    return str(State.EXPIRED.label if is_over else request.get_state_display()).lower()


def _tell_who_asked(request: ApprovalRequest) -> None:
    if request.asked_by is None:
        return
    with ledger():
        account_notices.write(
            request.asked_by,
            f"{request.get_state_display()}: {request}",
            gettext("{person} has decided about your request.").format(
                person=request.decided_by_name
            )
            + f"\n\n{request}\n\n"
            + f"{request.get_state_display()}. {request.note}\n\n{_address(request)}",
        )


def _address(request: ApprovalRequest) -> str:
    return f"{settings.SITE_URL.rstrip('/')}/approvals/{request.pk}/"


def differences(request: ApprovalRequest) -> Iterable[tuple[str, Any, Any]]:
    """Name, current and proposed value of each column that is to change."""
    for name, value in request.proposed.items():
        yield name, request.current.get(name, ""), value
