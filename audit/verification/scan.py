"""One pass over entries, in their order: each against its hash, its row, its detail, its time.

And all of them against the signed heads that they come to. In memory that does not grow with the
trail.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from audit.ledger.chain import (  # fmt: skip
    GENESIS,
    REDACTED,
    BrokenChain,
    ChainBreak,
    Walk,
    check_in_parts,
    commitment,
    expect,
    expect_each,
)
from audit.ledger.merkle_tree import Frontier
from audit.ledger.tables import COLUMNS
from audit.models import Entry
from audit.verification.checkpoint_verification import CheckpointClaim, ClaimChecker

Row = tuple[Any, ...]  # number, line, hash, salt, detail, and the columns that copy the line
Progress = Callable[[int, int], object]  # entries read, and how many there are to read

MIN_SEQ = -(2**63)  # nothing is to stand before the first entry
ENTRIES_PER_PAGE = 1_000  # numbers that are asked for at a time
ENTRIES_PER_COMPARISON = (
    100  # that are looked at together; more than the processor's cache holds take longer
)
MAX_ENTRY_DELAY = timedelta(seconds=5)  # between what happened and its entry; longer is told

_COPIES = {name: field for name, field in COLUMNS.items() if name != "seq"}  # it is the number
_DIFFER = {f"the column '{name}' differs from the line": field for name, field in _COPIES.items()}


@dataclass(frozen=True, slots=True)
class ScanStart:
    """The entry after which a pass begins, its hash, and the tree as it was then."""

    seq: int = 0
    head: str = GENESIS
    tree: Frontier = field(default_factory=Frontier)


class Scan:
    """A pass from `start` to entry `end`, or to the last one. `problems()` does it."""

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
        self.times = Times()
        self.holds = start.seq, start.head  # the last entry up to which all does, and its hash
        self._signed = self.holds  # the same of what a signed head stands for
        self._walk = Walk(start.seq, start.head)
        self._heads = ClaimChecker(start.tree, claims)
        self._progress = progress

    def problems(self) -> Iterator[str]:
        """Read, and yield a sentence for what is wrong beside the entries. To be exhausted.

        Afterwards `first_bad` is the entry at which the chain breaks, if it does. Database errors
        pass through.
        """
        try:
            yield from self._read()
        except BrokenChain as error:
            self.first_bad = error.found
            if error.found.seq <= self.holds[0]:
                # A root that differs: the links hold, and only what was signed is proved.
                self.holds = self._signed
        except (AttributeError, TypeError, ValueError) as error:
            # SQLite stores anything in any column: a time that is none, a line that is no text.
            nonsense = "a column holds what cannot be read"
            self.first_bad = ChainBreak(self.holds[0] + 1, nonsense, "", str(error))

    def _read(self) -> Iterator[str]:
        last = _last() if self.end is None else self.end
        for chunk in _chunks(self.start.seq, last):
            for rows, _ in check_in_parts(self._look, chunk):
                yield from self._go(rows)
            self._progress(self.holds[0] - self.start.seq, last - self.start.seq)
        if self.end is not None:
            last = self.holds[0]
            expect(last + 1, "entries were removed", f"up to {self.end:,}", f"up to {last:,}")
        yield from self._heads.end()

    def _look(self, rows: Sequence[Row]) -> None:
        seqs, texts, hashes, salts, details, *columns = zip(*rows, strict=True)
        fields = self._walk.check(seqs, texts, hashes)
        for (why, name), copies in zip(_DIFFER.items(), columns, strict=True):
            expect_each(seqs, why, fields[name], copies)
        commits = fields["detail_commit"]
        for seq, commit, salt, detail in zip(seqs, commits, salts, details, strict=True):
            if commit or salt is not None:
                _check_detail(seq, commit, salt, detail)
        self.times.see(seqs, fields["recorded_at"], fields["occurred_at"])

    def _go(self, rows: Sequence[Row]) -> Iterator[str]:
        """The tree over entries that hold, and what is claimed of it on the way."""
        heads = self._heads
        while rows:
            more = heads.due - self.holds[0]
            part, rows = (rows[:more], rows[more:]) if more > 0 else (rows, [])
            heads.add([row[1] for row in part])
            seq, _, hash_ = part[-1][:3]
            if seq == heads.due:
                yield from heads.meet(hash_)
                self._signed = (seq, hash_) if heads.met == seq else self._signed
            self.holds = seq, hash_
        self._walk.advance(*self.holds)


@dataclass(slots=True)
class Times:
    """What the clocks say of the entries of one pass."""

    last: datetime | None = None
    late: int = 0
    first_late: int = 0
    back: int = 0
    first_back: int = 0
    farthest: timedelta = timedelta(0)

    def see(
        self, seqs: Sequence[int], recorded_at: Sequence[str], occurred_at: Sequence[str]
    ) -> None:
        """The times of lines, of one at least. Raises ValueError for one that is none."""
        recorded = list(map(datetime.fromisoformat, recorded_at))
        times = zip(seqs, [self.last or recorded[0], *recorded], recorded, strict=False)
        back = [(seq, last - now) for seq, last, now in times if now < last]
        occurred = zip(seqs, recorded, map(datetime.fromisoformat, occurred_at), strict=True)
        late = [seq for seq, now, then in occurred if now - then > MAX_ENTRY_DELAY]
        if late:
            self.late += len(late)
            self.first_late = self.first_late or late[0]
        if back:
            self.back += len(back)
            self.first_back = self.first_back or back[0][0]
            self.farthest = max(self.farthest, *(by for _, by in back))
        self.last = recorded[-1]

    def notices(self) -> Iterator[str]:
        """What is worth knowing, and breaks nothing (docs/adr/0029)."""
        if self.back:
            yield f"The database's clock was set back: {self._told_back()}."
        if self.late:
            yield (
                f"Entered more than {MAX_ENTRY_DELAY.seconds} seconds after it happened: "
                f"{_entries(self.late)}, the first of them {self.first_late:,}."
            )

    def _told_back(self) -> str:
        farthest = self.farthest.total_seconds()
        count = _entries(self.back)
        return f"{count}, the first of them {self.first_back:,}, by up to {farthest:,.3f} seconds"


def _entries(number: int) -> str:
    return f"{number:,} {'entry' if number == 1 else 'entries'}"


def _last() -> int:
    return Entry.objects.order_by("-seq").values_list("seq", flat=True).first() or 0


def _chunks(after: int, upto: int) -> Iterator[Sequence[Row]]:
    """Entries up to number `upto`, in their order.

    Page by page, without a transaction: entries are never changed, and new ones have higher
    numbers. Not by a cursor that PostgreSQL keeps: it would put all that it gives into a store
    first, which takes it longer than to find it.
    """
    found = after + 1 if after else _next(MIN_SEQ)
    while found is not None and found <= upto:
        last = min(found + ENTRIES_PER_PAGE - 1, upto)
        is_empty = True
        with connection.cursor() as cursor:
            cursor.execute(_statement(), [found, last, found, last])
            while chunk := cursor.fetchmany(ENTRIES_PER_COMPARISON):
                is_empty = False
                yield chunk
        found = _next(last + 1) if is_empty else last + 1


def _next(least: int) -> int | None:
    """The lowest number from there on. They have no gaps, unless somebody made one.

    Not asked for each page, and a page is asked for by both its ends, not with a limit: PostgreSQL
    without statistics (a trail that was just restored) may read all that is left for either.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(seq) FROM audit_entry WHERE seq >= %s", [least])
        number: int | None = cursor.fetchone()[0]
    return number


def _statement() -> str:
    written = _AS_WRITTEN[connection.vendor]
    copies = [written if name == "recorded_at" else name for name in _COPIES]
    return f"""SELECT seq, body, hash, salt, detail, {", ".join(copies)} FROM audit_entry
        LEFT JOIN audit_entrydetail ON entry_id = seq AND entry_id BETWEEN %s AND %s
        WHERE seq BETWEEN %s AND %s ORDER BY seq"""  # noqa: S608 - constants


# A time as lines have it. Made of a datetime here, it would be a third of the whole work.
_AS_WRITTEN = {
    # Django leaves out microseconds when there are none.
    "sqlite": """replace(recorded_at, ' ', 'T')
        || CASE length(recorded_at) WHEN 19 THEN '.000000Z' ELSE 'Z' END""",
    # With its era: the same day before Christ is another time.
    "postgresql": """replace(
        to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.USBC'), 'AD', 'Z')""",
}


def _check_detail(seq: int, commit: str, salt: str | None, detail: str | None) -> None:
    if salt is None or detail is None:
        if commit and not _was_taken_out(seq):
            expect(seq, "its detail is missing", commit, "")
    else:
        found = commitment(bytes.fromhex(salt), detail)
        expect(seq, "its detail was changed", commit, found)


def _was_taken_out(seq: int) -> bool:
    """On record: ICH E6(R3) 4.2.2(b) lets personal data go that was entered by mistake."""
    redactions = Entry.objects.filter(subject=f"entry:{seq}", event=REDACTED)
    return redactions.filter(seq__gt=seq).exists()
