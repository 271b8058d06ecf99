"""An entry that is recorded and not appended yet, and what is wrong where none can be."""

from dataclasses import dataclass


class LedgerError(Exception):
    """The ledger is used in a way that could lose or misplace an entry."""


@dataclass(slots=True)  # not frozen: making one would take twice the time
class NewEntry:
    """Waits for its number, its predecessor and its time, which are empty in `facts`.

    Registered with `on_commit`, whose list Django prunes when a savepoint is rolled back; run
    after the commit it does nothing.
    """

    facts: dict[str, str | int]  # all fields of the line, which `chain.line` has accepted
    salt: str = ""  # in hex
    detail: str = ""  # canonical

    def __call__(self) -> None:
        pass
