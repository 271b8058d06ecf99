"""Counts the progress of a batch, and waits for its end.

It only reads rows, so it never influences the work.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max
from django.utils import timezone

from audit.estimates import MIN_SAMPLES, Estimate, estimate_remaining
from ingestion.core.states import SETTLED_STATES, BatchState, DocumentState
from ingestion.documents import portal_sources
from ingestion.documents.stuck_sites import StuckSite, find_stuck_sites
from ingestion.models import Batch, Document
from sites.models import Portal, Site


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Describes how far a batch is. Workers have finished `settled` of its `total` documents.

    A file that was divided into documents counts as a file, and its parts count as documents.
    """

    batch: str
    state: BatchState
    total: int
    files: int  # as they were received
    states: dict[str, int]  # the number of documents in each state that has any
    codes: dict[str, int]  # the number of documents with each finding code
    seconds: float  # from its submission until its end, or until now
    percentage: int  # of settled documents; 100 only at the end
    step: str
    error: str = ""  # a sentence: why it ended with unfinished documents
    #: None: it is final, its pace is not known yet, or documents wait for a portal (below).
    estimate: Estimate | None = None
    #: Documents wait for a portal that does not respond, so that the end cannot be estimated.
    waits_for_portal: bool = False
    stuck_sites: tuple[StuckSite, ...] = ()  # without progress, while other sites may move

    @property
    def settled(self) -> int:
        """Return the number of documents that are settled."""
        return sum(n for name, n in self.states.items() if DocumentState(name) in SETTLED_STATES)

    @property
    def is_final(self) -> bool:
        """Return whether the batch has ended, and none of its documents is being retried."""
        return self.state.is_final and self.settled == sum(self.states.values())

    @property
    def estimated_seconds_remaining(self) -> int | None:
        """Return the likely seconds until the end, or None if they are not known."""
        if self.is_final:
            return 0
        return self.estimate.likely if self.estimate else None

    def as_json(self) -> dict[str, Any]:
        """Return the object that `ingest_manifest --json` prints, on which scripts rely."""
        return {
            "batch": self.batch,
            "status": str(self.state),
            "documents": self.total,
            "files": self.files,
            "states": self.states,
            "codes": self.codes,
            "seconds": round(self.seconds, 3),
            "stuck_sites": [stuck.as_json() for stuck in self.stuck_sites],
        }


_STEPS: Mapping[BatchState, str] = {
    BatchState.SUBMITTED: "Registered",
    BatchState.QUEUED: "Waiting for a worker",
    BatchState.IN_PROGRESS: "Fetching and checking",
    BatchState.COMPLETED: "Finished",
    BatchState.FAILED: "Failed: no worker had capacity",
    BatchState.CANCELLED: "Cancelled",
}


MAX_PACE_SAMPLES = 20  # earlier batches from which the duration is estimated
MAX_BATCHES_SEARCHED = 100  # for batches of a similar size
SIMILAR_SIZE = 4  # the factor between the sizes of batches that are samples for each other
_ERRORS: Mapping[str, str] = {
    "CAPACITY": "No worker had capacity for all documents in time. The remaining documents are "
    "held. Nothing is wrong with them.",
}


def get_progress(batch: Batch, *, max_age: float = 0.0) -> BatchProgress:
    """Count the progress from the states of the documents.

    With `max_age`, the answer may be so many seconds old, for a page or address that many clients
    poll. A change of the batch itself is always visible at once.
    """
    batch.refresh_from_db()
    if not max_age:
        return _count_progress(batch)
    key = f"progress:{batch.pk}:{batch.created_at.timestamp()}:{batch.revision}"
    cached: BatchProgress | None = cache.get(key)
    if cached is None:
        cached = _count_progress(batch)
        cache.set(key, cached, max_age)
    return cached


def _count_progress(batch: Batch) -> BatchProgress:
    counts, state, now = batch.counts(), BatchState(batch.state), timezone.now()
    counts.pop(DocumentState.DIVIDED, None)
    codes = batch.documents.exclude(code="").order_by("code").values_list("code")
    total = sum(counts.values())
    unsettled = sum(number for each, number in counts.items() if not each.is_settled)
    is_retried_now = state.is_final and unsettled > 0
    is_final = state.is_final and not is_retried_now
    waiting_for_portal = _count_waiting_for_portal(batch) if unsettled else 0
    return BatchProgress(
        batch=batch.reference,
        state=state,
        total=total,
        files=batch.count_files(),
        states={str(name): n for name, n in sorted(counts.items())},
        codes=dict(codes.annotate(Count("pk"))),
        seconds=((batch.finished_at or now) - batch.created_at).total_seconds(),
        percentage=100 if is_final else min(99, 100 * (total - unsettled) // max(total, 1)),
        step=_describe_step(
            batch,
            is_retried_now=is_retried_now,
            is_waiting_for_portal=0 < unsettled == waiting_for_portal,
        ),
        error="" if is_retried_now else _ERRORS.get(batch.error_code, ""),
        estimate=None if is_final or waiting_for_portal else _estimate(batch, total, unsettled),
        waits_for_portal=waiting_for_portal > 0,
        stuck_sites=() if state.is_final else tuple(find_stuck_sites(now, batch=batch)),
    )


def _count_waiting_for_portal(batch: Batch) -> int:
    """Return how many documents wait for a portal of which no source responds."""
    sites = portal_sources.find_sites_to_upload(Site.objects.filter(chunks__batch=batch))
    return batch.documents.waiting().filter(spooled="", site__in=sites.values("pk")).count()


def _describe_step(batch: Batch, *, is_retried_now: bool, is_waiting_for_portal: bool) -> str:
    if batch.is_being_cancelled:
        return "Cancelling"
    if is_waiting_for_portal:
        return "Waiting for a portal that does not respond"
    return "Retrying held documents" if is_retried_now else _STEPS[BatchState(batch.state)]


def _estimate(batch: Batch, total: int, unsettled: int) -> Estimate | None:
    """Estimate the seconds until a batch ends, from earlier batches and its own progress.

    While it waits, the upper bound contains the documents that were submitted before it. A retry is
    new work of its unsettled documents only. Documents do not end before their next attempt.
    """
    if BatchState(batch.state).is_final:
        estimate = estimate_remaining(_list_paces(unsettled), total=unsettled)
    elif batch.started_at is not None:
        estimate = _estimate_working(batch, total, unsettled, batch.started_at)
    else:
        estimate = _estimate_waiting(batch, total)
    last = batch.documents.waiting().aggregate(Max("next_attempt_at"))["next_attempt_at__max"]
    if estimate is None or last is None:
        return estimate
    wait = max(0, math.ceil((last - timezone.now()).total_seconds()))
    bounds = (estimate.low, estimate.likely, estimate.high)
    return Estimate(*(max(seconds, wait) for seconds in bounds))


def _estimate_working(
    batch: Batch, total: int, unsettled: int, started_at: datetime
) -> Estimate | None:
    """Estimate the rest from the batch's own pace while all of its portals responded."""
    sites = Site.objects.filter(chunks__batch=batch)
    portals = Portal.objects.filter(pk__in=sites.values("portal"))
    documents = batch.documents.exclude(state=DocumentState.DIVIDED)
    elapsed, done = (timezone.now() - started_at).total_seconds(), total - unsettled
    for begun, ended in portal_sources.list_outages(portals, started_at):
        elapsed -= (ended - begun).total_seconds()
        done -= documents.filter(settled_at__gt=begun, settled_at__lte=ended).count()
    return estimate_remaining(
        _list_paces(total), total=unsettled + done, done=done, elapsed=elapsed
    )


def _estimate_waiting(batch: Batch, total: int) -> Estimate | None:
    paces = _list_paces(total)
    own = estimate_remaining(paces, total=total)
    if own is None:
        return None
    others = Batch.objects.open().filter(pk__lt=batch.pk)
    ahead = Document.objects.unsettled().filter(batch__in=others).count()
    waiting = estimate_remaining(paces, total=ahead)
    return Estimate(own.low, own.likely, own.high + (waiting.likely if waiting else 0))


def _list_paces(total: int) -> list[float]:
    """Return the seconds for each document of the newest completed batches of a similar size.

    If there are few of them, return those of all sizes.
    """
    rows = Batch.objects.filter(state=BatchState.COMPLETED, started_at__isnull=False)
    columns = rows.order_by("-finished_at").values_list("started_at", "finished_at", "summary")
    similar, others = [], []
    for started, finished, summary in columns[:MAX_BATCHES_SEARCHED]:
        counts = summary.get("documents", {})
        number = sum(counts.values()) - counts.get(DocumentState.DIVIDED, 0)
        if number < 1 or started is None or finished is None:
            continue
        pace = (finished - started).total_seconds() / number
        others.append(pace)
        if total / SIMILAR_SIZE <= number <= total * SIMILAR_SIZE:
            similar.append(pace)
    return (similar if len(similar) >= MIN_SAMPLES else others)[:MAX_PACE_SAMPLES]


def follow_until_final(
    batch: Batch, *, poll_seconds: float = 1.0, sleep: Callable[[float], None] = time.sleep
) -> Iterator[BatchProgress]:
    """Poll the batch, and yield its progress each time, until it has ended.

    The first polls follow shortly after one another, later ones every `poll_seconds`.
    """
    for delay in _poll_delays(poll_seconds):
        now = get_progress(batch)
        yield now
        if now.is_final:
            return
        sleep(delay)


def wait_until_final(
    batch: Batch, seconds: float, *, sleep: Callable[[float], None] = time.sleep
) -> BatchProgress:
    """Wait until the batch has ended, at most `seconds`, and return its progress then."""
    until = time.monotonic() + seconds
    for delay in _poll_delays(1.0):
        left = until - time.monotonic()
        if left <= 0 or not _is_open(batch):
            break
        sleep(min(delay, left))
    return get_progress(batch)


def _is_open(batch: Batch) -> bool:
    """Return whether the batch has not ended, or documents of it are being retried."""
    is_open = Batch.objects.open().filter(pk=batch.pk).exists()
    return is_open or batch.documents.unsettled().exists()


def _poll_delays(longest: float) -> Iterator[float]:
    """Yield the seconds between polls: from 0.05, growing by half each time, to `longest`."""
    delay = 0.05
    while True:
        yield min(delay, longest)
        delay = min(delay * 1.5, longest)
