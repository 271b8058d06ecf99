"""Signed heads of the ledger: the first `size` entries under one root, for keeping elsewhere.

A checkpoint is pure derivation: it reads the entries that came since the last one, and holds no
lock that an append waits for. Whoever dies on the way leaves nothing, and the next one does the
same again. Of two hosts that sign at once the guards let one through.

When: after the events in AUDIT_SIGN_AFTER, after AUDIT_CHECKPOINT_ENTRIES entries, when the oldest
unsigned entry is AUDIT_CHECKPOINT_SECONDS old, and when a host stops
(`audit.signing.checkpoint_scheduler`).
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet, Subquery
from django.utils import timezone

from audit.ledger import merkle_tree, tables
from audit.ledger.append import flush_barrier
from audit.ledger.chain import (
    GENESIS,
    BrokenChain,
    ChainBreak,
    Walk,
    digest,
)
from audit.ledger.keyset import iter_pages
from audit.models import Checkpoint, Entry
from audit.signing import keys, signed_note
from audit.signing.keys import KeyProblem

logger = logging.getLogger(__name__)

ENTRIES_PER_PAGE = 1_000  # entries in memory at a time
ENTRIES_PER_COMPARISON = 100  # that are looked at together


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint, as a plain value."""

    size: int
    head: str
    root: str  # in hex
    note: str
    created_at: datetime


def latest_checkpoint() -> SignedCheckpoint | None:
    """The newest checkpoint; None before the first."""
    checkpoint = Checkpoint.objects.first()
    return _plain(checkpoint) if checkpoint else None


def checkpoint_of_size(size: int) -> SignedCheckpoint | None:
    checkpoint = Checkpoint.objects.filter(pk=size).first()
    return _plain(checkpoint) if checkpoint else None


def _plain(row: Checkpoint) -> SignedCheckpoint:
    return SignedCheckpoint(row.size, row.head, row.root, row.note, row.created_at)


def find_fault() -> str:
    """Why nothing can be signed on top of the last checkpoint, or "". One look, no full check."""
    if last := Checkpoint.objects.first():
        try:
            _expect_signed(last, _lines().filter(seq__gte=last.size).order_by("seq").first())
        except BrokenChain as error:
            return str(error)
    return ""


def count_unsigned() -> int:
    """How many entries stand under no checkpoint."""
    entries, signed = _sizes()
    return max(0, entries - signed)


def sign_if_due() -> SignedCheckpoint | None:
    """Sign if it is time to: one look into two indexes when nothing is new. Raises as `sign`."""
    entries, signed = _sizes()
    return sign_all() if entries > signed and _is_due(entries, signed) else None


def _sizes() -> tuple[int, int]:
    """The last entry's number and the last checkpoint's size, in one query."""
    last_signed = Subquery(Checkpoint.objects.order_by("-size").values("size")[:1])
    sizes = Entry.objects.order_by("-seq").annotate(signed=last_signed).values_list("seq", "signed")
    entries, signed = sizes.first() or (0, 0)
    return entries, signed or 0


def _is_due(entries: int, signed: int) -> bool:
    if entries - signed >= settings.AUDIT_CHECKPOINT_ENTRIES:
        return True
    # Events are compared here: asked to, PostgreSQL may look through the whole trail for them.
    new = Entry.objects.filter(seq__gt=signed).order_by("seq").values_list("recorded_at", "event")
    times, events = zip(*new[: settings.AUDIT_CHECKPOINT_ENTRIES], strict=True)
    longest = timedelta(seconds=settings.AUDIT_CHECKPOINT_SECONDS)
    return timezone.now() - times[0] >= longest or not set(events).isdisjoint(
        settings.AUDIT_SIGN_AFTER
    )


def sign_all() -> SignedCheckpoint | None:
    """Sign all entries there are. None when none is new, or another host was first.

    Raises KeyProblem without a key, and BrokenChain when the new entries do not follow from what
    was signed last: that is not signed.
    """
    with keys.signing_key() as signer:
        return sign_with([signer])


def sign_if_key_exists() -> None:
    """Sign all entries there are; without the key, leave them. Raises BrokenChain."""
    try:
        sign_all()
    except KeyProblem:
        return


def sign_with(signers: Sequence[signed_note.Signer]) -> SignedCheckpoint | None:
    """The same with these keys, for when keys change."""
    walk, frontier = _grown(Checkpoint.objects.first())
    if frontier is None:
        return None
    # What the note says has to survive a power cut that comes a moment after it was anchored.
    flush_barrier()
    root = frontier.root()
    note = signed_note.sign_note(
        signed_note.CheckpointText(signers[0].name, frontier.size, root).text, signers
    )
    signed = SignedCheckpoint(frontier.size, walk.head, root.hex(), note, timezone.now())
    return signed if _insert(signed, frontier.hex()) else None


def _grown(last: Checkpoint | None) -> tuple[Walk, merkle_tree.Frontier | None]:
    """The chain and its tree up to the last entry; no tree when that is signed already."""
    size, head = (last.size, last.head) if last else (0, GENESIS)
    walk = Walk(size, head)
    frontier = (
        merkle_tree.Frontier.from_hex(size, last.frontier) if last else merkle_tree.Frontier()
    )
    entries = chain.from_iterable(iter_pages(_lines(), "seq", size - 1, ENTRIES_PER_PAGE))
    if last:
        _expect_signed(last, next(entries, None))
    while chunk := list(islice(entries, ENTRIES_PER_COMPARISON)):
        for lines in walk.follow(chunk):
            frontier.extend(map(merkle_tree.hash_leaf, lines))
    return walk, (frontier if frontier.size > size else None)


def _lines() -> "QuerySet[Entry, tuple[int, str, str]]":
    return Entry.objects.values_list("seq", "body", "hash")


def _expect_signed(last: Checkpoint, entry: tuple[int, str, str] | None) -> None:
    """The new entries have to grow from the very one that was signed last."""
    if entry is None or entry[0] != last.size:
        why = f"{last.size} entries were signed, and the last of them is gone"
        raise BrokenChain(ChainBreak(last.size, why, last.head, ""))
    if (found := digest(entry[1])) != last.head or entry[2] != last.head:
        why = "it was signed with another content"
        raise BrokenChain(ChainBreak(last.size, why, last.head, found))


def _insert(signed: SignedCheckpoint, frontier: str) -> bool:
    """Whether it was ours that came in. Raises IntegrityError when nobody else's did."""
    created_at = connection.ops.adapt_datetimefield_value(signed.created_at)
    row = (signed.size, signed.head, signed.root, frontier, signed.note, created_at)
    try:
        with transaction.atomic():
            tables.insert(tables.CHECKPOINT, [row])
    except IntegrityError:
        if not Checkpoint.objects.filter(size__gte=signed.size).exists():
            raise
        logger.info("another host signed %d entries first", signed.size)
        return False
    return True
