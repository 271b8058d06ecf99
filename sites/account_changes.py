"""Accounts changed outside the admin, by commands and by their people: on record too (R09)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth import get_user_model
from django.utils import timezone

from audit.change_tracking.field_changes import field_differences, field_values
from audit.ledger.actors import OPERATIONS
from audit.ledger.context import current_origin
from audit.ledger.log import ledger, record
from sites.eligibility import Missing

SHELL = "system:shell"  # nobody said what is running: not a command of ours, not a request
ROLE = OPERATIONS


def actor() -> str:
    """The command at hand, as the ledger names it."""
    return current_origin().asker()[0] or SHELL


def numbered(pk: int) -> Any:
    """A person's row, locked, and with the number of its next entry. Inside ledger()."""
    row = get_user_model().objects.select_for_update().get(pk=pk)
    row.revision += 1
    row.save(update_fields=["revision"])
    return row


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
        if not is_new:
            person.revision += 1
            person.save(update_fields=["revision"])
        sites = _sites(person)
        record(
            "user.created" if is_new else "user.changed",
            subject=person.actor,
            n=person.revision,
            site=sites[0] if len(sites) == 1 else "",
            actor=actor(),
            role=ROLE,
            detail={"object": str(person), "changes": changes},
        )


@contextmanager
def by_themselves(person: Any) -> Iterator[Any]:
    """What a person changes on their own account is one entry, by them. Yields the locked row."""
    with ledger():
        row = get_user_model().objects.select_for_update().get(pk=person.pk)
        before = field_values(row)
        yield row
        changes = field_differences(before, field_values(row))
        row.revision += 1
        row.save()
        record(
            "user.changed",
            subject=row.actor,
            n=row.revision,
            actor=row.actor,
            role=row.role,
            detail={"object": str(row), "changes": changes},
        )


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
