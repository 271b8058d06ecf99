"""Accounts changed outside the admin, by commands and upgrades: on record all the same (R09)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from audit.changes import differences, values_of
from audit.context import origin
from audit.log import ledger, record

SHELL = "system:shell"  # nobody said what is running: not a command of ours, not a request
ROLE = "ops"


def actor() -> str:
    """The command at hand, as the ledger names it."""
    return origin().asker()[0] or SHELL


@contextmanager
def on_record(person: Any) -> Iterator[None]:
    """What becomes of this person's row, groups and sites inside is one entry; nothing is none.

    The person is saved inside, where it is new. In one transaction with the change.
    """
    with ledger():
        is_new = person.pk is None
        before = {} if is_new else _state(person)
        yield
        changes = differences(before, _state(person))
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


def _state(person: Any) -> dict[str, Any]:
    return {**values_of(person), "sites": _sites(person)}


def _sites(person: Any) -> list[str]:
    return sorted(person.memberships.values_list("site__site_id", flat=True))
