"""How much may wait before it is submitted: open packets of programs, and drafts of people.

Nothing of it is registered, so the ceiling of admission does not count it. Without these quotas one
token could declare, and fill, more than the disk holds.
"""

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Sum

from ingestion.models import DraftFile, OpenPacket, Upload
from ingestion.storage import disk_space

MAX_PART_BYTES = 8 * 1024 * 1024  # of a file that is sent in several requests
BYTES_PER_MEGABYTE = 1_000_000  # bytes
RETRY_SECONDS = 600  # while the disk is full, or others' uploads fill the quota of all


class QuotaExceeded(Exception):
    """Nothing was stored. The message says what to do; `retry_after` is in seconds, or 0."""

    def __init__(self, message: str, retry_after: int = 0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class SpoolFull(QuotaExceeded):
    """The disk on which uploads wait is full."""


@dataclass(frozen=True, slots=True)
class OpenUploads:
    """What one token or person has begun and not submitted."""

    count: int
    size: int  # bytes, of the whole files as they were declared


def check_quota(own: OpenUploads, *, in_all: int, more: int) -> None:
    """Raise OverQuota if `more` bytes are more than their owner, or all together, may leave open.

    `own`: with the upload that is about to begin or to grow. `in_all`: bytes that wait for
    everybody.
    """
    if own.count > settings.OPEN_UPLOADS:
        raise QuotaExceeded(
            f"There are {settings.OPEN_UPLOADS} unfinished uploads already, the most that one "
            "person or token may have. Submit one of them, or remove it, and try again."
        )
    if own.size + more > settings.OPEN_UPLOAD_MB * BYTES_PER_MEGABYTE:
        raise QuotaExceeded(
            f"Unfinished uploads would hold more than {settings.OPEN_UPLOAD_MB} MB, the most that "
            "one person or token may have. Submit one of them, or remove files, and try again."
        )
    if in_all + more > settings.OPEN_UPLOAD_MB_IN_ALL * BYTES_PER_MEGABYTE:
        raise QuotaExceeded(
            "There are too many unfinished uploads of other people at the moment. Try again "
            "later; what you have sent is kept.",
            RETRY_SECONDS,
        )


def check_free_space(more: int) -> None:
    """Raise NoRoom unless the spool's disk has room for `more` bytes beside READY_FREE_MB."""
    if disk_space.get_free_bytes("SPOOL_DIR") - more < settings.READY_FREE_MB * BYTES_PER_MEGABYTE:
        raise SpoolFull(
            "The server has no room for more files at the moment. The operators have been told. "
            "Try again later; what you have sent is kept.",
            RETRY_SECONDS,
        )


def count_draft_bytes(**which: object) -> int:
    """Return the bytes of all drafts, or of those that match `draft__...`.

    An upload that is coming in counts with its whole length from the beginning.
    """
    files = DraftFile.objects.filter(draft__packet=None, **which)
    coming = Upload.objects.filter(draft__isnull=False, draft__packet=None, file=None, **which)
    sums = (
        files.aggregate(sum=Sum("size"))["sum"],
        coming.aggregate(sum=Sum("length"))["sum"],
    )
    return sum(each or 0 for each in sums)


def count_packet_bytes() -> int:
    """Return the bytes of all files of all open packets, as declared."""
    return OpenPacket.objects.aggregate(sum=Sum("size"))["sum"] or 0


def count_waiting_bytes() -> int:
    """Return the bytes that wait for everybody."""
    return count_draft_bytes() + count_packet_bytes()
