"""Checks that rows match the entries that bind them (`audit.ledger.bound_rows`).

The first entry of a row has to state how the row was created, an entry has to name each change from
one entry to the next, and the row has to be as the last entry left it. A change without an entry is
therefore found, and is still found after later recorded changes.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from django.utils.translation import gettext as _

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
MAX_COMPARISONS = 3  # of a row that changes meanwhile

Entries = dict[str, list[Recorded]]  # by subject, oldest first


def check_rows_against_ledger(since: int = 0) -> Iterator[str]:
    """Yield a sentence for each row that differs from its entries, and for each missing row.

    A check of `audit.verification.verify`. It compares all rows and ignores `since`, because a row
    can change without an entry. If a detail is redacted, or an earlier release wrote it, the row
    cannot be checked, and the sentence is a VerificationNotice.
    """
    for kind in bound_rows.KINDS.values():
        after = 0
        keys = kind.rows.order_by("pk").values_list("pk", flat=True)
        while page := list(keys.filter(pk__gt=after)[:ROWS_PER_PAGE]):
            yield from _find_differing_rows(kind, page)
            after = page[-1]
        yield from _find_missing_rows(kind)


def record_as_found(kind: BoundKind, why: str) -> None:
    """Record every row of this kind as it is, in a migration that begins to bind them.

    Earlier changes of the rows are not covered, and the entries say so.
    """
    with bound_rows.bind_as(kind), ledger():
        for row in kind.rows.select_for_update().order_by("pk"):
            row.revision += 1  # each bound row has a revision
            row.save(update_fields=["revision"])
            record(
                f"{kind.name}.{RECORDED}",
                subject=kind.subject(row.pk),
                by=Actor.software("migrate", OPERATIONS),
                n=row.revision,  # rows of a migration's model have no methods
                detail={"reason": why},
            )


def _find_differing_rows(kind: BoundKind, keys: Sequence[int]) -> Iterator[str]:
    """Yield a sentence for each difference between rows and entries.

    Rows and entries are read one after the other. A row that changes in between is compared again.
    """
    rows = bound_rows.compute_row_digests(kind, keys)
    entries = _entries(kind, keys)
    suspects = {key for key in rows if any(_faults(kind, key, rows[key], entries))}
    for _attempt in range(MAX_COMPARISONS):
        if not suspects:
            return
        before, rows, entries = (
            _entries(kind, suspects),
            bound_rows.compute_row_digests(kind, suspects),
            _entries(kind, suspects),
        )
        unchanged = {
            key for key in rows if len(before[kind.subject(key)]) == len(entries[kind.subject(key)])
        }
        for key in sorted(unchanged):
            yield from _faults(kind, key, rows[key], entries)
        suspects = rows.keys() - unchanged


def _entries(kind: BoundKind, keys: Collection[int]) -> Entries:
    found: Entries = {kind.subject(key): [] for key in keys}
    for entry in queries.list_entries_of_events(kind.events, list(found)):
        found[entry.subject].append(entry)
    return found


def _faults(kind: BoundKind, key: int, row: Digests, of: Entries) -> Iterator[str]:
    subject = kind.subject(key)
    entries = of[subject]
    if not entries:
        sentence = _("{subject} is in the database, but no entry records its creation.")
        yield sentence.format(subject=subject)
        return
    first = entries[0]
    if first.event not in {f"{kind.name}.{CREATED}", f"{kind.name}.{RECORDED}"}:
        sentence = _(
            "{subject} is in the database, but no entry before {seq} records its creation."
        )
        yield sentence.format(subject=subject, seq=f"{first.seq:,}")
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
        self._redacted: list[int] = []  # later entries whose changes are unknown

    def follow(self, entry: Recorded) -> Iterator[str]:
        if entry.is_redacted:
            self._redacted.append(entry.seq)
            return
        detail = entry.detail or {}
        for name in detail.get("changes", {}):
            self._named |= self._kind.stands_for.get(name, frozenset([name]))
        if ROW not in detail:
            return  # a later entry of the transaction has it, or an earlier release wrote it
        if self._row is not None:
            yield from self._find_unexplained(detail[ROW], before=entry.seq)
        self._row, self._seq = detail[ROW], entry.seq
        self._named, self._redacted = set(), []

    def compare(self, row: Digests) -> Iterator[str]:
        subject = self._kind.subject(self._key)
        if self._row is not None:
            yield from self._find_unexplained(row)
            if others := self._differing(row) & self._named:
                sentence = _(
                    "{subject}: {fields} cannot be checked: an earlier release changed this, and "
                    "its entries do not record the new value."
                )
                yield VerificationNotice(
                    sentence.format(subject=subject, fields=", ".join(sorted(others)))
                )
        elif self._redacted:
            sentence = _("{subject} cannot be checked: the detail of entry {entries} is redacted.")
            yield VerificationNotice(
                sentence.format(subject=subject, entries=self._redacted_entries())
            )
        else:
            sentence = _(
                "{subject} cannot be checked: its entries were written by an earlier release, "
                "which did not record the contents of rows."
            )
            yield VerificationNotice(sentence.format(subject=subject))

    def _find_unexplained(self, row: Digests, *, before: int | None = None) -> Iterator[str]:
        """Yield a sentence if fields changed since the last entry and no entry names them.

        `before` is the number of the entry that has these values; None for the row itself.
        """
        fields = self._differing(row) - self._named
        if not fields:
            return
        if self._redacted and before:
            sentence = _(
                "{subject}: {fields} cannot be checked before entry {before}: the detail of entry "
                "{entries} is redacted."
            )
        elif self._redacted:
            sentence = _(
                "{subject}: {fields} cannot be checked: the detail of entry {entries} is redacted."
            )
        elif before:
            sentence = _("{subject}: {fields} changed before entry {before} without an entry.")
        else:
            sentence = _(
                "{subject} is not as entry {seq} recorded it: {fields} changed without an entry."
            )
        text = sentence.format(
            subject=self._kind.subject(self._key),
            fields=", ".join(sorted(fields)),
            before=f"{before or 0:,}",
            seq=f"{self._seq:,}",
            entries=self._redacted_entries(),
        )
        yield VerificationNotice(text) if self._redacted else text

    def _differing(self, row: Digests) -> set[str]:
        """Return fields that differ. Fields that a later release removed are ignored."""
        if self._row is None:
            return set()
        new = bound_rows.compute_default_digests(
            self._kind, self._key, row.keys() - self._row.keys()
        )
        before = new | self._row
        return {name for name, digest in row.items() if before[name] != digest}

    def _redacted_entries(self) -> str:
        return ", ".join(f"{seq:,}" for seq in self._redacted)


def _find_missing_rows(kind: BoundKind) -> Iterator[str]:
    subjects = queries.iter_subjects_of_events(kind.events)
    while page := list(islice(subjects, ROWS_PER_PAGE)):
        keys = [int(subject.rpartition(":")[2]) for subject in page]
        there = set(kind.rows.filter(pk__in=keys).values_list("pk", flat=True))
        for key in sorted(set(keys) - there):
            entries = _entries(kind, [key])[kind.subject(key)]
            if entries[-1].event != f"{kind.name}.{DELETED}":
                sentence = _("{subject} is in the ledger, but its row is missing.")
                yield sentence.format(subject=kind.subject(key))
