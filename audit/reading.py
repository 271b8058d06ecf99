"""One pass over entries, in their order: each against its hash, its row, its detail, its time.

And all of them against the signed heads that they come to. In memory that does not grow with the
trail.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from operator import itemgetter
from typing import Any

from django.db import connection, transaction
from django.db.models import Func, TextField

from audit.chain import (
    GENESIS,
    Break,
    BrokenChain,
    Walk,
    commitment,
    expect,
    expect_each,
    in_parts,
)  # fmt: skip
from audit.heads import Claim, Heads
from audit.models import Entry
from audit.rows import COLUMNS
from audit.tree import Frontier

Row = tuple[Any, ...]  # number, line, hash, salt, detail, and the columns that copy the line
Progress = Callable[[int, int], object]  # entries read, and how many there are to read

CHUNK = 250  # entries in memory at a time; more than the processor's cache holds take longer
LATE = timedelta(seconds=5)  # between what happened and its entry; longer is told
CLOCK_STEP = timedelta(seconds=2)  # by which a clock may be set back

_COPIES = {name: field for name, field in COLUMNS.items() if name != "seq"}  # it is the number
_copied = itemgetter(*_COPIES.values())
_own = itemgetter("detail_commit", "recorded_at", "occurred_at")
_DIFFER = [f"the column '{name}' differs from the line" for name in _COPIES]


@dataclass(frozen=True, slots=True)
class Start:
    """The entry after which a pass begins, its hash, and the tree as it was then."""

    seq: int = 0
    head: str = GENESIS
    tree: Frontier = field(default_factory=Frontier)


class Reading:
    """A pass from `start` to entry `end`, or to the last one. `problems()` does it."""

    def __init__(
        self, start: Start, claims: Iterable[Claim], *, end: int | None = None, progress: Progress
    ) -> None:
        self.start, self.end = start, end
        self.first_bad: Break | None = None
        self.times = Times()
        self.holds = start.seq, start.head  # the last entry up to which all does, and its hash
        self._signed = self.holds  # the same of what a signed head stands for
        self._walk = Walk(start.seq, start.head)
        self._heads = Heads(start.tree, claims)
        self._progress = progress

    def problems(self) -> Iterator[str]:
        """Read, and yield a sentence for what is wrong beside the entries. To be exhausted.

        Afterwards `first_bad` is the entry at which the chain breaks, if it does. Database errors
        pass through.
        """
        try:
            with _streaming():
                yield from self._read()
        except BrokenChain as error:
            self.first_bad = error.found
            if error.found.seq <= self.holds[0]:
                # A root that differs: the links hold, and only what was signed is proved.
                self.holds = self._signed
        except (AttributeError, TypeError, ValueError) as error:
            # SQLite stores anything in any column: a time that is none, a line that is no text.
            nonsense = "a column holds what cannot be read"
            self.first_bad = Break(self.holds[0] + 1, nonsense, "", str(error))

    def _read(self) -> Iterator[str]:
        total = (self.end or _last()) - self.start.seq
        for chunk in _chunks(self.start.seq, self.end):
            for rows, _ in in_parts(self._look, chunk):
                yield from self._go(rows)
            self._progress(self.holds[0] - self.start.seq, total)
        if self.end is not None:
            last = self.holds[0]
            expect(last + 1, "entries were removed", f"up to {self.end:,}", f"up to {last:,}")
        yield from self._heads.end()
        yield from self.times.problems()

    def _look(self, rows: Sequence[Row]) -> None:
        seqs, texts, hashes, salts, details, *columns = zip(*rows, strict=True)
        fields = self._walk.look(seqs, texts, hashes)
        for each in zip(_DIFFER, zip(*map(_copied, fields), strict=True), columns, strict=True):
            expect_each(seqs, *each)
        commits, recorded_at, occurred_at = zip(*map(_own, fields), strict=True)
        for seq, commit, salt, detail in zip(seqs, commits, salts, details, strict=True):
            if commit or salt is not None:
                _check_detail(seq, commit, salt, detail)
        self.times.see(seqs, recorded_at, occurred_at)

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
        self._walk.go(*self.holds)


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
        late = [seq for seq, now, then in occurred if now - then > LATE]
        if late:
            self.late += len(late)
            self.first_late = self.first_late or late[0]
        if back:
            self.back += len(back)
            self.first_back = self.first_back or back[0][0]
            self.farthest = max(self.farthest, *(by for _, by in back))
        self.last = recorded[-1]

    def problems(self) -> Iterator[str]:
        """Entries that are dated back: nobody's clock is set back by so much."""
        if self.farthest > CLOCK_STEP:
            yield f"Dated before the entry before it: {self._told_back()}."

    def notices(self) -> Iterator[str]:
        """What is worth knowing, and breaks nothing."""
        if timedelta(0) < self.farthest <= CLOCK_STEP:
            yield f"The database's clock was set back: {self._told_back()}."
        if self.late:
            yield (
                f"Entered more than {LATE.seconds} seconds after it happened: "
                f"{_entries(self.late)}, the first of them {self.first_late:,}."
            )

    def _told_back(self) -> str:
        farthest = self.farthest.total_seconds()
        count = _entries(self.back)
        return f"{count}, the first of them {self.first_back:,}, by up to {farthest:,.3f} seconds"


def _entries(number: int) -> str:
    return f"{number:,} {'entry' if number == 1 else 'entries'}"


def _streaming() -> AbstractContextManager[Any]:
    # Outside a transaction PostgreSQL copies the whole result into a temporary file first; on
    # SQLite a transaction would keep all writers out, and none is needed to stream.
    return transaction.atomic() if connection.vendor == "postgresql" else nullcontext()


def _last() -> int:
    return Entry.objects.order_by("-seq").values_list("seq", flat=True).first() or 0


def _chunks(after: int, upto: int | None) -> Iterator[list[Row]]:
    # One statement, hence one snapshot: what is appended meanwhile is not seen in half.
    copies = [_Written(name) if name == "recorded_at" else name for name in _COPIES]
    columns = ("seq", "body", "hash", "detail__salt", "detail__detail", *copies)
    entries = Entry.objects.filter(seq__gt=after) if after else Entry.objects.all()
    entries = entries if upto is None else entries.filter(seq__lte=upto)
    rows = entries.order_by("seq").values_list(*columns).iterator(CHUNK)
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


class _Written(Func):
    """A time as lines have it. Made of a datetime here, it would be a third of the whole work."""

    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # Django leaves out microseconds when there are none.
        fraction = "CASE length(%(expressions)s) WHEN 19 THEN '.000000Z' ELSE 'Z' END"
        template = f"replace(%(expressions)s, ' ', 'T') || {fraction}"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # With its era: the same day before Christ is another time.
        form = """'YYYY-MM-DD"T"HH24:MI:SS.USBC'"""
        time = f"to_char(%(expressions)s AT TIME ZONE 'UTC', {form})"
        template = f"replace({time}, 'AD', 'Z')"
        return self.as_sql(compiler, connection, template=template, **context)


def _check_detail(seq: int, commit: str, salt: str | None, detail: str | None) -> None:
    if salt is None or detail is None:
        if commit and not _was_taken_out(seq):
            expect(seq, "its detail is missing", commit, "")
    else:
        found = commitment(bytes.fromhex(salt), detail)
        expect(seq, "its detail was changed", commit, found)


def _was_taken_out(seq: int) -> bool:
    """On record: ICH E6(R3) 4.2.2(b) lets personal data go that was entered by mistake."""
    redactions = Entry.objects.filter(subject=f"entry:{seq}", event="ledger.detail_redacted")
    return redactions.filter(seq__gt=seq).exists()
