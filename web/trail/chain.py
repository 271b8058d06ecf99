"""`/admin/audit/verify/`: where the chain stands, who holds its heads, and when it was checked."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from audit import background_jobs
from audit.signing import anchors
from audit.verification import runs
from audit.verification.ledger_status import current_verdict, ledger_status
from web.permissions import CHECK, SEE
from web.shell import event_labels
from web.shell.access import CHANGE, READ, SignedIn, page
from web.trail.jobs import is_job_done, render_job

CHECKS_SHOWN = 5


@page(READ, permission=SEE)
def verification_overview(request: SignedIn) -> HttpResponse:
    checks = runs.latest_runs(CHECKS_SHOWN)
    names = event_labels.name_actors(each.asked_by for each in checks)
    context = {
        "verdict": current_verdict(),
        "standing": ledger_status(),
        "unanchored": anchors.list_unanchored(),
        "checks": [(each, names.get(each.asked_by, each.asked_by)) for each in checks],
        "kept_days": settings.RETENTION_DAYS,
        "full_kept": runs.FULL_CHECKS_KEPT,
        "may_check": request.user.has_perm(CHECK),
    }
    return render(request, "trail/verification_overview.html", context)


@page(CHANGE, permission=CHECK)
def start_verification(request: SignedIn) -> HttpResponse:
    return redirect("trail_check", runs.request_check(request.user.actor_name).pk)


@page(READ, permission=SEE)
def verification_page(request: HttpRequest, pk: int) -> HttpResponse:
    """How far a check is that somebody asked for, and then what came of it."""
    job = background_jobs.find_job(runs.KIND, pk)
    if job is None:
        raise Http404
    found = runs.find_run(job.result["run"]) if is_job_done(job) else None
    return render_job(request, job, "trail/verification", {"check": found})
