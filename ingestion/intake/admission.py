"""Decides whether a new submission is accepted (admission control).

A batch that is too large is refused for good (`check_batch_size`). If MAX_UNFINISHED_DOCUMENTS are
unfinished, a submission is refused with a time to try again, because a queue that only grows would
help nobody (`check_capacity`, `enforce_capacity`).

The count is exact although many clients submit at once: each transaction inserts its rows, counts
under one lock, and keeps the lock until it commits. If each counted first and inserted then, any
number of them could take the last place. Refusing a submission whose rows are inserted is
expensive, so `check_capacity` counts without the lock before any work is done.
"""

import logging
import math
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.models import Document
from sites.models import Site

logger = logging.getLogger(__name__)

ADVISORY_LOCK_KEY = 0x51_7E_1ED7  # any constant: identifies PostgreSQL's lock for this count
MAX_RETRY_SECONDS = 600  # the longest wait that a refusal asks for
RATE_WINDOW = timedelta(minutes=5)  # the rate of settled documents is measured over this time


class AtCapacity(Exception):
    """Too many documents are unfinished, and nothing was registered."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(
            gettext(
                "SiteLedger is processing too many documents. Nothing was registered. Try again in "
                "{wait}."
            ).format(wait=format_wait(retry_after))
        )
        self.retry_after = retry_after  # seconds


def format_wait(seconds: int) -> str:
    """Return the time in words, in seconds or in minutes rounded up."""
    if seconds < 60:
        return ngettext("{n} second", "{n} seconds", seconds).format(n=seconds)
    minutes = math.ceil(seconds / 60)
    return ngettext("{n} minute", "{n} minutes", minutes).format(n=minutes)


def check_batch_size(sites: Sequence[str]) -> None:
    """Raise SubmissionRefused if a batch is too large.

    `sites` has the number of the site of each document.
    """
    documents, sizes = len(sites), Counter(sites)
    chunks = sum(math.ceil(size / settings.CHUNK_SIZE) for size in sizes.values())
    if chunks > settings.MAX_CHUNKS:
        message = (
            f"These {documents} documents of {len(sizes)} sites make {chunks} chunks. A batch may "
            f"have at most {settings.MAX_CHUNKS}."
        )
    elif documents > (limit := settings.MAX_UNFINISHED_DOCUMENTS) > 0:
        message = f"These {documents} documents are more than the {limit} that may be unfinished."
    else:
        return
    facts = {"code": "BATCH_TOO_LARGE", **_describe_sites(sites)}
    logger.warning("admission.refused", extra=facts)
    raise SubmissionRefused(
        [SubmissionFault(0, "", f"{message} Divide the batch, and send one part after the other.")]
    )


def check_capacity(documents: int) -> None:
    """Raise AtCapacity if so many more documents would exceed the limit now.

    It takes no lock, so another submission may still use the capacity first.
    """
    if limit := settings.MAX_UNFINISHED_DOCUMENTS:
        _refuse_above(limit, Document.objects.unsettled().count() + documents)


def enforce_capacity() -> None:
    """Raise AtCapacity if the rows of this transaction exceed the limit.

    Call it at the end of the transaction that registers a submission: from here on, all other
    submissions wait for its commit.
    """
    if limit := settings.MAX_UNFINISHED_DOCUMENTS:
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ADVISORY_LOCK_KEY])
        # With SQLite, BEGIN IMMEDIATE has locked the database.
        _refuse_above(limit, Document.objects.unsettled().count())


def _refuse_above(limit: int, unfinished: int) -> None:
    if unfinished > limit:
        raise AtCapacity(estimate_retry_seconds(unfinished - limit))


def log_refusal(refusal: AtCapacity, sites: Collection[str]) -> None:
    """Log that a submission was refused. One that is admitted is logged as `batch.submitted`.

    `sites` are the numbers of its sites.
    """
    facts = {"code": "AT_CAPACITY", "ms": refusal.retry_after * 1000, **_describe_sites(sites)}
    logger.warning("admission.refused", extra=facts)


def _describe_sites(sites: Collection[str]) -> dict[str, str]:
    """Return the site and the study of a submission for the log, if it has only one of them."""
    numbers = set(sites)
    rows = Site.objects.filter(site_id__in=numbers).values_list("study__protocol_number", flat=True)
    studies = list(rows.distinct()[:2])
    facts = {"site": numbers.pop()} if len(numbers) == 1 else {}
    return facts | ({"study": studies[0]} if len(studies) == 1 else {})


def estimate_retry_seconds(excess: int) -> int:
    """Return the seconds until so many documents are settled, at the rate of RATE_WINDOW.

    The result is from 1 to MAX_RETRY_SECONDS.
    """
    settled = Document.objects.filter(settled_at__gt=timezone.now() - RATE_WINDOW).count()
    if not settled:
        return MAX_RETRY_SECONDS
    return min(MAX_RETRY_SECONDS, max(1, math.ceil(excess * RATE_WINDOW.total_seconds() / settled)))
