"""Does the ledger hold? Streams all of it, in memory that does not grow with it.

Checked: each line against its hash, its number and its predecessor; each
column against the line it copies; each detail against its commitment; the
guards; and what other rooms registered, such as whether the rows' states are
those of their last entries.

Not caught here: whoever may write to the tables and recomputes every hash after
an edit. Only a head that is known elsewhere shows that.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

from django.db import connection, transaction

from audit import guards
from audit.chain import GENESIS, Break, BrokenChain, Walk, commitment, expect
from audit.log import written
from audit.models import Entry
from audit.rows import COLUMNS

Check = Callable[[], Iterable[str]]
MAX_PROBLEMS = 100  # named in a verdict; the rest is counted
CHUNK = 2_000  # entries in memory at a time

_checks: list[Check] = []
_COPIES = [name for name in COLUMNS if name != "recorded_at"]
_copied = itemgetter(*(COLUMNS[name] for name in _COPIES))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found. `entries` is how many hold, `head` the hash of the last of them."""

    entries: int
    head: str
    seconds: float
    first_bad: Break | None
    problems: tuple[str, ...]  # at most MAX_PROBLEMS, each a sentence

    @property
    def intact(self) -> bool:
        return self.first_bad is None and not self.problems


def register(check: Check) -> Check:
    """Add a check that yields a sentence for each problem; usable as a decorator."""
    if check not in _checks:
        _checks.append(check)
    return check


def unregister(check: Check) -> None:
    _checks.remove(check)


def verify() -> Verdict:
    """Read the ledger from its first entry to its last. Database errors pass through."""
    began = time.monotonic()
    walk, entries, head, first_bad = Walk(), 0, GENESIS, None
    try:
        with _streaming():
            for row in _rows():
                head = _check(walk, row)
                entries += 1
    except BrokenChain as error:
        first_bad = error.found
    except (AttributeError, TypeError, ValueError) as error:
        # SQLite stores anything in any column: a time that is none, a line that is no text.
        first_bad = Break(entries + 1, "a column holds what cannot be read", "", str(error))
    problems = tuple(_limited(_problems()))
    return Verdict(entries, head, time.monotonic() - began, first_bad, problems)


def _streaming() -> AbstractContextManager[Any]:
    # Outside a transaction PostgreSQL copies the whole result into a temporary file first; on
    # SQLite a transaction would keep all writers out, and none is needed to stream.
    return transaction.atomic() if connection.vendor == "postgresql" else nullcontext()


def _rows() -> Iterator[tuple[Any, ...]]:
    # One statement, hence one snapshot: what is appended meanwhile is not seen in half.
    columns = ("seq", "body", "hash", "recorded_at", "detail__salt", "detail__detail", *_COPIES)
    return Entry.objects.order_by("seq").values_list(*columns).iterator(CHUNK)


def _check(walk: Walk, row: tuple[Any, ...]) -> str:
    """The hash of an entry that holds in every respect. Raises BrokenChain."""
    seq, body, hash_, recorded_at, salt, detail, *copies = row
    fields = walk.step(seq, body, hash_)
    _check_copies(seq, fields, copies)
    differs = "the column 'recorded_at' differs from the line"
    expect(seq, differs, fields["recorded_at"], written(recorded_at))
    _check_detail(seq, fields["detail_commit"], salt, detail)
    return walk.head


def _check_copies(seq: int, fields: dict[str, Any], copies: list[Any]) -> None:
    if tuple(copies) != _copied(fields):
        for name, copy in zip(_COPIES, copies, strict=True):
            expect(seq, f"the column '{name}' differs from the line", fields[COLUMNS[name]], copy)


def _check_detail(seq: int, commit: str, salt: str | None, detail: str | None) -> None:
    if salt is None or detail is None:
        expect(seq, "its detail is missing", commit, "")
    else:
        found = commitment(bytes.fromhex(salt), detail)
        expect(seq, "its detail was changed", commit, found)


def _problems() -> Iterator[str]:
    for name in guards.missing(connection):
        yield f"The database does not guard the ledger: the trigger {name} is missing or changed."
    for check in _checks:
        yield from check()


def _limited(problems: Iterator[str]) -> Iterator[str]:
    yield from islice(problems, MAX_PROBLEMS - 1)
    if more := sum(1 for _ in problems):
        yield f"And {more} more."
