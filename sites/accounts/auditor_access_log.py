"""Records the pages that auditors open in the ledger (ICH E6(R3) 3.16.4; R34).

Each page is counted in a row before it is shown. One entry contains the pages that one auditor
opened in ten minutes, each with its number of views. It is recorded after that period, with the
auditor's next page or by the worker hosts. A page that polls every two seconds, or an auditor who
opens a thousand documents, therefore adds only six entries an hour.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from audit.ledger import context
from audit.ledger.context import RequestOrigin
from audit.ledger.log import ledger
from sites.models import User
from sites.models.usage_counters import PageViews

PERIOD = timedelta(minutes=10)
MAX_PAGES_PER_ENTRY = 200  # further pages of the period are in another entry
MAX_ROWS_PER_TRANSACTION = 2_000


def count_view(person: User, request: str, now: datetime) -> None:
    """Count a view. `request` has the form "200 GET /documents/17/"."""
    began = now - timedelta(seconds=now.timestamp() % PERIOD.total_seconds())
    client = context.get_current_origin().facts.get("address", "")
    same = {"user": person, "began_at": began.replace(microsecond=0), "client": client}
    rows = PageViews.objects.filter(**same, request=request[:300])
    if rows.update(count=F("count") + 1):
        return
    try:
        with transaction.atomic():
            PageViews.objects.create(**same, request=request[:300])
    except IntegrityError:  # another request created the row
        rows.update(count=F("count") + 1)


def record_views(now: datetime | None = None) -> int:
    """Record the views of periods that have ended. Return the number of entries."""
    ended = PageViews.objects.filter(began_at__lte=(now or timezone.now()) - PERIOD)
    if not ended.exists():
        return 0
    entries = 0
    with ledger():
        rows = list(
            ended.select_for_update().order_by("user", "began_at", "client", "pk")[
                :MAX_ROWS_PER_TRANSACTION
            ]
        )
        for _same, group in groupby(rows, attrgetter("user_id", "began_at", "client")):
            views = list(group)
            for at in range(0, len(views), MAX_PAGES_PER_ENTRY):
                _record_entry(views[at : at + MAX_PAGES_PER_ENTRY])
                entries += 1
        PageViews.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return entries


def _record_entry(views: Sequence[PageViews]) -> None:
    first = views[0]
    person = User.objects.get(pk=first.user_id)
    opened = [{"request": view.request, "times": view.count} for view in views]
    # The origin is that of the auditor, not of the request that records the entry.
    origin = RequestOrigin({"address": first.client}, lambda: (person.actor_name, str(person)))
    with context.set_origin(origin):
        person.record(
            "user.pages_opened",
            by=person.actor,
            occurred_at=first.began_at,
            detail={"minutes": int(PERIOD.total_seconds() // 60), "opened": opened},
        )
