"""The trail up to a signed checkpoint, read once from its first entry and checked on the way.

What leaves the house holds, or it does not leave: an entry, a detail or a root that differs ends
the export. The damage is shown by `verify_audit`, and the database is the evidence.
"""

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from audit.ledger.chain import (
    REDACTED,
    Walk,
    check_in_parts,
    commitment,
    expect,
    iter_fields,
)
from audit.ledger.keyset import iter_pages
from audit.ledger.merkle_tree import Frontier, hash_leaf
from audit.models import Checkpoint, Entry, Receipt
from audit.signing import signed_note

ENTRIES_PER_PAGE = 2_000  # entries in memory at a time
MAX_CHECKPOINTS = 100  # at most so many in a package, the newest: there is one for each busy minute
_COLUMNS = ("seq", "body", "hash", "detail__salt", "detail__detail")
_Row = tuple[int, str, str, str | None, str | None]

Progress = Callable[[int, int], None]  # entries done, and of how many


class ExportRefused(Exception):
    """There is nothing that could be exported so; the message says what to do."""


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """An entry that holds. `salt` (hex) and `detail` are empty where there is none any more."""

    text: str
    hash: str
    fields: dict[str, Any]
    salt: str
    detail: str

    @property
    def seq(self) -> int:
        return int(self.fields["seq"])


@dataclass(frozen=True, slots=True)
class PinnedCheckpoint:
    """The checkpoint that an export ends at, and those before it, by size."""

    size: int
    head: str
    root: str  # hex
    origin: str
    notes: dict[int, str]
    roots: dict[int, str]
    tokens: dict[int, bytes]  # RFC 3161


def pin_checkpoint(size: int | None = None) -> PinnedCheckpoint:
    """The checkpoint of this size, or the newest. Raises ExportRefused when there is none."""
    rows = Checkpoint.objects.order_by("-size")
    found = rows.first() if size is None else rows.filter(size=size).first()
    if found is None:
        which = "no checkpoint yet" if size is None else f"no checkpoint of {size} entries"
        raise ExportRefused(
            f"an export ends at a signed checkpoint, and there is {which}; "
            "`manage.py checkpoint` signs one"
        )
    kept = list(rows.filter(size__lte=found.size)[:MAX_CHECKPOINTS])
    stamps = Receipt.objects.filter(anchor="rfc3161", checkpoint__in=kept).order_by("-pk")
    return PinnedCheckpoint(
        size=found.size,
        head=found.head,
        root=found.root,
        origin=found.note.partition("\n")[0],
        notes={row.size: row.note for row in kept},
        roots={row.size: row.root for row in kept},
        tokens={stamp.checkpoint_id: base64.b64decode(stamp.proof) for stamp in stamps},
    )


def describe_signature(pin: PinnedCheckpoint, keys: str) -> str:
    """Who signed the checkpoint, in words. Raises ExportRefused when no published key did."""
    words = [word for word in keys.split() if word.count("+") >= 2]
    if not words:
        return "no key is published to compare it with"
    try:
        _, signers = signed_note.open_note(
            pin.notes[pin.size], [signed_note.Verifier.parse(w) for w in words]
        )
    except signed_note.BadNote as error:
        raise ExportRefused(f"the checkpoint of {pin.size} entries: {error}") from error
    return f"signed by {', '.join(f'{s.name}+{s.key_id.hex()}' for s in signers)}"


def read_lines(
    pin: PinnedCheckpoint, frontier: Frontier, progress: Progress
) -> Iterator[LedgerLine]:
    """Every entry up to the pin; its leaf is added to `frontier` before it is given out.

    Raises BrokenChain for an entry that does not hold and ExportRefused for a detail that was
    taken out after the pin.
    """
    walk, bare = Walk(), set[int]()
    entries = Entry.objects.filter(seq__lte=pin.size).values_list(*_COLUMNS)
    for page in iter_pages(entries, "seq", 0, ENTRIES_PER_PAGE):
        for line in _followed(walk, page, bare):
            frontier.add(hash_leaf(line.text))
            if (root := pin.roots.get(line.seq)) is not None:
                why = "the tree up to here has not the checkpoint's root"
                expect(line.seq, why, root, _root(frontier))
            yield line
        progress(walk.seq, pin.size)
    expect(
        walk.seq,
        "the entries after it are missing, of which a checkpoint tells",
        pin.size,
        walk.seq,
    )
    expect(walk.seq, "it is not the head that was signed", pin.head, walk.head)
    if bare:
        _refuse_bare(min(bare), pin.size)


def read_document_lines(site: str, doc_id: str, upto: int) -> Iterator[LedgerLine]:
    """The entries of one document, all its versions, up to entry `upto`.

    Each holds by itself; whether the chain between them does is not looked at. Raises BrokenChain.
    """
    entries = Entry.objects.filter(site=site, doc_id=doc_id, seq__lte=upto).order_by("seq")
    rows = entries.values_list("prev", *_COLUMNS)
    for prev, *row in rows.iterator(ENTRIES_PER_PAGE):
        yield from _followed(Walk(row[0] - 1, prev), [tuple(row)], set())


def _followed(walk: Walk, rows: Sequence[_Row], bare: set[int]) -> Iterator[LedgerLine]:
    """The next entries of the walk, all of which hold. Raises BrokenChain."""
    for part, found in check_in_parts(
        lambda some: walk.check(*list(zip(*some, strict=True))[:3]), rows
    ):
        for (_, text, hash_, salt, detail), fields in zip(part, iter_fields(found), strict=True):
            _check_detail(fields, salt, detail, bare)
            yield LedgerLine(text, hash_, fields, salt or "", detail or "")
        walk.advance(part[-1][0], part[-1][2])


def _root(frontier: Frontier) -> str:
    return frontier.root().hex()


def _check_detail(
    fields: dict[str, Any], salt: str | None, detail: str | None, bare: set[int]
) -> None:
    """A detail fits its line, or is missing: `bare` then, until the entry comes that says why."""
    seq, commit = fields["seq"], fields["detail_commit"]
    if salt is not None and detail is not None:
        found = commitment(bytes.fromhex(salt), detail)
        expect(seq, "its detail was changed", commit, found)
    elif commit:
        bare.add(seq)
    if fields["event"] == REDACTED:
        gone = int(fields["subject"].removeprefix("entry:"))
        expect(gone, f"its detail is there, which entry {seq} took out", True, gone in bare)
        bare.discard(gone)


def _refuse_bare(seq: int, size: int) -> None:
    later = Entry.objects.filter(subject=f"entry:{seq}", event=REDACTED, seq__gt=size).first()
    expect(seq, "its detail is missing, and no entry says why", True, later is not None)
    raise ExportRefused(
        f"the detail of entry {seq} was taken out after this checkpoint, by entry "
        f"{later.seq if later else 0}: sign a checkpoint that covers it, and export at that size"
    )
