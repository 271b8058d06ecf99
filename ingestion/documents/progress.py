"""How far a batch is, and waiting for its end. Only looks: it can never touch the work."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Exists, OuterRef
from django.utils import timezone

from ingestion.core.states import SETTLED_STATES, BatchState, DocumentState
from ingestion.models import Batch, Finding


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """`settled` of `total` documents are out of the machine's hands."""

    batch: str
    state: BatchState
    total: int
    states: dict[str, int]
    codes: dict[str, int]
    seconds: float  # since it was submitted, until it was finished
    percentage: int  # never goes down, and is 100 only at the end
    step: str
    error: str = ""  # why it ended with work undone, in a sentence
    estimated_seconds_remaining: int | None = None  # None: there is nothing to tell it from

    @property
    def settled(self) -> int:
        return sum(n for name, n in self.states.items() if DocumentState(name) in SETTLED_STATES)

    @property
    def is_final(self) -> bool:
        return self.state.is_final

    def as_json(self) -> dict[str, Any]:
        """The object that `ingest_manifest --json` prints; scripts rely on it."""
        return {
            "batch": self.batch,
            "status": str(self.state),
            "documents": self.total,
            "states": self.states,
            "codes": self.codes,
            "seconds": round(self.seconds, 3),
        }


_STEPS: Mapping[BatchState, str] = {
    BatchState.SUBMITTED: "Registered",
    BatchState.QUEUED: "Waiting for a worker",
    BatchState.IN_PROGRESS: "Fetching and checking",
    BatchState.COMPLETED: "Finished",
    BatchState.FAILED: "Given up: there was no room",
    BatchState.CANCELLED: "Cancelled",
}


_ERRORS: Mapping[str, str] = {
    "CAPACITY": "There was no room for all its documents in time. We hold those; nothing is wrong "
    "with them.",
}


def get_progress(batch: Batch, *, max_age: float = 0.0) -> BatchProgress:
    """Counted from the documents' states: nothing is ever written for it.

    An answer that many ask for may be `max_age` seconds old; a move of the batch shows at once.
    """
    batch.refresh_from_db()
    if not max_age:
        return _progress(batch)
    key = f"progress:{batch.pk}:{batch.created_at.timestamp()}:{batch.transitions}"
    kept: BatchProgress | None = cache.get(key)
    if kept is None:
        kept = _progress(batch)
        cache.set(key, kept, max_age)
    return kept


def _progress(batch: Batch) -> BatchProgress:
    counts, state = batch.counts(), BatchState(batch.state)
    codes = batch.documents.exclude(code="").order_by("code").values_list("code")
    total, until = sum(counts.values()), batch.finished_at or timezone.now()
    done = total - _never_settled(batch)
    return BatchProgress(
        batch=batch.reference,
        state=state,
        total=total,
        states={str(name): n for name, n in sorted(counts.items())},
        codes=dict(codes.annotate(Count("pk"))),
        seconds=(until - batch.created_at).total_seconds(),
        percentage=100 if state.is_final else min(99, 100 * done // max(total, 1)),
        step="Cancelling" if batch.is_being_cancelled else _STEPS[state],
        error=_ERRORS.get(batch.error_code, ""),
        estimated_seconds_remaining=_remaining(batch, done, total),
    )


def _never_settled(batch: Batch) -> int:
    """Held ones that go round once more were settled before: they do not turn progress back."""
    again = Exists(Finding.objects.filter(document=OuterRef("pk"), is_primary=True))
    return batch.documents.unsettled().exclude(again).count()


def _remaining(batch: Batch, done: int, total: int) -> int | None:
    """At the pace since it was begun."""
    if BatchState(batch.state).is_final:
        return 0
    if batch.started_at is None or not done:
        return None
    return math.ceil((timezone.now() - batch.started_at).total_seconds() * (total - done) / done)


def follow_until_final(
    batch: Batch, *, poll_seconds: float = 1.0, sleep: Callable[[float], None] = time.sleep
) -> Iterator[BatchProgress]:
    """Look at the row until the batch is final. Only looks: it can never touch the work.

    The first looks come soon after one another, the later ones every `poll_seconds`.
    """
    for delay in _delays(poll_seconds):
        now = get_progress(batch)
        yield now
        if now.is_final:
            return
        sleep(delay)


def wait_until_final(
    batch: Batch, seconds: float, *, sleep: Callable[[float], None] = time.sleep
) -> BatchProgress:
    """As far as it is after at most `seconds`. Only looks, as `until_final` does."""
    until = time.monotonic() + seconds
    for delay in _delays(1.0):
        left = until - time.monotonic()
        if left <= 0 or not Batch.objects.open().filter(pk=batch.pk).exists():
            break
        sleep(min(delay, left))
    return get_progress(batch)


def _delays(longest: float) -> Iterator[float]:
    delay = 0.05
    while True:
        yield min(delay, longest)
        delay = min(delay * 1.5, longest)
