"""Reads entries in order, and checks each against its hash, its row, its detail and its time.

All entries are also compared with the signed checkpoints. Memory use does not grow with the trail.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from audit.ledger.chain import (  # fmt: skip
    GENESIS,
    REDACTED,
    BrokenChain,
    ChainBreak,
    Walk,
    check_in_parts,
    compute_commitment,
    expect,
    expect_each,
)
from audit.ledger.merkle_tree import Frontier
from audit.ledger.tables import COLUMNS
from audit.models import Entry
from audit.verification.checkpoint_verification import CheckpointClaim, ClaimChecker

Row = tuple[Any, ...]  # number, line, hash, salt, detail, and the columns that copy the line
Progress = Callable[[int, int], object]  # entries read, and how many there are to read

MIN_SEQ = -(2**63)  # finds rows before the first entry, too
ENTRIES_PER_PAGE = 1_000  # numbers that one query covers
ENTRIES_PER_COMPARISON = 100  # larger groups exceed the processor's cache
MAX_ENTRY_DELAY = timedelta(seconds=5)  # between an event and its entry; a longer one is reported

_COPIES = {name: field for name, field in COLUMNS.items() if name != "seq"}  # seq is the key
_COLUMN_DIFFERS = gettext_noop("the column '{column}' differs from the line")
_DETAIL_CHANGED = gettext_noop("its detail was changed")
_DETAIL_MISSING = gettext_noop("its detail is missing")
_ENTRIES_REMOVED = gettext_noop("entries were removed")


@dataclass(frozen=True, slots=True)
class ScanStart:
    """The entry after which a scan begins, its hash, and the tree at that entry."""

    seq: int = 0
    head: str = GENESIS
    tree: Frontier = field(default_factory=Frontier)


class Scan:
    """A scan from `start` to entry `end`, or to the last one. `problems()` runs it."""

    def __init__(
        self,
        start: ScanStart,
        claims: Iterable[CheckpointClaim],
        *,
        end: int | None = None,
        progress: Progress,
    ) -> None:
        self.start, self.end = start, end
        self.first_bad: ChainBreak | None = None
        self.times = EntryTimes()
        self.valid_to = (
            start.seq,
            start.head,
        )  # the last entry up to which all are valid, and its hash
        self._signed_to = self.valid_to  # the last entry that a signed checkpoint confirms
        self._walk = Walk(start.seq, start.head)
        self._claims = ClaimChecker(start.tree, claims)
        self._progress = progress

    def problems(self) -> Iterator[str]:
        """Read the entries, and yield a sentence for each problem outside of them.

        After the iteration, `first_bad` is the entry at which the chain breaks, if it does.
        Database errors are not caught.
        """
        try:
            if (last := self.end) is None:
                newest = Entry.objects.order_by("-seq").values_list("seq", flat=True).first()
                last = newest or 0
            for chunk in _chunks(self.start.seq, last):
                for rows, _result in check_in_parts(self._check_rows, chunk):
                    yield from self._compare_claims(rows)
                self._progress(self.valid_to[0] - self.start.seq, last - self.start.seq)
            if self.end is not None:
                last = self.valid_to[0]
                expected, found = (
                    _("up to {seq}").format(seq=f"{seq:,}") for seq in (self.end, last)
                )
                expect(last + 1, _ENTRIES_REMOVED, expected, found)
            yield from self._claims.finish()
        except BrokenChain as error:
            self.first_bad = error.found
            if error.found.seq <= self.valid_to[0]:
                # The root differs although the links are valid: only signed entries are proved.
                self.valid_to = self._signed_to
        except (AttributeError, TypeError, ValueError) as error:
            # SQLite stores any value in any column, such as a time that is not a time.
            why = _("a column has an invalid value")
            self.first_bad = ChainBreak(self.valid_to[0] + 1, why, "", str(error))

    def _check_rows(self, rows: Sequence[Row]) -> None:
        seqs, texts, hashes, salts, details, *columns = zip(*rows, strict=True)
        fields = self._walk.check(seqs, texts, hashes)
        for (column, field_name), copies in zip(_COPIES.items(), columns, strict=True):
            expect_each(seqs, _COLUMN_DIFFERS, fields[field_name], copies, column=column)
        commits = fields["detail_commit"]
        for seq, commit, salt, detail in zip(seqs, commits, salts, details, strict=True):
            if commit or salt is not None:
                _check_detail(seq, commit, salt, detail)
        self.times.add(seqs, fields["recorded_at"], fields["occurred_at"])

    def _compare_claims(self, rows: Sequence[Row]) -> Iterator[str]:
        """Add valid entries to the tree, and compare it with the claims of its sizes."""
        claims = self._claims
        while rows:
            more = claims.next_size - self.valid_to[0]
            part, rows = (rows[:more], rows[more:]) if more > 0 else (rows, [])
            claims.add([row[1] for row in part])
            seq, _line, hash_ = part[-1][:3]
            if seq == claims.next_size:
                yield from claims.compare(hash_)
                self._signed_to = (seq, hash_) if claims.verified_to == seq else self._signed_to
            self.valid_to = seq, hash_
        self._walk.advance(*self.valid_to)


@dataclass(slots=True)
class EntryTimes:
    """Counts entries of a scan that were recorded late or dated before their predecessor."""

    last: datetime | None = None
    delayed: int = 0
    first_delayed: int = 0  # number of the entry
    set_back: int = 0
    first_set_back: int = 0  # number of the entry
    largest_step: timedelta = timedelta(0)

    def add(
        self, seqs: Sequence[int], recorded_at: Sequence[str], occurred_at: Sequence[str]
    ) -> None:
        """Add the times of one or more lines. Raises ValueError for an invalid time."""
        recorded = list(map(datetime.fromisoformat, recorded_at))
        times = zip(seqs, [self.last or recorded[0], *recorded], recorded, strict=False)
        set_back = [(seq, last - now) for seq, last, now in times if now < last]
        occurred = zip(seqs, recorded, map(datetime.fromisoformat, occurred_at), strict=True)
        delayed = [seq for seq, now, then in occurred if now - then > MAX_ENTRY_DELAY]
        if delayed:
            self.delayed += len(delayed)
            self.first_delayed = self.first_delayed or delayed[0]
        if set_back:
            self.set_back += len(set_back)
            self.first_set_back = self.first_set_back or set_back[0][0]
            self.largest_step = max(self.largest_step, *(step for _seq, step in set_back))
        self.last = recorded[-1]

    def notices(self) -> Iterator[str]:
        """Yield notices, which are not faults (docs/adr/0029)."""
        if self.set_back:
            sentence = ngettext(
                "The database's clock was set back: entry {first} is dated {seconds} seconds "
                "before its predecessor.",
                "The database's clock was set back: {n} entries are dated before their "
                "predecessor, by up to {seconds} seconds. The first of them is entry {first}.",
                self.set_back,
            )
            yield sentence.format(
                n=f"{self.set_back:,}",
                first=f"{self.first_set_back:,}",
                seconds=f"{self.largest_step.total_seconds():,.3f}",
            )
        if self.delayed:
            sentence = ngettext(
                "Entry {first} was recorded more than {seconds} seconds after its event.",
                "{n} entries were recorded more than {seconds} seconds after their events. The "
                "first of them is entry {first}.",
                self.delayed,
            )
            yield sentence.format(
                n=f"{self.delayed:,}",
                first=f"{self.first_delayed:,}",
                seconds=MAX_ENTRY_DELAY.seconds,
            )


def _chunks(after: int, last_seq: int) -> Iterator[Sequence[Row]]:
    """Yield groups of entries after `after` and up to number `last_seq`, in order.

    Entries are read page by page, without a transaction: they are never changed, and new ones have
    higher numbers. A cursor on the server would make PostgreSQL materialise the complete result
    first, which takes longer than to find it.
    """
    written = _TIME_EXPRESSIONS[connection.vendor]
    copies = [written if name == "recorded_at" else name for name in _COPIES]
    statement = f"""SELECT seq, body, hash, salt, detail, {", ".join(copies)} FROM audit_entry
        LEFT JOIN audit_entrydetail ON entry_id = seq AND entry_id BETWEEN %s AND %s
        WHERE seq BETWEEN %s AND %s ORDER BY seq"""  # noqa: S608 - constants
    found = after + 1 if after else _next(MIN_SEQ)
    while found is not None and found <= last_seq:
        last = min(found + ENTRIES_PER_PAGE - 1, last_seq)
        is_empty = True
        with connection.cursor() as cursor:
            cursor.execute(statement, [found, last, found, last])
            while chunk := cursor.fetchmany(ENTRIES_PER_COMPARISON):
                is_empty = False
                yield chunk
        found = _next(last + 1) if is_empty else last + 1


def _next(least: int) -> int | None:
    """Return the lowest number from `least` on, None if there is none.

    Numbers have gaps only if entries were removed. This query does not run for each page, and a
    page is selected by its two ends and not with a limit: without statistics (of a trail that was
    just restored), PostgreSQL may read all remaining entries for either.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(seq) FROM audit_entry WHERE seq >= %s", [least])
        number: int | None = cursor.fetchone()[0]
    return number


# SQL for a time as lines have it. Formatting it in Python would take a third of the whole run.
_TIME_EXPRESSIONS = {
    # Django omits microseconds that are zero.
    "sqlite": """replace(recorded_at, ' ', 'T')
        || CASE length(recorded_at) WHEN 19 THEN '.000000Z' ELSE 'Z' END""",
    # The era is included, because the same day before Christ is another time.
    "postgresql": """replace(
        to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.USBC'), 'AD', 'Z')""",
}


def _check_detail(seq: int, commit: str, salt: str | None, detail: str | None) -> None:
    if salt is None or detail is None:
        # A later entry may have redacted it: ICH E6(R3) 4.2.2(b) permits the removal of personal
        # data that was entered by mistake.
        redactions = Entry.objects.filter(subject=f"entry:{seq}", event=REDACTED, seq__gt=seq)
        if commit and not redactions.exists():
            expect(seq, _DETAIL_MISSING, commit, "")
    else:
        found = compute_commitment(bytes.fromhex(salt), detail)
        expect(seq, _DETAIL_CHANGED, commit, found)
