"""Collects and signs the review of accounts with their roles, and their history (R22, R09).

A review is stored only as an entry of the ledger. It is signed, never changed, and contains the
SHA-256 digest of the reviewed list.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from typing import Any
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
from sites.roles import ADMINISTRATORS, COORDINATORS, get_role_label

EVENT = "access.reviewed"
OUTCOMES = {
    "in_order": _("All accounts are correct"),
    "to_change": _("Some accounts must be changed"),
}
MAX_REVIEWS = 50  # listed
_NOT_ON_RECORD = "not on record"


@dataclass(frozen=True, slots=True)
class Grant:
    """Describes a role that a person holds, with who granted it and when."""

    role: str
    by: str
    at: datetime | None  # None: before the ledger, or not recorded


@dataclass(frozen=True, slots=True)
class Account:
    """An active account in its current state."""

    person: User
    grants: tuple[Grant, ...]
    sites: tuple[str, ...]
    locked_until: datetime | None
    verified_by: str  # the last verifier and requester; "" if never verified
    remarks: tuple[str, ...]  # sentences for the attention of the reviewer


@dataclass(frozen=True, slots=True)
class AccessReviewRow:
    """A line of the CSV file. Times are in UTC."""

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
    """Describes a signed access review, as its entry in the ledger records it."""

    at: datetime
    printed_name: str
    role: str
    meaning: str
    outcome: str  # as a sentence
    findings: str
    accounts: int
    sha256: str  # of the reviewed list


def list_active_people() -> "QuerySet[User]":
    """Return the people with an active account, by user name."""
    active = User.objects.filter(is_active=True).order_by("username")
    return active.prefetch_related("groups", "memberships__site")


def list_accounts(of: Iterable[User] | None = None) -> list[Account]:
    """Return the accounts of these people, or of all, with a fixed number of queries."""
    people = list(list_active_people() if of is None else of)
    grants, locks, verified = (
        _find_grants(people),
        lockout.find_lockouts(),
        identity.group_requests_by_subject(),
    )
    return [
        Account(
            person,
            tuple(_make_grant(role, grants.get((person.subject, role))) for role in person.roles),
            tuple(sorted(one.site.site_id for one in person.memberships.all())),
            locks.get(person.pk),
            _describe_verification(verified.get(person.subject, ())),
            tuple(_remarks(person, verified)),
        )
        for person in people
    ]


def _describe_verification(requests: Iterable[ApprovalRequest]) -> str:
    last = next((each for each in requests if each.state == State.APPROVED), None)
    if last is None:
        return ""
    sentence = gettext("{verifier}, requested by {requester}")
    return sentence.format(verifier=last.decided_by_name, requester=last.asked_by_name)


def _remarks(person: User, requests: Mapping[str, list[ApprovalRequest]]) -> Iterator[str]:
    """Yield sentences about facts that could let one person act as two."""
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


def _make_grant(role: str, entry: Recorded | None) -> Grant:
    if entry is None:
        return Grant(role, _NOT_ON_RECORD, None)
    detail = entry.detail or {}
    who = detail.get("printed_name") or detail.get("os_user") or entry.actor
    return Grant(role, who, entry.recorded_at)


def _find_grants(people: Iterable[User]) -> dict[tuple[str, str], Recorded]:
    """Return the last entry that assigned each role to each person."""
    subjects = [person.subject for person in people]
    last_entries: dict[tuple[str, str], Recorded] = {}
    for entry in queries.list_entries_of_events(["user.created", "user.changed"], subjects):
        for role in _assigned_roles(entry):
            last_entries[entry.subject, role] = entry
    return last_entries


def _assigned_roles(entry: Recorded) -> set[str]:
    changes: Mapping[str, Mapping[str, object]] = (entry.detail or {}).get("changes", {})
    groups = changes.get("groups", {})
    assigned = _as_set(groups.get("new")) - _as_set(groups.get("old"))
    if changes.get("is_superuser", {}).get("new") == "True":
        assigned.add(ADMINISTRATORS)
    # A person who is not staff is a coordinator: from the beginning, or since staff was removed.
    was_staff = changes.get("is_staff", {})
    if was_staff.get("new") == "False" or (entry.event == "user.created" and not was_staff):
        assigned.add(COORDINATORS)
    return assigned


def _as_set(value: object) -> set[str]:
    return {str(each) for each in value} if isinstance(value, list) else set()


def format_csv(rows: Iterable[Account]) -> str:
    """Return the list as CSV with a header."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    names = [field.name for field in fields(AccessReviewRow)]
    writer.writerow(names)
    for row in map(_make_row, rows):
        writer.writerow([escape_formula(getattr(row, name)) for name in names])
    return output.getvalue()


def _make_row(account: Account) -> AccessReviewRow:
    person = account.person
    return AccessReviewRow(
        user_name=person.username,
        printed_name=person.printed_name,
        email=person.email,
        roles="; ".join(person.roles),
        granted="; ".join(
            f"{one.role} by {one.by} {_format_time(one.at)}" for one in account.grants
        ),
        sites=" ".join(account.sites),
        last_sign_in=_format_time(person.last_login),
        created=_format_time(person.date_joined),
        access_from=str(person.access_from or ""),
        access_until=str(person.access_until or ""),
        locked_until=_format_time(account.locked_until),
        code_at_sign_in_since=_format_time(person.second_factor_since),
        identity_verified=_format_time(person.identity_verified_at),
        training_acknowledged=_format_time(person.training_acknowledged_at),
        policy_acknowledged=_format_time(person.policy_acknowledged_at),
        password_changed=_format_time(person.password_changed_at),
        identity_verified_by=account.verified_by,
        signing_suspended_since=_format_time(person.signing_suspended_at),
        remarks=" ".join(account.remarks),
    )


def _format_time(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ") if at else ""


def sign(rows: Iterable[Account], *, outcome: str, findings: str, by: ElectronicSignature) -> None:
    """Record the signed review of these accounts."""
    rows = list(rows)
    with ledger():
        record(
            EVENT,
            subject=f"access-review:{uuid4()}",
            by=by.signer,
            code=outcome.upper(),
            sha256=hashlib.sha256(format_csv(rows).encode()).hexdigest(),
            detail={
                **by.manifestation,
                "accounts": len(rows),
                "user_names": [row.person.username for row in rows],
                "findings": findings,
            },
        )


def list_reviews() -> list[Review]:
    """Return the newest reviews first. A review whose detail was redacted is included."""
    entries = queries.find_entries(EntrySearch(event=EVENT), limit=MAX_REVIEWS)
    return [_make_review(entry, entry.detail or {}) for entry in entries]


def _make_review(entry: Recorded, detail: Mapping[str, Any]) -> Review:
    return Review(
        at=entry.recorded_at,
        printed_name=detail.get("printed_name", entry.actor),
        role=get_role_label(entry.role),
        meaning=detail.get("meaning", ""),
        outcome=str(OUTCOMES[entry.code.lower()]),
        findings=detail.get("findings", ""),
        accounts=detail.get("accounts", 0),
        sha256=entry.sha256,
    )


def compute_due_date() -> date | None:
    """Return the day by which the next review is due, or None if the ledger is empty."""
    last = queries.find_entries(EntrySearch(event=EVENT), limit=1)
    since = last[0].recorded_at if last else queries.get_first_recorded_at()
    if since is None:
        return None
    return since.astimezone(UTC).date() + timedelta(days=settings.ACCESS_REVIEW_DAYS)
