"""Serves `/admin/audit/verify/`: the status of the chain, its anchors and last verifications."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from audit import background_jobs
from audit.signing import anchors
from audit.verification import runs
from audit.verification.ledger_status import get_current_verdict, get_ledger_status
from web.permissions import VERIFY_LEDGER, VIEW_ENTRIES
from web.shell import event_labels
from web.shell.access import CHANGE, READ, SignedIn, restrict_page
from web.trail.jobs import is_job_done, render_job

MAX_VERIFICATIONS_SHOWN = 5


@restrict_page(READ, permission=VIEW_ENTRIES)
def verification_overview(request: SignedIn) -> HttpResponse:
    """Show the status of the ledger, its anchors, and its last verifications."""
    verifications = runs.list_latest_runs(MAX_VERIFICATIONS_SHOWN)
    names = event_labels.name_actors(run.asked_by for run in verifications)
    context = {
        "verdict": get_current_verdict(),
        "ledger_status": get_ledger_status(),
        "unanchored": anchors.list_unanchored(),
        "verifications": [(run, names.get(run.asked_by, run.asked_by)) for run in verifications],
        "kept_days": settings.RETENTION_DAYS,
        "full_verifications_kept": runs.FULL_CHECKS_KEPT,
        "can_verify": request.user.has_perm(VERIFY_LEDGER),
    }
    return render(request, "trail/verification_overview.html", context)


@restrict_page(CHANGE, permission=VERIFY_LEDGER)
def start_verification(request: SignedIn) -> HttpResponse:
    """Request a verification, and redirect to the page with its progress."""
    return redirect("trail_check", runs.request_check(request.user.actor).pk)


@restrict_page(READ, permission=VIEW_ENTRIES)
def verification_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the progress of a verification that a person requested, then its result."""
    job = background_jobs.find_job(runs.KIND, pk)
    if job is None:
        raise Http404
    run = runs.find_run(job.result["run"]) if is_job_done(job) else None
    return render_job(request, job, "trail/verification", {"verification": run})
