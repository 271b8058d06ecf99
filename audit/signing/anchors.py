"""Checkpoints in places outside the database, and which of them are there.

Only what is held elsewhere shows that the end of a ledger was cut off. Which of the places count
for that is judged when they are read back (`audit.verification.independence`), and never by
receipts. A place that cannot be reached stops nobody's work: it is tried again with growing waits,
and `unanchored()` says so until it answers. Receipts are part of the ledger; what is out of order
is not.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from audit.ledger import tables
from audit.models import AnchorOutage, Checkpoint, Receipt
from audit.signing.checkpoints import SignedCheckpoint
from audit.signing.places.folder import FolderAnchor
from audit.signing.places.port import Anchor, AnchorError
from audit.signing.places.rfc3161 import TimestampAnchor
from audit.signing.places.s3 import S3Anchor

FIRST_RETRY_WAIT = timedelta(seconds=5)  # and twice as long after each try that fails
MAX_RETRY_WAIT = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Unanchored:
    """What an anchor does not hold. `error` is "" when it was only just signed."""

    anchor: str
    checkpoints: int
    since: datetime  # when the oldest of them was signed
    tries: int
    error: str

    def __str__(self) -> str:
        since = f"{self.since:%Y-%m-%d %H:%M:%S} UTC"
        return f"{self.anchor}: {self.checkpoints} since {since}. {self.error}".rstrip()


def configured_anchors() -> list[Anchor]:
    """Those that the settings name. The file is always one of them."""
    found: list[Anchor] = [FolderAnchor(Path(settings.ANCHOR_DIR), _installation())]
    timeout = settings.ANCHOR_TIMEOUT_SECONDS
    if settings.ANCHOR_S3_BUCKET:
        found.append(
            S3Anchor(
                settings.ANCHOR_S3_BUCKET,
                settings.ANCHOR_S3_PREFIX,
                settings.ANCHOR_S3_ENDPOINT,
                settings.ANCHOR_S3_YEARS,
                timeout,
                settings.AUDIT_ORIGIN,
            )
        )
    if settings.ANCHOR_TSA:
        certificates = Path(settings.ANCHOR_TSA_CERTIFICATES)
        found.append(TimestampAnchor(settings.ANCHOR_TSA, certificates, timeout))
    return found


def _installation() -> list[Path]:
    """Return the paths whose owner could rewrite the ledger: data, archive, key and database."""
    own = [settings.DATA_DIR, settings.ARCHIVE_DIR, settings.AUDIT_KEY_FILE]
    if connection.vendor == "sqlite":
        own.append(connection.settings_dict["NAME"])
    return [Path(path) for path in own]


def is_anchoring_due() -> bool:
    """Whether a place lacks a checkpoint and may be asked again."""
    return any(_waiting(place).exists() for place in _to_be_asked())


def anchor_due() -> list[str]:
    """Anchor what waits, where it is time to. Answers what went wrong, in sentences."""
    return [error for place in _to_be_asked() if (error := _bring(place))]


def anchor_all() -> list[str]:
    """The same everywhere, whatever failed a moment ago."""
    return [error for place in configured_anchors() if (error := _bring(place))]


def anchor_checkpoint(signed: SignedCheckpoint) -> list[str]:
    """This very checkpoint, in every place. Answers what went wrong, in sentences."""
    holding = set(Receipt.objects.filter(checkpoint=signed.size).values_list("anchor", flat=True))
    lacking = [place for place in configured_anchors() if place.name not in holding]
    return [error for place in lacking if (error := _offer(place, signed.size, signed.note))]


def list_unanchored() -> list[Unanchored]:
    """For each anchor that lacks some: how many checkpoints, since when, and why."""
    outages = {outage.anchor: outage for outage in AnchorOutage.objects.all()}
    found = []
    for place in configured_anchors():
        waiting = _waiting(place)
        if oldest := waiting.first():
            outage = outages.get(place.name)
            tries, error = (outage.tries, outage.error) if outage else (0, "")
            found.append(Unanchored(place.name, waiting.count(), oldest.created_at, tries, error))
    return found


def _to_be_asked() -> list[Anchor]:
    resting = AnchorOutage.objects.filter(next_try_at__gt=timezone.now())
    names = set(resting.values_list("anchor", flat=True))
    return [place for place in configured_anchors() if place.name not in names]


def _waiting(place: Anchor) -> "QuerySet[Checkpoint]":
    return _beyond(_held(Receipt.objects.filter(anchor=place.name)))


def _held(receipts: "QuerySet[Receipt]") -> int:
    """The size of the largest checkpoint of these. It answers for all before it."""
    return receipts.aggregate(size=Max("checkpoint_id"))["size"] or 0


def _beyond(size: int) -> "QuerySet[Checkpoint]":
    return Checkpoint.objects.filter(size__gt=size).order_by("size")


def _bring(place: Anchor) -> str:
    """What waits for this place: all of it, or the newest. Answers the error, or ""."""
    waiting = _waiting(place)
    chosen = waiting if place.wants_all else waiting.reverse()[:1]
    for size, note in chosen.values_list("size", "note"):
        if error := _offer(place, size, note):
            return error
    return ""


def _offer(place: Anchor, size: int, note: str) -> str:
    origin = note.partition("\n")[0]
    try:
        taken = place.put(origin, size, note)
    except AnchorError as error:
        _failed(place.name, str(error))
        return str(error)
    # It is there. Whoever dies before the next line puts it again, which changes nothing.
    _enter((size, place.name, taken.place, taken.proof))
    AnchorOutage.objects.filter(anchor=place.name).delete()
    return ""


def _enter(receipt: tuple[int, str, str, str]) -> None:
    anchored_at = connection.ops.adapt_datetimefield_value(timezone.now())
    try:
        with transaction.atomic():
            tables.insert(tables.RECEIPT, [(*receipt, anchored_at)])
    except IntegrityError:
        if not Receipt.objects.filter(checkpoint=receipt[0], anchor=receipt[1]).exists():
            raise  # else another host was as quick


def _failed(anchor: str, error: str) -> None:
    now = timezone.now()
    outage = AnchorOutage.objects.filter(anchor=anchor).first()
    tries = outage.tries + 1 if outage else 1
    wait = min(MAX_RETRY_WAIT, FIRST_RETRY_WAIT * 2 ** min(tries - 1, 10))
    terms = {"tries": tries, "next_try_at": now + wait, "error": error}
    AnchorOutage.objects.update_or_create(
        anchor=anchor, defaults=terms, create_defaults={**terms, "since": now}
    )
