"""Who may do what, and since when by whose hand: for the review of accounts (R22, R09).

A review is an entry of the ledger and nothing else: it is signed, never changed, and names the
SHA-256 of the list that was looked at.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.electronic_signatures import ElectronicSignature
from audit.files.csv_export import escape_formula
from audit.ledger import queries
from audit.ledger.log import ledger, record
from audit.ledger.queries import EntrySearch, Recorded
from sites.accounts import identity, lockout
from sites.approvals import State
from sites.models import ApprovalRequest, User
from sites.roles import ADMINISTRATORS, COORDINATORS, label

EVENT = "access.reviewed"
OUTCOMES = {
    "in_order": _("All accounts are correct"),
    "to_change": _("Some accounts must be changed"),
}
_SHOWN = 50  # reviews
_NOT_ON_RECORD = "not on record"


@dataclass(frozen=True, slots=True)
class Grant:
    role: str
    by: str
    at: datetime | None  # None: from before the ledger, or it was never entered


@dataclass(frozen=True, slots=True)
class Account:
    """One active account, as it stands now."""

    person: User
    grants: tuple[Grant, ...]
    sites: tuple[str, ...]
    locked_until: datetime | None
    verified_by: str  # who verified the identity last, at whose request; "" before there was this
    remarks: tuple[str, ...]  # what a reviewer has to look at, in sentences


@dataclass(frozen=True, slots=True)
class AccessReviewRow:
    """The same for a file. Times are UTC."""

    user_name: str
    printed_name: str
    email: str
    roles: str
    granted: str
    sites: str
    last_sign_in: str
    created: str
    access_from: str
    access_until: str
    locked_until: str
    code_at_sign_in_since: str
    identity_verified: str
    training_acknowledged: str
    policy_acknowledged: str
    password_changed: str
    identity_verified_by: str
    signing_suspended_since: str
    remarks: str


@dataclass(frozen=True, slots=True)
class Review:
    at: datetime
    printed_name: str
    role: str
    meaning: str
    outcome: str  # in words
    findings: str
    accounts: int
    sha256: str  # of the list


def people() -> "QuerySet[User]":
    """Whose accounts are active, by user name."""
    active = User.objects.filter(is_active=True).order_by("username")
    return active.prefetch_related("groups", "memberships__site")


def accounts(of: Iterable[User] | None = None) -> list[Account]:
    """Of these people, or of all. A handful of queries, however many they are."""
    chosen = list(people() if of is None else of)
    grants, locks, verified = (
        _grants(chosen),
        lockout.find_lockouts(),
        identity.requests_by_subject(),
    )
    return [
        Account(
            person,
            tuple(_grant(role, grants.get((person.subject, role))) for role in person.roles),
            tuple(sorted(one.site.site_id for one in person.memberships.all())),
            locks.get(person.pk),
            _verified_by(verified.get(person.subject, ())),
            tuple(_remarks(person, verified)),
        )
        for person in chosen
    ]


def _verified_by(requests: Iterable[ApprovalRequest]) -> str:
    last = next((each for each in requests if each.state == State.APPROVED), None)
    if last is None:
        return ""
    sentence = gettext("{verifier}, requested by {requester}")
    return sentence.format(verifier=last.decided_by_name, requester=last.asked_by_name)


def _remarks(person: User, requests: Mapping[str, list[ApprovalRequest]]) -> Iterator[str]:
    """Sentences about what lets one human being act as two."""
    if person.has_role_conflict:
        yield gettext("Administrator with a QA role. The QA role has no effect.")
    own = requests.get(person.subject, [])
    if person.signing_suspended_at:
        waiting = [identity.Cause(each.cause).label for each in own if each.state == State.OPEN]
        causes = ", ".join(dict.fromkeys(waiting))
        reason = causes or gettext("the request was refused")
        yield gettext("Signing is suspended: {reason}.").format(reason=reason)
    last = next((each for each in own if each.state == State.APPROVED), None)
    if last and last.asked_by_id and last.decided_by:
        makers = {each.asked_by_id for each in requests.get(last.decided_by.subject, [])}
        if last.asked_by_id in makers:
            sentence = gettext(
                "{requester} requested the verification of this identity, and had created or "
                "changed the account of {verifier}, who verified it. Check that both people exist."
            )
            yield sentence.format(requester=last.asked_by_name, verifier=last.decided_by_name)


def _grant(role: str, entry: Recorded | None) -> Grant:
    if entry is None:
        return Grant(role, _NOT_ON_RECORD, None)
    detail = entry.detail or {}
    who = detail.get("printed_name") or detail.get("os_user") or entry.actor
    return Grant(role, who, entry.recorded_at)


def _grants(people: Iterable[User]) -> dict[tuple[str, str], Recorded]:
    """The entry that gave each person each role last."""
    subjects = [person.subject for person in people]
    given: dict[tuple[str, str], Recorded] = {}
    for entry in queries.entries_of_events(["user.created", "user.changed"], subjects):
        for role in _given_in(entry):
            given[entry.subject, role] = entry
    return given


def _given_in(entry: Recorded) -> set[str]:
    changes: Mapping[str, Mapping[str, object]] = (entry.detail or {}).get("changes", {})
    given = _new_ones(changes.get("groups", {}))
    if changes.get("is_superuser", {}).get("new") == "True":
        given.add(ADMINISTRATORS)
    # Without a role of staff one is a coordinator: from the beginning, or since it was taken.
    was_staff = changes.get("is_staff", {})
    if was_staff.get("new") == "False" or (entry.event == "user.created" and not was_staff):
        given.add(COORDINATORS)
    return given


def _new_ones(change: Mapping[str, object]) -> set[str]:
    old, new = change.get("old"), change.get("new")
    return _as_set(new) - _as_set(old)


def _as_set(value: object) -> set[str]:
    return {str(each) for each in value} if isinstance(value, list) else set()


def table(rows: Iterable[Account]) -> str:
    """As CSV, with a header."""
    out = io.StringIO()
    written = csv.writer(out, lineterminator="\n")
    names = [field.name for field in fields(AccessReviewRow)]
    written.writerow(names)
    for row in map(_row, rows):
        written.writerow([escape_formula(getattr(row, name)) for name in names])
    return out.getvalue()


def _row(account: Account) -> AccessReviewRow:
    person = account.person
    return AccessReviewRow(
        user_name=person.username,
        printed_name=person.printed_name,
        email=person.email,
        roles="; ".join(person.roles),
        granted="; ".join(f"{one.role} by {one.by} {_time(one.at)}" for one in account.grants),
        sites=" ".join(account.sites),
        last_sign_in=_time(person.last_login),
        created=_time(person.date_joined),
        access_from=str(person.access_from or ""),
        access_until=str(person.access_until or ""),
        locked_until=_time(account.locked_until),
        code_at_sign_in_since=_time(person.second_step_since),
        identity_verified=_time(person.identity_verified_at),
        training_acknowledged=_time(person.training_acknowledged_at),
        policy_acknowledged=_time(person.policy_acknowledged_at),
        password_changed=_time(person.password_changed_at),
        identity_verified_by=account.verified_by,
        signing_suspended_since=_time(person.signing_suspended_at),
        remarks=" ".join(account.remarks),
    )


def _time(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ") if at else ""


def sign(rows: Iterable[Account], *, outcome: str, findings: str, by: ElectronicSignature) -> None:
    """Enter that somebody looked at these accounts."""
    rows = list(rows)
    with ledger():
        record(
            EVENT,
            subject=f"access-review:{uuid4()}",
            by=by.signer,
            code=outcome.upper(),
            sha256=hashlib.sha256(table(rows).encode()).hexdigest(),
            detail={
                **by.shown,
                "accounts": len(rows),
                "user_names": [row.person.username for row in rows],
                "findings": findings,
            },
        )


def reviews() -> list[Review]:
    """The newest first."""
    return [
        _review(entry) for entry in queries.find_entries(EntrySearch(event=EVENT), limit=_SHOWN)
    ]


def _review(entry: Recorded) -> Review:
    detail = entry.detail or {}  # taken out on record: the line stays
    return Review(
        at=entry.recorded_at,
        printed_name=detail.get("printed_name", entry.actor),
        role=label(entry.role),
        meaning=detail.get("meaning", ""),
        outcome=str(OUTCOMES[entry.code.lower()]),
        findings=detail.get("findings", ""),
        accounts=detail.get("accounts", 0),
        sha256=entry.sha256,
    )


def due_on() -> date | None:
    """When the next one has to be done by; None: nothing is on record yet."""
    last = queries.find_entries(EntrySearch(event=EVENT), limit=1)
    since = last[0].recorded_at if last else queries.first_recorded_at()
    if since is None:
        return None
    return since.astimezone(UTC).date() + timedelta(days=settings.ACCESS_REVIEW_DAYS)
