"""Defines entries that are recorded and not appended yet, and the error of the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class LedgerError(Exception):
    """The ledger was used in a way that could lose or misplace an entry."""


@dataclass(slots=True)  # not frozen, because creating one would take twice the time
class NewEntry:
    """An entry without the fields that it gets when it is appended; they are empty in `facts`.

    These are `chain.LINKED`, and `event_id` if the ledger numbers the entry. The entry is
    registered with `on_commit`, because Django removes it from that list if its savepoint is rolled
    back. Called after the commit, it does nothing.
    """

    facts: dict[str, str | int]  # all fields of the line, which `chain.format_line` has accepted
    salt: str = ""  # in hex
    detail: str = ""  # canonical
    #: What the log says about the entry beside the facts. It is no part of the ledger.
    logged: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0  # set when it is appended, as the next one
    hash: str = ""

    def __call__(self) -> None:
        pass
