"""Accounts changed outside the admin, by commands and by their people: on record too (R09)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils import timezone

from audit.change_tracking.field_changes import field_differences, field_values
from audit.ledger.actors import OPERATIONS, Actor
from audit.ledger.context import current_origin
from audit.ledger.log import ledger
from sites.eligibility import Missing

SHELL = Actor.software("shell", OPERATIONS)  # neither a command of ours nor a request is running


def current_actor() -> Actor:
    """Return the actor of the command that is running."""
    name, _printed_name = current_origin().asker()
    return Actor(name, OPERATIONS) if name else SHELL


@contextmanager
def on_record(person: Any) -> Iterator[None]:
    """What becomes of this person's row, groups and sites inside is one entry; nothing is none.

    The person is saved inside, where it is new. In one transaction with the change.
    """
    with ledger():
        is_new = person.pk is None
        before = {} if is_new else _state(person)
        yield
        changes = field_differences(before, _state(person))
        if not changes:
            return
        sites = _sites(person)
        record = person.record_at_revision if is_new else person.record
        record(
            "user.created" if is_new else "user.changed",
            by=current_actor(),
            site=sites[0] if len(sites) == 1 else "",
            detail={"object": str(person), "changes": changes},
        )


@contextmanager
def by_themselves(person: Any) -> Iterator[Any]:
    """What a person changes on their own account is one entry, by them. Yields the locked row."""
    with ledger():
        row = person.lock(person.pk)
        before = field_values(row)
        yield row
        changes = field_differences(before, field_values(row))
        row.save()
        detail = {"object": str(row), "changes": changes}
        row.record("user.changed", by=row.actor, detail=detail)


def acknowledge(person: Any, what: Missing) -> None:
    """That they are trained, or have read the policy (R36, R37). Once."""
    column = {
        Missing.TRAINING: "training_acknowledged_at",
        Missing.POLICY: "policy_acknowledged_at",
    }
    with by_themselves(person) as row:
        setattr(row, column[what], getattr(row, column[what]) or timezone.now())


def _state(person: Any) -> dict[str, Any]:
    return {**field_values(person), "sites": _sites(person)}


def _sites(person: Any) -> list[str]:
    return sorted(person.memberships.values_list("site__site_id", flat=True))
