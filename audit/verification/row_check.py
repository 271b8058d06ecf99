"""Checks that rows which entries bind are those that are on record (`audit.ledger.bound_rows`).

Each row has to follow from its entries: the first one says how it came, each difference from one
entry to the next is a change that an entry names, and the row is as the last entry left it. So a
row that was changed behind the ledger's back is found now, and after later changes on record too.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from audit.ledger import bound_rows, queries
from audit.ledger.actors import OPERATIONS, Actor
from audit.ledger.bound_rows import (
    CREATED,
    DELETED,
    RECORDED,
    ROW,
    BoundKind,
    Digests,
)
from audit.ledger.log import ledger, record
from audit.ledger.queries import Recorded
from audit.verification.verify import VerificationNotice

ROWS_PER_PAGE = 500  # rows that are compared at a time
MAX_COMPARISONS = 3  # at what seems to differ, before it does

Entries = dict[str, list[Recorded]]  # by subject, oldest first


def rows_follow_from_the_ledger(since: int = 0) -> Iterator[str]:
    """Yield a sentence for each row that does not follow from its entries, and for each gone.

    For `audit.verification.verify`. All of them, whatever `since` is: rows change without leaving
    an entry. What cannot be told, because a detail is redacted or an earlier release wrote it, is a
    Notice.
    """
    for kind in bound_rows.KINDS.values():
        yield from _rows_that_differ(kind)
        yield from _rows_that_are_gone(kind)


def record_as_found(kind: BoundKind, why: str) -> None:
    """Enter every row of this kind as it is, once: for a migration that begins to bind them.

    What became of the rows before is not covered by that, and the entries say so.
    """
    with bound_rows.bound_as(kind), ledger():
        for row in kind.rows.select_for_update().order_by("pk"):
            row.revision += 1  # each of them has one
            row.save(update_fields=["revision"])
            record(
                f"{kind.name}.{RECORDED}",
                subject=kind.subject(row.pk),
                by=Actor.software("migrate", OPERATIONS),
                n=row.revision,  # rows of a migration's model have no methods
                detail={"reason": why},
            )


def _rows_that_differ(kind: BoundKind) -> Iterator[str]:
    after = 0
    keys = kind.rows.order_by("pk").values_list("pk", flat=True)
    while page := list(keys.filter(pk__gt=after)[:ROWS_PER_PAGE]):
        yield from _differing(kind, page)
        after = page[-1]


def _differing(kind: BoundKind, keys: Sequence[int]) -> Iterator[str]:
    """Rows and entries are read one after the other: what moves in between does not differ."""
    rows = bound_rows.row_digests(kind, keys)
    entries = _entries(kind, keys)
    moved = {key for key in rows if any(_faults(kind, key, rows[key], entries))}
    for _ in range(MAX_COMPARISONS):
        if not moved:
            return
        before, rows, entries = (
            _entries(kind, moved),
            bound_rows.row_digests(kind, moved),
            _entries(kind, moved),
        )
        at_rest = {
            key for key in rows if len(before[kind.subject(key)]) == len(entries[kind.subject(key)])
        }
        for key in sorted(at_rest):
            yield from _faults(kind, key, rows[key], entries)
        moved = rows.keys() - at_rest


def _entries(kind: BoundKind, keys: Collection[int]) -> Entries:
    found: Entries = {kind.subject(key): [] for key in keys}
    for entry in queries.entries_of_events(kind.events, list(found)):
        found[entry.subject].append(entry)
    return found


def _faults(kind: BoundKind, key: int, row: Digests, of: Entries) -> Iterator[str]:
    subject = kind.subject(key)
    entries = of[subject]
    if not entries:
        yield f"{subject} is in the database, and no entry says how it came there."
        return
    first = entries[0]
    if first.event not in {f"{kind.name}.{CREATED}", f"{kind.name}.{RECORDED}"}:
        yield f"{subject} is in the database, and no entry before {first.seq:,} says how it came."
    row_history = _RowHistory(kind, key)
    for entry in entries:
        yield from row_history.follow(entry)
    yield from row_history.compare(row)


class _RowHistory:
    """Follows one row through its entries, one after the other."""

    def __init__(self, kind: BoundKind, key: int) -> None:
        self._kind, self._key = kind, key
        self._row: Digests | None = None  # as the last entry that binds it left it
        self._seq = 0  # of that entry
        self._named: set[str] = set()  # fields that later entries name as changed
        self._redacted: list[int] = []  # later entries of which nobody knows what they named

    def follow(self, entry: Recorded) -> Iterator[str]:
        if entry.is_redacted:
            self._redacted.append(entry.seq)
            return
        detail = entry.detail or {}
        for name in detail.get("changes", {}):
            self._named |= self._kind.stands_for.get(name, frozenset([name]))
        if ROW not in detail:
            return  # a later entry of its transaction does, or it is one of an earlier release
        if self._row is not None:
            yield from self._unexplained(detail[ROW], f"before entry {entry.seq:,}")
        self._row, self._seq = detail[ROW], entry.seq
        self._named, self._redacted = set(), []

    def compare(self, row: Digests) -> Iterator[str]:
        subject = self._kind.subject(self._key)
        if self._row is not None:
            yield from self._unexplained(row, "")
            if others := self._differing(row) & self._named:
                yield VerificationNotice(
                    f"{subject}: {_listed(others)} cannot be checked: an earlier release changed "
                    "this, and its entries do not say what the row became."
                )
        elif self._redacted:
            yield VerificationNotice(f"{subject} cannot be checked: {self._redaction()}.")
        else:
            yield VerificationNotice(
                f"{subject} cannot be checked: its entries are of an earlier release, which did "
                "not bind rows."
            )

    def _unexplained(self, row: Digests, where: str) -> Iterator[str]:
        """Fields that differ from what the last entry left, and that no entry names."""
        fields = self._differing(row) - self._named
        if not fields:
            return
        subject, names = self._kind.subject(self._key), _listed(fields)
        if self._redacted:
            yield VerificationNotice(
                f"{subject}: {names} cannot be checked {where}: {self._redaction()}."
            )
        elif where:
            yield f"{subject}: {names} changed {where} without an entry that says so."
        else:
            yield (
                f"{subject} is not as entry {self._seq:,} left it: {names} changed without an "
                "entry that says so."
            )

    def _differing(self, row: Digests) -> set[str]:
        """Of fields that the row no longer has, a later release took leave."""
        if self._row is None:
            return set()
        new = bound_rows.default_digests(self._kind, self._key, row.keys() - self._row.keys())
        before = new | self._row
        return {name for name, digest in row.items() if before[name] != digest}

    def _redaction(self) -> str:
        numbers = ", ".join(f"{seq:,}" for seq in self._redacted)
        return f"the detail of entry {numbers} is redacted"


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names))


def _rows_that_are_gone(kind: BoundKind) -> Iterator[str]:
    subjects = queries.iter_subjects_of_events(kind.events)
    while page := list(islice(subjects, ROWS_PER_PAGE)):
        keys = [int(subject.rpartition(":")[2]) for subject in page]
        there = set(kind.rows.filter(pk__in=keys).values_list("pk", flat=True))
        for key in sorted(set(keys) - there):
            entries = _entries(kind, [key])[kind.subject(key)]
            if entries[-1].event != f"{kind.name}.{DELETED}":
                yield f"{kind.subject(key)} is in the ledger, but its row is gone."
