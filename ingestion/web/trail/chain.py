"""`/admin/audit/verify/`: where the chain stands, who holds its heads, and when it was checked."""

from collections.abc import Sequence

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from audit.runs import FULL_KEPT
from audit.standing import standing
from ingestion.web.access import SignedIn
from ingestion.web.trail import words
from ingestion.web.trail.doors import CHECK, SEE, for_staff_with
from ingestion.web.trail.jobs import watched
from ingestion.web.trail.office import DONE, Check, office

CHECKS_SHOWN = 5


@for_staff_with(SEE)
@require_safe
def chain(request: SignedIn) -> HttpResponse:
    desk = office()
    checks = list(desk.checks(CHECKS_SHOWN)) if desk else []
    context = {
        "standing": standing(),
        "is_connected": desk is not None,
        "unanchored": list(desk.unanchored()) if desk else [],
        "checks": _by_whom(checks),
        "last": checks[0] if checks else None,
        "kept_days": settings.RETENTION_DAYS,
        "full_kept": FULL_KEPT,
        "may_check": request.user.has_perm(CHECK),
    }
    return render(request, "trail/chain.html", context)


@for_staff_with(CHECK)
@require_POST
def check_now(request: SignedIn) -> HttpResponse:
    desk = office()
    if desk is None:
        raise Http404
    return redirect("trail_check", desk.check_now(request.user.actor).pk)


@for_staff_with(SEE)
@require_safe
def check(request: HttpRequest, pk: int) -> HttpResponse:
    """How far a check is that somebody asked for, and then what came of it."""
    desk = office()
    job = desk.checking(pk) if desk else None
    if desk is None or job is None:
        raise Http404
    found = desk.check(job.result["run"]) if job.state == DONE else None
    return watched(request, job, "trail/check", {"check": found})


def _by_whom(checks: Sequence[Check]) -> list[tuple[Check, str]]:
    names = words.names(each.asked_by for each in checks)
    return [(each, names.get(each.asked_by, each.asked_by)) for each in checks]
