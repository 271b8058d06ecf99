"""Polls the completion of batches, so that none stays unfinished for ever.

A batch ends with its last document. Polls find batches that do not end, because no shift had room
for them or because the process that should have ended them died. `core.completion` decides the
outcome of a poll. A site has the same deadline as a batch: while other sites move, the documents of
one that does not are held.

Every host polls. A conditional UPDATE stores the numbers for the next poll, so each poll is carried
out by one host. It sets the time of the next poll before the outcome is acted on, so the next poll
makes good for one whose process died.
"""

from datetime import datetime, timedelta
from functools import partial

from django.conf import settings

from audit.ledger.log import ledger
from ingestion.core.completion import PollOutcome, PollState, StallLimit, decide_next_poll
from ingestion.dispatch.clock import read_database_time
from ingestion.documents import batches
from ingestion.documents.stuck_sites import find_stuck_sites
from ingestion.models import Batch

MAX_BATCHES_PER_POLL = 20
MIN_POLL_DELAY_SECONDS = 1.0


def poll_due_batches(now: datetime | None = None) -> int:
    """Poll the batches that are due, at most MAX_BATCHES_PER_POLL.

    Returns how many this call polled, without those that another host polled meanwhile.
    """
    now = now or read_database_time()
    due = list(Batch.objects.due_for_poll(now)[:MAX_BATCHES_PER_POLL])
    return sum(_poll_batch(batch, now) for batch in due)


def _poll_batch(batch: Batch, now: datetime) -> bool:
    """Poll one batch. Returns False if another host polled it meanwhile."""
    decision = decide_next_poll(
        batch.documents.unsettled().count(),
        PollState(batch.polled_count, batch.poll_retries),
        StallLimit(settings.DISPATCH_DEADLINE_SECONDS),
    )
    delay = max(MIN_POLL_DELAY_SECONDS, decision.delay_seconds)
    same_poll = Batch.objects.filter(pk=batch.pk, next_poll_at=batch.next_poll_at)
    is_ours = same_poll.update(
        next_poll_at=now + timedelta(seconds=delay),
        polled_count=decision.state.previous,
        poll_retries=decision.state.retries,
    )
    if not is_ours:
        return False
    if decision.outcome is PollOutcome.ALL_PROCESSED:
        with ledger():
            batches.end_if_settled(batch.pk)
        Batch.objects.filter(pk=batch.pk).update(next_poll_at=None)
    elif decision.outcome is PollOutcome.RETRIES_EXHAUSTED:
        batches.skip_if_moved(batches.hold_unfinished, batch.pk)
    elif decision.outcome is PollOutcome.PROGRESS_MADE:
        _end_waiting_of_stuck_sites(batch, now)
    return True


def _end_waiting_of_stuck_sites(batch: Batch, now: datetime) -> None:
    """Hold what waits of sites that made no progress until the deadline, while others moved.

    Without progress of any site, the poll itself leads to the deadline of the whole batch.
    """
    for stuck in find_stuck_sites(now, batch=batch, seconds=settings.DISPATCH_DEADLINE_SECONDS):
        batches.skip_if_moved(partial(batches.hold_unfinished, stuck=stuck), batch.pk)
