"""Brings checkpoints to anchors, which are places outside of the database, and records receipts.

Only a checkpoint that is held elsewhere shows that the end of a ledger was cut off. Which anchors
count for that is decided when they are read back (`audit.verification.independence`), never by
receipts.

For each anchor that lacks checkpoints, a message of the outbox waits. Its handler brings them. An
anchor that cannot be reached stops no other work: its message is tried again with a growing backoff
and is never given up, and `list_unanchored()` returns the error in the meantime. A receipt is
written only after the anchor has the checkpoint. Receipts are part of the ledger; messages are not.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import ngettext

from audit import outbox
from audit.ledger import tables
from audit.models import Checkpoint, OutboxMessage, Receipt
from audit.outbox import Delivery, DeliveryFailed, DeliveryPolicy, MessageKind
from audit.signing.checkpoints import SignedCheckpoint
from audit.signing.places.folder import FolderAnchor
from audit.signing.places.port import Anchor, AnchorError, AnchorKind
from audit.signing.places.rfc3161 import TimestampAnchor
from audit.signing.places.s3 import S3Anchor


@dataclass(frozen=True, slots=True)
class Unanchored:
    """The checkpoints that an anchor lacks. `error` is "" if no attempt has failed."""

    anchor: str
    checkpoints: int
    since: datetime  # when the oldest of them was signed
    attempts: int
    error: str

    def __str__(self) -> str:
        sentence = ngettext(
            "The anchor {anchor} lacks {n} checkpoint since {time} UTC.",
            "The anchor {anchor} lacks {n} checkpoints since {time} UTC.",
            self.checkpoints,
        ).format(anchor=self.anchor, n=self.checkpoints, time=f"{self.since:%Y-%m-%d %H:%M:%S}")
        return f"{sentence} {self.error}".rstrip()


# To add a kind of anchor, write a class like these in `audit.signing.places` and add it here.
ANCHOR_KINDS: tuple[AnchorKind, ...] = (FolderAnchor, S3Anchor, TimestampAnchor)


def list_configured_anchors() -> list[Anchor]:
    """Return the anchors that the settings name. The folder is always one of them."""
    return [place for kind in ANCHOR_KINDS if (place := kind.from_settings())]


def is_anchoring_due() -> bool:
    """Return whether an anchor lacks a checkpoint and may be tried now."""
    lacking = [place.name for place in list_configured_anchors() if _waiting(place).exists()]
    now = timezone.now()
    # A backoff, or a process that brings them at this moment.
    is_busy = Q(state=OutboxMessage.State.CLAIMED, lease_until__gte=now)
    is_resting = Q(state=OutboxMessage.State.WAITING, due_at__gt=now)
    messages = OutboxMessage.objects.filter(is_busy | is_resting, kind=KIND.name)
    return bool(set(lacking).difference(messages.values_list("key", flat=True)))


def anchor_due() -> list[str]:
    """Bring checkpoints to the anchors that may be tried now. Returns errors, as sentences."""
    _post_messages()
    return outbox.deliver_due(KIND.name).errors


def anchor_all() -> list[str]:
    """Bring checkpoints to all anchors, whatever failed before. Returns errors, as sentences."""
    _post_messages()
    errors = outbox.deliver_due(KIND.name, is_requested=True).errors
    # The process that holds a claim may be dead. To put a checkpoint twice changes nothing.
    claimed = OutboxMessage.objects.filter(kind=KIND.name, state=OutboxMessage.State.CLAIMED)
    names = set(claimed.values_list("key", flat=True))
    for place in list_configured_anchors():
        if place.name in names and (error := _bring(place)):
            errors.append(error)
    return errors


def anchor_checkpoint(signed: SignedCheckpoint) -> list[str]:
    """Bring this checkpoint to every anchor that lacks it. Returns errors, as sentences."""
    holding = set(Receipt.objects.filter(checkpoint=signed.size).values_list("anchor", flat=True))
    lacking = [place for place in list_configured_anchors() if place.name not in holding]
    return [error for place in lacking if (error := _put(place, signed.size, signed.note))]


def list_unanchored() -> list[Unanchored]:
    """Return how many checkpoints each anchor lacks, since when, and why."""
    messages = {row.key: row for row in OutboxMessage.objects.filter(kind=KIND.name)}
    found = []
    for place in list_configured_anchors():
        waiting = _waiting(place)
        if oldest := waiting.first():
            message = messages.get(place.name)
            attempts, error = (message.attempts, message.error) if message else (0, "")
            found.append(
                Unanchored(place.name, waiting.count(), oldest.created_at, attempts, error)
            )
    return found


def _post_messages() -> None:
    for place in list_configured_anchors():
        if _waiting(place).exists():
            outbox.post(KIND.name, {"anchor": place.name}, key=place.name)


def _deliver(delivery: Delivery) -> None:
    """Bring checkpoints to the anchor of a message, if it is still configured."""
    for place in list_configured_anchors():
        if place.name == delivery.payload["anchor"] and (error := _bring(place, delivery)):
            raise DeliveryFailed(error)


KIND = MessageKind(
    "anchor",
    _deliver,
    DeliveryPolicy(initial_wait=timedelta(seconds=5), max_wait=timedelta(minutes=15)),
    shares_claimed=True,
    is_delivered_each_minute=False,  # by the thread that signs checkpoints
)


def _waiting(place: Anchor) -> "QuerySet[Checkpoint]":
    """Return the checkpoints after the largest one that the anchor has, which implies all before.

    The oldest comes first.
    """
    held = Receipt.objects.filter(anchor=place.name).aggregate(size=Max("checkpoint_id"))["size"]
    return Checkpoint.objects.filter(size__gt=held or 0).order_by("size")


def _bring(place: Anchor, delivery: Delivery | None = None) -> str:
    """Put all waiting checkpoints, or the newest one, as the anchor wants. Returns an error or "".

    The lease of `delivery` is extended before each.
    """
    waiting = _waiting(place)
    chosen = waiting if place.wants_all else waiting.reverse()[:1]
    for size, note in chosen.values_list("size", "note"):
        if delivery:
            delivery.extend()
        if error := _put(place, size, note):
            return error
    return ""


def _put(place: Anchor, size: int, note: str) -> str:
    """Put one checkpoint and record its receipt. Returns an error, or ""."""
    try:
        taken = place.put(note.partition("\n")[0], size, note)
    except AnchorError as error:
        return str(error)
    # If this process dies here, the next one puts the checkpoint again, which changes nothing.
    _record_receipt((size, place.name, taken.place, taken.proof))
    return ""


def _record_receipt(receipt: tuple[int, str, str, str]) -> None:
    """Insert a receipt, unless another host has inserted it."""
    anchored_at = connection.ops.adapt_datetimefield_value(timezone.now())
    try:
        with transaction.atomic():
            tables.insert(tables.RECEIPT, [(*receipt, anchored_at)])
    except IntegrityError:
        if not Receipt.objects.filter(checkpoint=receipt[0], anchor=receipt[1]).exists():
            raise
