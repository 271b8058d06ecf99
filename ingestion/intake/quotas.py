"""Limits the files that wait before they are submitted: open packets of programs, drafts of people.

These files are not registered, so admission control does not count them. Without quotas, one token
could upload more than the disk holds.
"""

from dataclasses import dataclass

from django.conf import settings
from django.db.models import Sum
from django.utils.translation import gettext as _

from ingestion.models import DraftFile, OpenPacket, Upload
from ingestion.storage import disk_space

MAX_PART_BYTES = 8 * 1024 * 1024  # of a file that is sent in several requests
BYTES_PER_MEGABYTE = 1_000_000
RETRY_SECONDS = 600  # when the disk is full, or when all uploads together fill their quota


class QuotaExceeded(Exception):
    """A quota is used up, and nothing was stored.

    The message is for people. `retry_after` is in seconds, or 0 if waiting does not help.
    """

    def __init__(self, message: str, retry_after: int = 0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class SpoolFull(QuotaExceeded):
    """The disk of the spool is full."""


@dataclass(frozen=True, slots=True)
class OpenUploads:
    """Counts the packets and bytes that one token or person has begun and not submitted."""

    count: int  # packets
    size: int  # bytes of the whole files, as they were declared


def check_quota(own: OpenUploads, *, in_all: int, more: int) -> None:
    """Raise QuotaExceeded if `more` bytes exceed the quota of their owner or of all together.

    `own` includes the packet that is about to begin or to grow. `in_all` are the bytes that wait
    for all owners.
    """
    if own.count > settings.OPEN_UPLOADS:
        raise QuotaExceeded(
            _(
                "You already have {count} unfinished uploads, which is the limit. Submit or remove "
                "one of them, and try again."
            ).format(count=settings.OPEN_UPLOADS)
        )
    if own.size + more > settings.OPEN_UPLOAD_MB * BYTES_PER_MEGABYTE:
        raise QuotaExceeded(
            _(
                "Your unfinished uploads would exceed {size} MB, which is the limit. Submit one of "
                "them or remove files, and try again."
            ).format(size=settings.OPEN_UPLOAD_MB)
        )
    if in_all + more > settings.OPEN_UPLOAD_MB_IN_ALL * BYTES_PER_MEGABYTE:
        raise QuotaExceeded(
            _(
                "There are too many unfinished uploads in SiteLedger. The files that you uploaded "
                "are saved. Try again later."
            ),
            RETRY_SECONDS,
        )


def check_free_space(more: int) -> None:
    """Raise SpoolFull unless the disk of the spool has room for `more` bytes and READY_FREE_MB."""
    if disk_space.get_free_bytes("SPOOL_DIR") - more < settings.READY_FREE_MB * BYTES_PER_MEGABYTE:
        raise SpoolFull(
            _(
                "The server has no space for more files. The operators have been notified. The "
                "files that you uploaded are saved. Try again later."
            ),
            RETRY_SECONDS,
        )


def count_draft_bytes(**which: object) -> int:
    """Return the bytes of all drafts, or of those that match the lookups (`draft__user=...`).

    An upload in progress counts with its whole length.
    """
    files = DraftFile.objects.filter(draft__packet=None, **which)
    unfinished = Upload.objects.filter(draft__isnull=False, draft__packet=None, file=None, **which)
    sums = (
        files.aggregate(sum=Sum("size"))["sum"],
        unfinished.aggregate(sum=Sum("length"))["sum"],
    )
    return sum(each or 0 for each in sums)


def count_packet_bytes() -> int:
    """Return the bytes of all files of all open packets, as declared."""
    return OpenPacket.objects.aggregate(sum=Sum("size"))["sum"] or 0


def count_waiting_bytes() -> int:
    """Return the bytes of all drafts and open packets."""
    return count_draft_bytes() + count_packet_bytes()
