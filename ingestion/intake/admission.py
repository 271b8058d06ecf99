"""What may come in: nothing that could never be worked, and no more than we can keep up with.

`refuse_what_can_never_be` says no for good, with the numbers. The ceiling says *not now*: it counts
what is unfinished, and shedding it at the door is kinder than a queue without end.

The count is exact although many submit at once: each counts under one lock, with its own rows in
place, and keeps the lock until it has committed. Counting first and inserting then, each on its
own, would let any number in at the last free place. Since rows are in place by then, a flood would
be expensive to refuse; so there is a look without the lock before any work is done.
"""

import math
from collections.abc import Collection
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.models import Document

ADVISORY_LOCK_KEY = (
    0x51_7E_1ED7  # any constant: PostgreSQL's advisory lock of whoever counts what is unfinished
)
MAX_RETRY_SECONDS = 600  # seconds that anybody is told to wait
RATE_WINDOW = timedelta(minutes=5)  # over which the rate of settling is taken


class AtCapacity(Exception):
    """More work is unfinished than is taken in at a time. Nothing was registered."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(
            "There is more unfinished work than is taken in at a time; nothing was registered. "
            f"Try again in {format_wait(retry_after)}."
        )
        self.retry_after = retry_after  # seconds


def format_wait(seconds: int) -> str:
    if seconds < 60:
        return "1 second" if seconds == 1 else f"{seconds} seconds"
    minutes = math.ceil(seconds / 60)
    return "1 minute" if minutes == 1 else f"{minutes} minutes"


def check_batch_size(sizes: Collection[int]) -> None:
    """`sizes`: documents of each site. Raises Refused; never registers a part."""
    documents = sum(sizes)
    chunks = sum(math.ceil(size / settings.CHUNK_SIZE) for size in sizes)
    if chunks > settings.MAX_CHUNKS:
        raise _refused(
            f"{documents} documents of {len(sizes)} sites make {chunks} chunks; at most "
            f"{settings.MAX_CHUNKS} are taken in one batch"
        )
    if documents > (ceiling := settings.MAX_UNFINISHED_DOCUMENTS) > 0:
        raise _refused(f"{documents} documents are more than the {ceiling} that may be unfinished")


def check_capacity(documents: int) -> None:
    """Is there room, as far as can be seen? Raises AtCapacity."""
    if ceiling := settings.MAX_UNFINISHED_DOCUMENTS:
        _refuse_beyond(ceiling, Document.objects.unsettled().count() + documents)


def enforce_capacity() -> None:
    """Is there room indeed? In the transaction that registers, after its rows. Raises AtCapacity.

    From here on everybody else who registers waits for our commit: call it last.
    """
    if ceiling := settings.MAX_UNFINISHED_DOCUMENTS:
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ADVISORY_LOCK_KEY])
        # SQLite: BEGIN IMMEDIATE is the lock.
        _refuse_beyond(ceiling, Document.objects.unsettled().count())


def _refuse_beyond(ceiling: int, unfinished: int) -> None:
    if unfinished > ceiling:
        raise AtCapacity(estimate_retry_seconds(unfinished - ceiling))


def estimate_retry_seconds(excess: int) -> int:
    """Seconds until so many documents are settled, at the rate of the last minutes: 1 to 600."""
    settled = Document.objects.filter(settled_at__gt=timezone.now() - RATE_WINDOW).count()
    if not settled:
        return MAX_RETRY_SECONDS
    return min(MAX_RETRY_SECONDS, max(1, math.ceil(excess * RATE_WINDOW.total_seconds() / settled)))


def _refused(message: str) -> SubmissionRefused:
    return SubmissionRefused(
        [SubmissionFault(0, "", f"{message}; split it and send the parts one after the other")]
    )
