"""Records changes of accounts outside of the admin: by commands, and by people themselves (R09)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils import timezone

from audit.change_tracking.field_changes import compare_field_values, read_field_values
from audit.ledger.actors import OPERATIONS, Actor
from audit.ledger.context import get_current_origin
from audit.ledger.log import ledger
from sites.eligibility import Missing

SHELL = Actor.software("shell", OPERATIONS)  # if neither a command nor a request is running


def get_current_actor() -> Actor:
    """Return the actor of the command that is running."""
    name, _printed_name = get_current_origin().identify()
    return Actor(name, OPERATIONS) if name else SHELL


@contextmanager
def record_changes(person: Any) -> Iterator[None]:
    """Record all changes of the person's row, groups and sites in the block as one entry.

    Without a change there is no entry. A new person has to be saved in the block. The entry and the
    change are in one transaction.
    """
    with ledger():
        is_new = person.pk is None
        before = {} if is_new else _state(person)
        yield
        changes = compare_field_values(before, _state(person))
        if not changes:
            return
        sites = _sites(person)
        record = person.record_at_revision if is_new else person.record
        record(
            "user.created" if is_new else "user.changed",
            by=get_current_actor(),
            site=sites[0] if len(sites) == 1 else "",
            detail={"object": str(person), "changes": changes},
        )


@contextmanager
def record_own_changes(person: Any) -> Iterator[Any]:
    """Record what a person changes in their own account as one entry. Yields the locked row."""
    with ledger():
        row = person.lock(person.pk)
        before = read_field_values(row)
        yield row
        changes = compare_field_values(before, read_field_values(row))
        row.save()
        detail = {"object": str(row), "changes": changes}
        row.record("user.changed", by=row.actor, detail=detail)


def acknowledge(person: Any, requirement: Missing) -> None:
    """Record that a person was trained or has read the policy, the first time (R36, R37)."""
    column = {
        Missing.TRAINING: "training_acknowledged_at",
        Missing.POLICY: "policy_acknowledged_at",
    }
    name = column[requirement]
    with record_own_changes(person) as row:
        setattr(row, name, getattr(row, name) or timezone.now())


def _state(person: Any) -> dict[str, Any]:
    return {**read_field_values(person), "sites": _sites(person)}


def _sites(person: Any) -> list[str]:
    return sorted(person.memberships.values_list("site__site_id", flat=True))
