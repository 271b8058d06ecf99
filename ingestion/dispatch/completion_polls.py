"""Polls the completion of batches, so that none stays unfinished for ever.

A batch ends with its last document. Polls find batches that do not end, because no shift had room
for them or because the process that should have ended them died. `core.completion` decides the
outcome of a poll. A site has the same deadline as a batch: while other sites move, the documents of
one that does not are held.

Every host polls every batch, and keeps the state of its polls in memory, so a poll only reads
(docs/adr/0054). A host that has just started resumes from the time of the last progress, which the
rows of documents and chunks show. If several hosts act on the same outcome, the locks of the rows
let one of them do it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db.models import Count, Max, Q

from audit.ledger.log import ledger
from ingestion.core.completion import (
    BatchCounts,
    PollOutcome,
    PollState,
    StallLimit,
    decide_next_poll,
    poll_delay_seconds,
)
from ingestion.core.states import UNSETTLED_STATES, ChunkState, DocumentState
from ingestion.dispatch.clock import read_database_time
from ingestion.documents import batches
from ingestion.documents.stuck_sites import find_stuck_sites
from ingestion.models import Batch, Chunk

MAX_BATCHES_PER_POLL = 20
MIN_POLL_DELAY_SECONDS = 1.0
LIST_SECONDS = 30.0  # between two searches for batches to poll
# Codes of documents that were held without having been processed.
GIVEN_UP_CODES = ("CAPACITY", "PORTAL_UNAVAILABLE")


@dataclass(slots=True)
class _PolledBatch:
    """Holds what this host knows about a batch from its last poll."""

    next_poll_at: datetime
    state: PollState | None = None  # None before the first poll
    queued_at: datetime | None = None  # when documents of it were last queued


class CompletionPolls:
    """Polls the batches of an installation. Each worker host has one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._list_at = float("-inf")
        self._batches: dict[int, _PolledBatch] = {}  # by primary key

    def poll_due_batches(self, now: datetime | None = None) -> int:
        """Poll the batches that are due, at most MAX_BATCHES_PER_POLL. Returns how many were."""
        now = now or read_database_time()
        if self._clock() >= self._list_at:
            self._list_at = self._clock() + LIST_SECONDS
            self._list_batches()
        due = [key for key, polled in self._batches.items() if polled.next_poll_at <= now]
        due.sort(key=lambda key: self._batches[key].next_poll_at)
        for batch in Batch.objects.filter(pk__in=due[:MAX_BATCHES_PER_POLL]):
            self._poll(batch, self._batches[batch.pk], now)
        return min(len(due), MAX_BATCHES_PER_POLL)

    def _list_batches(self) -> None:
        """Find the batches that are open or have chunks to be done, and forget all others."""
        created = dict(Batch.objects.open().values_list("pk", "created_at"))
        # Documents of a batch that has ended may be queued again.
        chunks = Chunk.objects.exclude(state=ChunkState.DONE).exclude(
            batch__in=Batch.objects.open()
        )
        created |= dict(chunks.order_by().values_list("batch", "batch__created_at").distinct())
        first = timedelta(seconds=poll_delay_seconds(0))
        self._batches = {
            key: self._batches.get(key) or _PolledBatch(at + first) for key, at in created.items()
        }

    def _poll(self, batch: Batch, polled: _PolledBatch, now: datetime) -> None:
        counts, queued_at, progress_at = _count(batch)
        limit = StallLimit(settings.DISPATCH_DEADLINE_SECONDS)
        if polled.state is None or polled.queued_at != queued_at:
            idle_seconds = (now - progress_at).total_seconds()
            polled.state = PollState.resume(counts, idle_seconds, limit)
        decision = decide_next_poll(counts, polled.state, limit)
        # The state is kept before the outcome is acted on, which may fail and is then repeated.
        delay = max(MIN_POLL_DELAY_SECONDS, decision.delay_seconds)
        polled.state, polled.queued_at = decision.state, queued_at
        polled.next_poll_at = now + timedelta(seconds=delay)
        if decision.outcome is PollOutcome.ALL_PROCESSED:
            with ledger():
                batches.end_if_settled(batch.pk)
            del self._batches[batch.pk]
        elif decision.outcome is PollOutcome.RETRIES_EXHAUSTED:
            batches.skip_if_moved(batches.hold_unfinished, batch.pk)
        elif decision.outcome is PollOutcome.PROGRESS_MADE:
            _end_waiting_of_stuck_sites(batch, now)


def _count(batch: Batch) -> tuple[BatchCounts, datetime, datetime]:
    """Return the counts, when documents were last queued, and the time of the last progress."""
    is_given_up = Q(state=DocumentState.HELD, code__in=GIVEN_UP_CODES)
    is_unfinished = Q(state__in=UNSETTLED_STATES)
    found = batch.documents.aggregate(
        unfinished=Count("pk", filter=is_unfinished),
        finished=Count("pk", filter=~is_unfinished & ~is_given_up),
        settled_at=Max("settled_at", filter=~is_given_up),
    )
    chunks = batch.chunks.aggregate(queued_at=Max("created_at"))
    queued_at = chunks["queued_at"] or batch.created_at
    counts = BatchCounts(found["unfinished"], found["finished"])
    return counts, queued_at, max(queued_at, found["settled_at"] or queued_at)


def _end_waiting_of_stuck_sites(batch: Batch, now: datetime) -> None:
    """Hold what waits of sites that made no progress until the deadline, while others moved.

    Without progress of any site, the poll itself leads to the deadline of the whole batch.
    """
    for stuck in find_stuck_sites(now, batch=batch, seconds=settings.DISPATCH_DEADLINE_SECONDS):
        batches.skip_if_moved(partial(batches.hold_unfinished, stuck=stuck), batch.pk)
