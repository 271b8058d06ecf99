"""Estimates how long background jobs take, from earlier jobs and from their own progress."""

from django.utils import timezone

from audit import background_jobs, estimates, job_runs
from audit.estimates import Estimate
from audit.models import AuditJob, OutboxMessage

MAX_PACE_SAMPLES = 20  # earlier jobs from which the duration is estimated
MIN_ALIKE_SAMPLES = 3  # with fewer jobs of the same arguments, all jobs of the kind are samples


def estimate_job(job: AuditJob) -> Estimate | None:
    """Estimate the seconds until a job ends, from earlier jobs of its kind and its own progress.

    If it waits, the upper bound contains the open jobs that come before it, as if one worker ran
    them all. Returns None if the job has ended, or nothing is known about its kind.
    """
    if job.is_final:
        return None
    own = _estimate_work(job)
    if own is None or job.state == AuditJob.State.RUNNING:
        return own
    ahead = 0
    turns = dict(
        OutboxMessage.objects.filter(kind__in=job_runs.list_message_kinds())
        .exclude(state=OutboxMessage.State.DEAD)
        .values_list("payload__job", "turn_at")
    )
    before = [key for key, turn in turns.items() if job.pk in turns and turn < turns[job.pk]]
    for other in AuditJob.objects.filter(pk__in=before, state__in=background_jobs.OPEN_STATES):
        estimate = _estimate_work(other)
        ahead += estimate.high if estimate else 0
    return Estimate(own.low, own.likely, own.high + ahead)


def _estimate_work(job: AuditJob) -> Estimate | None:
    """Estimate the seconds of work that a job still needs, without the time that it waits."""
    measure = background_jobs.get_measure(job.kind)
    ended = AuditJob.objects.filter(kind=job.kind, state=AuditJob.State.DONE).order_by("-pk")
    columns = ("started_at", "finished_at", "total")
    alike = list(ended.filter(arguments=job.arguments).values_list(*columns)[:MAX_PACE_SAMPLES])
    if len(alike) < MIN_ALIKE_SAMPLES:
        alike = list(ended.values_list(*columns)[:MAX_PACE_SAMPLES])
    seconds = [
        (finished - started).total_seconds() / (max(total, 1) if measure else 1)
        for started, finished, total in alike
        if started and finished
    ]
    elapsed = 0.0
    if job.state == AuditJob.State.RUNNING and job.started_at:
        elapsed = (timezone.now() - job.started_at).total_seconds()
    if measure:
        total = max(job.total or measure(job.arguments), 1)
        return estimates.estimate_remaining(seconds, total=total, done=job.done, elapsed=elapsed)
    done = job.done / job.total if job.total else 0.0
    return estimates.estimate_remaining(seconds, total=1, done=done, elapsed=elapsed)
