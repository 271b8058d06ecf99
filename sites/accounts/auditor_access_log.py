"""What auditors open is their own access log, in the ledger (ICH E6(R3) 3.16.4; R34).

Each page that is opened is counted in a row before it is shown. One entry holds what one auditor
opened in ten minutes: each address, with how often. It is made when that time is over, by the
auditor's next page or by the worker hosts: a page that asks for news every two seconds, or somebody
who leafs through a thousand documents, makes the ledger grow by six entries an hour.
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

STRETCH = timedelta(minutes=10)
_IN_ONE_ENTRY = 200  # addresses; more of one stretch go into another
_AT_ONCE = 2_000  # rows that one transaction enters


def count(person: User, request: str, now: datetime) -> None:
    """`request` is as in "200 GET /documents/17/"."""
    began = now - timedelta(seconds=now.timestamp() % STRETCH.total_seconds())
    client = context.current_origin().facts.get("address", "")
    same = {"user": person, "began_at": began.replace(microsecond=0), "client": client}
    rows = PageViews.objects.filter(**same, request=request[:300])
    if rows.update(count=F("count") + 1):
        return
    try:
        with transaction.atomic():
            PageViews.objects.create(**same, request=request[:300])
    except IntegrityError:  # another was first
        rows.update(count=F("count") + 1)


def enter(now: datetime | None = None) -> int:
    """Enter the stretches that are over. Answers how many entries there were."""
    over = PageViews.objects.filter(began_at__lte=(now or timezone.now()) - STRETCH)
    if not over.exists():
        return 0
    made = 0
    with ledger():
        rows = list(
            over.select_for_update().order_by("user", "began_at", "client", "pk")[:_AT_ONCE]
        )
        for _same, group in groupby(rows, attrgetter("user_id", "began_at", "client")):
            views = list(group)
            for at in range(0, len(views), _IN_ONE_ENTRY):
                _enter(views[at : at + _IN_ONE_ENTRY])
                made += 1
        PageViews.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return made


def _enter(views: Sequence[PageViews]) -> None:
    first = views[0]
    person = User.objects.get(pk=first.user_id)
    opened = [{"request": view.request, "times": view.count} for view in views]
    # By the auditor, from where they were: not of the request that happens to enter it.
    theirs = RequestOrigin({"address": first.client}, lambda: (person.actor_name, str(person)))
    with context.set_origin(theirs):
        person.record(
            "user.pages_opened",
            by=person.actor,
            occurred_at=first.began_at,
            detail={"minutes": int(STRETCH.total_seconds() // 60), "opened": opened},
        )
