"""Signs checkpoints, which state the Merkle root of the first `size` entries of the ledger.

A checkpoint is computed from the entries that were added since the last one, and holds no lock that
an append waits for. A process that dies while it signs leaves nothing, and the next one starts
again. If two hosts sign at once, the constraints of the table accept one checkpoint.

A checkpoint is due after the events in AUDIT_SIGN_AFTER, after AUDIT_CHECKPOINT_ENTRIES entries,
when the oldest unsigned entry is AUDIT_CHECKPOINT_SECONDS old, and when a host stops
(`audit.signing.checkpoint_scheduler`).
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from audit.ledger import merkle_tree, tables
from audit.ledger.append import flush_barrier
from audit.ledger.chain import (
    GENESIS,
    BrokenChain,
    ChainBreak,
    Walk,
    compute_digest,
)
from audit.ledger.keyset import iter_pages
from audit.models import Checkpoint, Entry
from audit.signing import keys, signed_note
from audit.signing.keys import KeyProblem

logger = logging.getLogger(__name__)

ENTRIES_PER_PAGE = 1_000  # entries in memory at a time
ENTRIES_PER_STEP = 100  # entries that are verified and hashed together


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint as a value that does not depend on the database."""

    size: int
    head: str
    root: str  # in hex
    note: str
    created_at: datetime


def get_latest_checkpoint() -> SignedCheckpoint | None:
    """Return the newest checkpoint, or None if there is none yet."""
    return _as_value(Checkpoint.objects.first())


def find_checkpoint_of_size(size: int) -> SignedCheckpoint | None:
    """Return the checkpoint of the first `size` entries, or None."""
    return _as_value(Checkpoint.objects.filter(pk=size).first())


def _as_value(row: Checkpoint | None) -> SignedCheckpoint | None:
    if row is None:
        return None
    return SignedCheckpoint(row.size, row.head, row.root, row.note, row.created_at)


def find_fault() -> str:
    """Return why nothing can be signed after the last checkpoint, or "".

    Reads the last signed entry only. It is no full verification.
    """
    if last := Checkpoint.objects.first():
        try:
            _expect_signed(last, _lines().filter(seq__gte=last.size).order_by("seq").first())
        except BrokenChain as error:
            return str(error)
    return ""


def count_unsigned() -> int:
    """Return the number of entries that no checkpoint covers."""
    entries, signed = _count_entries_and_signed()
    return max(0, entries - signed)


def sign_if_due() -> SignedCheckpoint | None:
    """Sign a checkpoint if one is due. Makes one query if no entry is new.

    Returns None if none is due. Raises what `sign_all` raises.
    """
    entries, signed = _count_entries_and_signed()
    return sign_all() if entries > signed and _is_due(entries, signed) else None


def _count_entries_and_signed() -> tuple[int, int]:
    """Return the number of the last entry and the size of the last checkpoint, in one query."""
    last_signed = Subquery(Checkpoint.objects.order_by("-size").values("size")[:1])
    sizes = Entry.objects.order_by("-seq").annotate(signed=last_signed).values_list("seq", "signed")
    entries, signed = sizes.first() or (0, 0)
    return entries, signed or 0


def _is_due(entries: int, signed: int) -> bool:
    if entries - signed >= settings.AUDIT_CHECKPOINT_ENTRIES:
        return True
    # Events are compared in Python, because PostgreSQL may scan the whole trail for them.
    new = Entry.objects.filter(seq__gt=signed).order_by("seq").values_list("recorded_at", "event")
    times, events = zip(*new[: settings.AUDIT_CHECKPOINT_ENTRIES], strict=True)
    longest = timedelta(seconds=settings.AUDIT_CHECKPOINT_SECONDS)
    return timezone.now() - times[0] >= longest or not set(events).isdisjoint(
        settings.AUDIT_SIGN_AFTER
    )


def sign_all() -> SignedCheckpoint | None:
    """Sign a checkpoint of all entries.

    Returns None if no entry is new, or if another host has signed them first. Raises KeyProblem
    without a key. Raises BrokenChain if the new entries do not follow from the last checkpoint.
    """
    with keys.hold_signing_key() as signer:
        return sign_with([signer])


def sign_if_key_exists() -> None:
    """Sign a checkpoint of all entries if this host has the key. Raises BrokenChain.

    If the key cannot be used, the reason is logged.
    """
    try:
        sign_all()
    except KeyProblem as problem:
        if os.path.lexists(keys.get_private_file()):
            logger.warning("the newest entries are not signed: %s", problem)


def sign_with(signers: Sequence[signed_note.Signer]) -> SignedCheckpoint | None:
    """Sign a checkpoint of all entries with these keys, as `sign_all` does with the current one."""
    walk, frontier = _read_new_entries(Checkpoint.objects.first())
    if frontier is None:
        return None
    # The signed entries have to survive a power cut that follows the anchoring.
    flush_barrier()
    root = frontier.root()
    note = signed_note.sign_note(
        signed_note.CheckpointText(signers[0].name, frontier.size, root).text, signers
    )
    signed = SignedCheckpoint(frontier.size, walk.head, root.hex(), note, timezone.now())
    return signed if _insert(signed, frontier.hex()) else None


def _read_new_entries(last: Checkpoint | None) -> tuple[Walk, merkle_tree.Frontier | None]:
    """Return the verified chain and its tree up to the last entry, or no tree if none is new."""
    size, head = (last.size, last.head) if last else (0, GENESIS)
    walk = Walk(size, head)
    frontier = (
        merkle_tree.Frontier.from_hex(size, last.frontier) if last else merkle_tree.Frontier()
    )
    entries = chain.from_iterable(iter_pages(_lines(), "seq", size - 1, ENTRIES_PER_PAGE))
    if last:
        _expect_signed(last, next(entries, None))
    while chunk := list(islice(entries, ENTRIES_PER_STEP)):
        for lines in walk.follow(chunk):
            frontier.extend(map(merkle_tree.hash_leaf, lines))
    return walk, (frontier if frontier.size > size else None)


def _lines() -> "QuerySet[Entry, tuple[int, str, str]]":
    return Entry.objects.values_list("seq", "body", "hash")


def _expect_signed(last: Checkpoint, entry: tuple[int, str, str] | None) -> None:
    """Raise BrokenChain unless this is the last signed entry, from which new entries follow."""
    if entry is None or entry[0] != last.size:
        why = ngettext(
            "{n} entry was signed, and it is missing",
            "{n} entries were signed, and the last of them is missing",
            last.size,
        ).format(n=last.size)
        raise BrokenChain(ChainBreak(last.size, why, last.head, ""))
    if (found := compute_digest(entry[1])) != last.head or entry[2] != last.head:
        why = _("it was signed with another content")
        raise BrokenChain(ChainBreak(last.size, why, last.head, found))


def _insert(signed: SignedCheckpoint, frontier: str) -> bool:
    """Insert a checkpoint. Returns False if another host has inserted one of these entries."""
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
