"""Looks at batches from time to time, so that none stands still for ever: `core.completion`.

A batch ends by itself, with its last document. This is for those that do not: nobody had room for
them, or what should have ended them died. Every host's tick looks; the UPDATE that carries the
numbers to the next look is conditional, so that each look is made once. It also names the time of
the next look *before* anything is done about this one: whoever dies in between is repeated.
"""

from datetime import datetime, timedelta

from django.conf import settings

from audit.ledger.log import ledger
from ingestion.core.completion import Look, Patience, Polled, Scenario, look
from ingestion.dispatch.clock import database_now
from ingestion.documents import batches
from ingestion.models import Batch

MOST_AT_ONCE = 20  # batches that one tick looks at


def poll_due(now: datetime | None = None) -> int:
    """Look at the batches whose time has come. Answers at how many."""
    now = now or database_now()
    due = list(Batch.objects.to_be_polled(now)[:MOST_AT_ONCE])
    return sum(_poll(batch, now) for batch in due)


def _poll(batch: Batch, now: datetime) -> bool:
    """False: another host was faster."""
    seen = look(
        batch.documents.unsettled().count(),
        Polled(batch.polled_count, batch.poll_retries),
        Patience(settings.DISPATCH_DEADLINE_SECONDS),
    )
    if not _carry_on(batch, seen, now):
        return False
    if seen.scenario is Scenario.ALL_PROCESSED:
        _settle(batch)
    elif seen.scenario is Scenario.RETRIES_EXHAUSTED:
        batches.unless_moved(batches.hold_unfinished, batch.pk)
    return True


def _carry_on(batch: Batch, seen: Look, now: datetime) -> bool:
    """Carry the numbers to the next look. One of those who look at the same time does it."""
    mine = Batch.objects.filter(pk=batch.pk, next_poll_at=batch.next_poll_at)
    carried = mine.update(
        next_poll_at=now + timedelta(seconds=max(1.0, seen.delay)),
        polled_count=seen.polled.previous,
        poll_retries=seen.polled.retries,
    )
    return carried == 1


def _settle(batch: Batch) -> None:
    """All is processed: end the batch if nobody has, and look no more."""
    with ledger():
        batches.end_if_settled(batch.pk)
    Batch.objects.filter(pk=batch.pk).update(next_poll_at=None)
