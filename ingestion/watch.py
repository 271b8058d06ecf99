"""Where a batch and the whole installation stand: read-only answers for commands and pages."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Exists, Min, OuterRef, Prefetch, QuerySet
from django.utils import timezone

from audit import history, reviews
from audit.standing import figures
from ingestion.core.states import SETTLED, BatchState, ChunkState, DocumentState
from ingestion.models import Batch, Chunk, Document, Finding, PortalGate
from ingestion.rules.sentences import Sentences, sentences
from sites.models import Site


@dataclass(frozen=True, slots=True)
class Progress:
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
        return sum(n for name, n in self.states.items() if DocumentState(name) in SETTLED)

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


def progress(batch: Batch, *, max_age: float = 0.0) -> Progress:
    """Counted from the documents' states: nothing is ever written for it.

    An answer that many ask for may be `max_age` seconds old; a move of the batch shows at once.
    """
    batch.refresh_from_db()
    if not max_age:
        return _progress(batch)
    key = f"progress:{batch.pk}:{batch.created_at.timestamp()}:{batch.transitions}"
    kept: Progress | None = cache.get(key)
    if kept is None:
        kept = _progress(batch)
        cache.set(key, kept, max_age)
    return kept


def _progress(batch: Batch) -> Progress:
    counts, state = batch.counts(), BatchState(batch.state)
    codes = batch.documents.exclude(code="").order_by("code").values_list("code")
    total, until = sum(counts.values()), batch.finished_at or timezone.now()
    done = total - _never_settled(batch)
    return Progress(
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
    return math.ceil(_age(batch.started_at).total_seconds() * (total - done) / done)


def until_final(
    batch: Batch, *, poll_seconds: float = 1.0, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Progress]:
    """Look at the row until the batch is final. Only looks: it can never touch the work.

    The first looks come soon after one another, the later ones every `poll_seconds`.
    """
    for delay in _delays(poll_seconds):
        now = progress(batch)
        yield now
        if now.is_final:
            return
        sleep(delay)


def wait_until_final(
    batch: Batch, seconds: float, *, sleep: Callable[[float], None] = time.sleep
) -> Progress:
    """As far as it is after at most `seconds`. Only looks, as `until_final` does."""
    until = time.monotonic() + seconds
    for delay in _delays(1.0):
        left = until - time.monotonic()
        if left <= 0 or not Batch.objects.open().filter(pk=batch.pk).exists():
            break
        sleep(min(delay, left))
    return progress(batch)


def _delays(longest: float) -> Iterator[float]:
    delay = 0.05
    while True:
        yield min(delay, longest)
        delay = min(delay * 1.5, longest)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one document, for its sender."""

    site: str
    doc_id: str
    sha256: str
    state: DocumentState
    code: str
    what: str  # happened
    why: str  # it matters
    do: str
    url: str  # at its portal; "" for an upload

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def result_manifest(batch: Batch) -> Iterator[Result]:
    """Every document of the batch, in the order of submission, with the words its site reads."""
    primary = Prefetch(
        "findings", Finding.objects.filter(is_primary=True).order_by("attempt"), to_attr="decisions"
    )
    rows = batch.documents.order_by("pk").select_related("site").prefetch_related(primary)
    return map(_result, rows.iterator(RESULTS_AT_ONCE))


def _result(document: Document) -> Result:
    decisions: list[Finding] = document.decisions  # type: ignore[attr-defined]
    said = _PLAIN.get(DocumentState(document.state), _WORKING)
    if document.code:
        own = [decision.facts for decision in decisions if decision.code == document.code]
        facts: dict[str, Any] = own[-1] if own else {}
        said = sentences(document.code, facts, type_name=document.type_name)
    return Result(
        site=document.site.site_id,
        doc_id=document.doc_id,
        sha256=document.sha256 or document.expected_sha256,
        state=DocumentState(document.state),
        code=document.code,
        what=said.what,
        why=said.why,
        do=said.do,
        url=document.url,
    )


RESULTS_AT_ONCE = 500
_WORKING = Sentences("We have not finished with it.", "", "Nothing to do now.")
_PLAIN: Mapping[DocumentState, Sentences] = {
    DocumentState.ARCHIVED: Sentences("It is on file.", "", "Nothing to do."),
    DocumentState.CANCELLED: Sentences(
        "It was cancelled before it was checked.", "", "Send it again if it is needed after all."
    ),
    DocumentState.WITHDRAWN: Sentences("It was filed in error.", "", "Nothing to do."),
}


def work_is_left_lying() -> bool:
    """Something is due or orphaned, and no shift holds an unexpired lease."""
    now = timezone.now()
    if Chunk.objects.filter(state=ChunkState.RUNNING, lease_expires_at__gt=now).exists():
        return False
    return Chunk.objects.due(now).exists() or Chunk.objects.orphaned(now).exists()


def oldest_due_seconds() -> float:
    """For how long the oldest due chunk has been waiting for a worker; 0 when none is due."""
    now = timezone.now()
    since = Chunk.objects.due(now).order_by().aggregate(Min("next_dispatch_at"))
    oldest: datetime | None = since["next_dispatch_at__min"]
    return _age(oldest).total_seconds() if oldest else 0.0


def status() -> dict[str, Any]:
    """Queue depth, what is in flight, and how long the oldest has waited."""
    waiting = Chunk.objects.filter(state=ChunkState.WAITING)
    unsettled = Document.objects.unsettled().filter(chunk__isnull=False)
    oldest = unsettled.aggregate(Min("received_at"))["received_at__min"]
    running = Chunk.objects.filter(state=ChunkState.RUNNING)
    entries, head = history.head() or (0, "")
    review = reviews.due()
    return {
        "chunks_waiting": waiting.count(),
        "chunks_running": running.count(),
        "chunks_orphaned": running.filter(lease_expires_at__lt=timezone.now()).count(),
        "documents_unsettled": unsettled.count(),
        "oldest_waiting_seconds": round(_age(oldest).total_seconds(), 1) if oldest else 0,
        "workers": sorted({owner.rsplit(":", 1)[0] for owner in _owners(running)}),
        "documents": {
            str(state): n
            for state, n in Document.objects.order_by("state")
            .values_list("state")
            .annotate(Count("pk"))
        },
        "portals_down": [
            f"{gate.portal} ({gate.breaker}, next probe {gate.next_probe_at:%Y-%m-%d %H:%M:%S} UTC)"
            for gate in PortalGate.objects.shut().select_related("portal")
        ],
        "portal_use": portal_use(),
        "held": Document.objects.filter(state=DocumentState.HELD).count(),
        "batches_open": Batch.objects.open().count(),
        "ledger_entries": entries,
        "ledger_head": head,
        **figures(),
        "ledger_review_due": f"{review.on}" if review.on else "",
        "ledger_review_overdue": review.is_overdue(timezone.now().date()),
    }


def portal_use() -> dict[str, float]:
    """How much of what each portal allows is spent: 1.0 and more is as fast as it may be asked.

    Portals that nobody asks just now are left out.
    """
    now = time.time()
    use = {}
    for gate in PortalGate.objects.filter(tat__gt=now * 1e6).select_related("portal"):
        portal = gate.portal
        spent = (gate.tat / 1e6 - now) * portal.rate_per_second
        use[portal.key] = round(spent / portal.burst, 2)
    return use


def silent(sites: "QuerySet[Site]") -> "QuerySet[Site]":
    """Those whose portal does not answer just now: their documents had better be uploaded."""
    return sites.filter(portal__gate__in=PortalGate.objects.shut())


def _owners(running: Any) -> list[str]:
    return list(running.values_list("lease_owner", flat=True))


def _age(since: datetime) -> timedelta:
    return timezone.now() - since
