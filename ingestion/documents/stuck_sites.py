"""Finds the sites of batches that make no progress, while other sites may.

The clock of a site in a batch starts when its documents are queued, and again whenever one of them
is settled. A site that needs longer than the limit is stuck, whatever the rest of its batch does.
A batch that has ended has such sites too, if documents of it were queued again.
This module only reads. What follows is decided elsewhere: progress, the stuck page and an alarm
name the site after SITE_STALL_SECONDS, and `dispatch.completion_polls` ends the waiting of its
documents after DISPATCH_DEADLINE_SECONDS.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Max, Min
from django.utils.translation import gettext, gettext_lazy

from ingestion.models import Batch, Chunk, Document, PortalLimitState

MAX_NAMED_DOCUMENTS = 10  # of one site
MAX_LISTED_DOCUMENTS = 2_000  # of all stuck sites together, from which the named ones are taken

CAUSES: Mapping[str, Any] = {
    "portal_down": gettext_lazy("its portal does not respond"),
    "retrying": gettext_lazy("its downloads fail and are retried"),
    "working": gettext_lazy("a worker has its documents and has finished none"),
    "no_worker": gettext_lazy("no worker has claimed its documents"),
}


@dataclass(frozen=True, slots=True)
class StuckSite:
    """Describes a site of one batch of which no document was settled for too long."""

    batch: str  # reference
    batch_key: int  # primary key, as the next one
    site_key: int
    site: str  # number of the site
    documents: int  # that are unfinished
    doc_ids: tuple[str, ...]  # of the first unfinished documents, at most MAX_NAMED_DOCUMENTS
    since: datetime  # the last progress: a settled document, or the time of queueing
    cause: str  # a key of CAUSES

    @property
    def cause_text(self) -> str:
        """Return the cause as a part of a sentence, in the language of the reader."""
        return str(CAUSES[self.cause])

    def __str__(self) -> str:
        """Return a part of a sentence, in the language of the reader."""
        about = gettext("site {site} since {time} UTC, because {cause} ({batch})")
        time = f"{self.since:%Y-%m-%d %H:%M}"
        return about.format(site=self.site, time=time, cause=self.cause_text, batch=self.batch)

    def as_json(self) -> dict[str, Any]:
        """Return the object that programs receive."""
        return {
            "site_id": self.site,
            "documents": self.documents,
            "doc_ids": list(self.doc_ids),
            "since": self.since.isoformat(timespec="seconds"),
            "cause": self.cause,
        }


def find_stuck_sites(
    now: datetime, *, batch: Batch | None = None, seconds: float | None = None
) -> list[StuckSite]:
    """Return the sites without progress for `seconds`, those that wait longest first.

    `batch` limits the search to one batch, and `seconds` is SITE_STALL_SECONDS if it is left out.
    One query if no site is stuck, and six otherwise.
    """
    before = now - timedelta(seconds=settings.SITE_STALL_SECONDS if seconds is None else seconds)
    if batch is not None and batch.created_at >= before:
        return []
    overdue = Document.objects.unsettled().filter(
        received_at__lt=before,
        chunk__created_at__lt=before,
    )
    if batch is not None:
        overdue = overdue.filter(batch=batch)
    groups = overdue.order_by().values("batch__pk", "site__pk", "batch__reference", "site__site_id")
    counted = groups.annotate(
        documents=Count("pk"),
        queued_at=Min("chunk__created_at"),
        failing=Count("failing_since"),
    )
    rows = {(row["batch__pk"], row["site__pk"]): row for row in counted}
    if not rows:
        return []
    moving = Document.objects.filter(settled_at__gte=before, batch__in={key for key, _ in rows})
    for pair in moving.order_by().values_list("batch__pk", "site__pk").distinct():
        rows.pop(pair, None)
    if not rows:
        return []
    batches, sites = {key for key, _ in rows}, {key for _, key in rows}
    settled = Document.objects.filter(batch__in=batches, site__in=sites).order_by()
    last_settled = {
        (batch_key, site): at
        for batch_key, site, at in settled.values_list("batch__pk", "site__pk").annotate(
            Max("settled_at")
        )
    }
    down = set(PortalLimitState.objects.down().values_list("portal__sites", flat=True))
    running = Chunk.objects.running().filter(batch__in=batches)
    worked_on = set(running.values_list("batch__pk", "site__pk"))
    names = defaultdict(list)
    listed = overdue.filter(batch__in=batches, site__in=sites).order_by("pk")
    for batch_key, site, doc_id in listed.values_list("batch__pk", "site__pk", "doc_id")[
        :MAX_LISTED_DOCUMENTS
    ]:
        names[batch_key, site].append(doc_id)
    found = [
        StuckSite(
            batch=row["batch__reference"],
            batch_key=pair[0],
            site_key=pair[1],
            site=row["site__site_id"],
            documents=row["documents"],
            doc_ids=tuple(names[pair][:MAX_NAMED_DOCUMENTS]),
            since=max(filter(None, (last_settled.get(pair), row["queued_at"]))),
            cause=_find_cause(
                is_down=pair[1] in down, failing=row["failing"], is_running=pair in worked_on
            ),
        )
        for pair, row in rows.items()
    ]
    return sorted(found, key=lambda stuck: (stuck.since, stuck.site))


def _find_cause(*, is_down: bool, failing: int, is_running: bool) -> str:
    if is_down and failing:
        return "portal_down"
    if failing:
        return "retrying"
    return "working" if is_running else "no_worker"
