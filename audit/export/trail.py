"""Reads the trail up to a signed checkpoint, once, and checks each entry for an export.

Only a valid trail is exported: an entry, a detail or a root that differs ends the export.
`verify_audit` reports the damage, and the database is the evidence of it.
"""

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Min
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from audit.job_runs import ExplainedFailure
from audit.ledger.chain import (
    GENESIS,
    REDACTED,
    Walk,
    check_in_parts,
    compute_commitment,
    expect,
    iter_fields,
    write_time,
)
from audit.ledger.keyset import iter_pages
from audit.ledger.merkle_tree import Frontier, hash_leaf
from audit.models import Checkpoint, Entry, Receipt
from audit.signing import signed_note

ENTRIES_PER_PAGE = 2_000  # entries in memory at a time
MAX_CHECKPOINTS = 100  # in a package, the newest ones: each busy minute adds one
_COLUMNS = ("seq", "body", "hash", "detail__salt", "detail__detail")
_ROOT_DIFFERS = gettext_noop("the root of the tree up to this entry differs from the checkpoint")
_ENTRIES_MISSING = gettext_noop(
    "the entries after it are missing, although a checkpoint covers them"
)
_HEAD_DIFFERS = gettext_noop("its hash is not the head that was signed")
_DETAIL_CHANGED = gettext_noop("its detail was changed")
_DETAIL_MISSING = gettext_noop("its detail is missing, and no entry redacted it")
_DETAIL_EXISTS = gettext_noop("its detail exists, although entry {seq} redacted it")
_Row = tuple[int, str, str, str | None, str | None]

Progress = Callable[[int, int], None]  # entries read, and entries in total


class ExportRefused(ExplainedFailure):
    """The requested export cannot be made. The message says what to do."""


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """A valid entry. `salt` (hex) and `detail` are empty if it has no detail, or a redacted one."""

    text: str
    hash: str
    fields: dict[str, Any]
    salt: str
    detail: str

    @property
    def seq(self) -> int:
        """Return the number of the entry in the ledger, from 1."""
        return int(self.fields["seq"])


@dataclass(frozen=True, slots=True)
class PinnedCheckpoint:
    """The checkpoint at which an export ends, and the checkpoints before it, by size."""

    size: int
    head: str
    root: str  # hex
    origin: str
    notes: dict[int, str]
    roots: dict[int, str]
    tokens: dict[int, bytes]  # RFC 3161


def pin_checkpoint(size: int | None = None) -> PinnedCheckpoint:
    """Return the checkpoint of this size, or the newest. Raises ExportRefused if it is missing."""
    rows = Checkpoint.objects.order_by("-size")
    found = rows.first() if size is None else rows.filter(size=size).first()
    if found is None:
        if size is None:
            reason = _("An export ends at a signed checkpoint, and there is no checkpoint yet.")
        else:
            reason = ngettext(
                "An export ends at a signed checkpoint, and there is no checkpoint of {n} entry.",
                "An export ends at a signed checkpoint, and there is no checkpoint of {n} entries.",
                size,
            ).format(n=size)
        raise ExportRefused(f"{reason} {_('Run `manage.py checkpoint` to sign one.')}")
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
    """Return a phrase that states who signed the checkpoint, for the report.

    Raises ExportRefused if the checkpoint is not signed by a published key.
    """
    vkeys = [word for word in keys.split() if word.count("+") >= 2]
    if not vkeys:
        return _("its signature was not verified, because no key is published")
    try:
        _text, signers = signed_note.open_note(
            pin.notes[pin.size], [signed_note.Verifier.parse(vkey) for vkey in vkeys]
        )
    except signed_note.BadNote as error:
        reason = ngettext(
            "The checkpoint of {n} entry cannot be trusted: {error}.",
            "The checkpoint of {n} entries cannot be trusted: {error}.",
            pin.size,
        )
        raise ExportRefused(reason.format(n=pin.size, error=error)) from error
    names = ", ".join(f"{signer.name}+{signer.key_id.hex()}" for signer in signers)
    return _("signed by {keys}").format(keys=names)


def read_lines(
    pin: PinnedCheckpoint, frontier: Frontier, progress: Progress
) -> Iterator[LedgerLine]:
    """Yield every entry up to the pinned checkpoint, after adding its leaf to `frontier`.

    Raises BrokenChain if an entry is not valid, and ExportRefused if a detail was redacted after
    the pinned checkpoint.
    """
    walk, missing_details = Walk(), set[int]()
    entries = Entry.objects.filter(seq__lte=pin.size).values_list(*_COLUMNS)
    for page in iter_pages(entries, "seq", 0, ENTRIES_PER_PAGE):
        for line in _check_rows(walk, page, missing_details):
            frontier.add(hash_leaf(line.text))
            if (root := pin.roots.get(line.seq)) is not None:
                expect(line.seq, _ROOT_DIFFERS, root, frontier.root().hex())
            yield line
        progress(walk.seq, pin.size)
    expect(walk.seq, _ENTRIES_MISSING, pin.size, walk.seq)
    expect(walk.seq, _HEAD_DIFFERS, pin.head, walk.head)
    if missing_details:
        seq = min(missing_details)
        redactions = Entry.objects.filter(subject=f"entry:{seq}", event=REDACTED)
        later = redactions.filter(seq__gt=pin.size).first()
        expect(seq, _DETAIL_MISSING, True, later is not None)
        reason = _(
            "The detail of entry {seq} was redacted after this checkpoint, by entry {later}. Sign "
            "a checkpoint that covers it, and export at that size."
        )
        raise ExportRefused(reason.format(seq=seq, later=later.seq if later else 0))


def read_lines_since(since: datetime | None) -> Iterator[LedgerLine]:
    """Yield the entries that were recorded at `since` or later, without their details.

    The chain between them is checked, from the entry before the first one. Raises BrokenChain.
    """
    entries = Entry.objects.all()
    after, head = 0, GENESIS
    if since is not None:
        first = entries.filter(recorded_at__gte=since).aggregate(first=Min("seq"))["first"]
        if first is None:
            return
        before = entries.filter(seq=first - 1).values_list("seq", "hash").first()
        after, head = before or (0, GENESIS)
    walk, written = Walk(after, head), write_time(since) if since else ""
    rows = entries.values_list("seq", "body", "hash")
    for page in iter_pages(rows, "seq", after, ENTRIES_PER_PAGE):
        for part, found in check_in_parts(lambda some: walk.check(*zip(*some, strict=True)), page):
            for (_seq, text, hash_), fields in zip(part, iter_fields(found), strict=True):
                if fields["recorded_at"] >= written:
                    yield LedgerLine(text, hash_, fields, "", "")
            walk.advance(part[-1][0], part[-1][2])


def read_document_lines(site: str, doc_id: str, last_seq: int) -> Iterator[LedgerLine]:
    """Yield the entries of all versions of one document, up to entry `last_seq`.

    Each entry is checked by itself; the chain between them is not. Raises BrokenChain.
    """
    entries = Entry.objects.filter(site=site, doc_id=doc_id, seq__lte=last_seq).order_by("seq")
    rows = entries.values_list("prev", *_COLUMNS)
    for prev, *row in rows.iterator(ENTRIES_PER_PAGE):
        yield from _check_rows(Walk(row[0] - 1, prev), [tuple(row)], set())


def _check_rows(
    walk: Walk, rows: Sequence[_Row], missing_details: set[int]
) -> Iterator[LedgerLine]:
    """Check the next entries of the walk, and yield them. Raises BrokenChain."""
    for part, found in check_in_parts(
        lambda some: walk.check(*list(zip(*some, strict=True))[:3]), rows
    ):
        for (_seq, text, hash_, salt, detail), fields in zip(part, iter_fields(found), strict=True):
            _check_detail(fields, salt, detail, missing_details)
            yield LedgerLine(text, hash_, fields, salt or "", detail or "")
        walk.advance(part[-1][0], part[-1][2])


def _check_detail(
    fields: dict[str, Any], salt: str | None, detail: str | None, missing_details: set[int]
) -> None:
    """Check a detail against its line.

    A missing detail is added to `missing_details`, and removed by the entry that redacted it.
    """
    seq, commit = fields["seq"], fields["detail_commit"]
    if salt is not None and detail is not None:
        found = compute_commitment(bytes.fromhex(salt), detail)
        expect(seq, _DETAIL_CHANGED, commit, found)
    elif commit:
        missing_details.add(seq)
    if fields["event"] == REDACTED:
        redacted = int(fields["subject"].removeprefix("entry:"))
        expect(redacted, _DETAIL_EXISTS, True, redacted in missing_details, seq=seq)
        missing_details.discard(redacted)
