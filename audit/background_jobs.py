"""Requests, cancels, lists and removes background jobs, such as verifications and exports.

A job is work that no web request waits for. It is a row of `AuditJob`, which stores its progress
and its result for pages. A message of the outbox, written with it, says when it is due.
`audit.job_runs` runs it in a worker.

A job that a person or a program requested is on record: its request, its cancellation and its end
are ledger entries. Jobs that the software schedules for itself are not, because their effects are.

A waiting job is cancelled at once. A running one is asked to stop (`audit.job_runs`).
"""

import hashlib
import json
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from audit import job_moves, job_runs, outbox
from audit.job_moves import SYSTEM_WORKER
from audit.job_runs import CANCEL_COLUMNS, MESSAGE_PREFIX, Measure, end_as_cancelled
from audit.ledger import actors
from audit.ledger.actors import SYSTEM, Actor
from audit.ledger.log import ledger
from audit.models import AuditJob, OutboxMessage

__all__ = [
    "AuditJob",
    "JobAlreadyEnded",
    "JobKeyReused",
    "TooManyJobs",
    "cancel_job",
    "find_job",
    "get_measure",
    "get_requester",
    "list_jobs",
    "list_latest_jobs",
    "remove_expired_jobs",
    "remove_job",
    "remove_old_jobs",
    "request_job",
    "schedule_job",
    "wait_until_ended",
]  # fmt: skip

PRIORITIES = range(1, 11)  # 1 is the most urgent
DEFAULT_PRIORITY = 5
# A job waits as if it had been due so much earlier for each step of priority, so that jobs of low
# priority come first after they have waited long enough.
PRIORITY_STEP = timedelta(minutes=5)
MAX_OPEN_JOBS = 20  # of one owner
OPEN_STATES = (AuditJob.State.WAITING, AuditJob.State.RUNNING)
_State = AuditJob.State


class JobAlreadyEnded(Exception):
    """The job has ended, so it cannot be cancelled."""


class JobKeyReused(Exception):
    """The idempotency key was used for another job, and nothing was registered."""


class TooManyJobs(Exception):
    """The owner has MAX_OPEN_JOBS jobs that have not ended, and nothing was registered."""


def get_measure(name: str) -> Measure | None:
    """Return the function that measures jobs of a kind, or None if it has none."""
    kind = job_runs.find_kind(name)
    return kind.measure if kind else None


def request_job(  # noqa: PLR0913 - the parts of a request; callers name each
    kind: str,
    arguments: Mapping[str, Any],
    by: Actor,
    *,
    owner: str = "",
    priority: int = DEFAULT_PRIORITY,
    idempotency_key: str = "",
    parameters: Mapping[str, Any] | None = None,
) -> AuditJob:
    """Create a job that is due at once. A worker is woken when the transaction has committed.

    `owner` is who may read and cancel it, by default `by`. With an idempotency key, an equal
    request returns the same job. `parameters` are what was requested, if `arguments` were made of
    it: requests with the same parameters are equal, although their arguments may differ from one
    day to the next. The request of a person or a program is recorded in the ledger.

    Raises JobKeyReused, TooManyJobs, and ValueError for a kind that is not registered.
    """
    owner = owner or by.name
    request = [kind, arguments if parameters is None else parameters, priority, owner]
    digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
    if same := _find_by_key(idempotency_key, digest):
        return same
    is_on_record = not by.name.startswith(SYSTEM)
    if (
        is_on_record
        and list_jobs().filter(owner=owner, state__in=OPEN_STATES).count() >= MAX_OPEN_JOBS
    ):
        raise TooManyJobs(f"{MAX_OPEN_JOBS} jobs of {owner} have not ended")
    try:
        # Jobs of the software may be requested inside a transaction of any kind.
        with ledger() if is_on_record else transaction.atomic():
            job = _create(
                kind,
                arguments,
                by,
                due_at=timezone.now(),
                owner=owner,
                priority=priority,
                idempotency_key=idempotency_key or None,
                request_digest=digest,
                parameters=None if parameters is None else dict(parameters),
            )
            if is_on_record:
                asked = {"kind": kind, "arguments": dict(arguments), "priority": priority}
                job_moves.record_event("job.requested", job, by=by, detail=asked, to=job.state)
    except IntegrityError:  # The same request was received twice, and the other was first.
        if same := _find_by_key(idempotency_key, digest):
            return same
        raise
    transaction.on_commit(job_runs.maintain_jobs)
    return job


def cancel_job(job: AuditJob, by: Actor) -> None:
    """Request the cancellation of a job, and update `job`. A second call changes nothing.

    A job that no worker has is CANCELLED when this returns. The caller decides whether `by` may
    cancel it. Raises JobAlreadyEnded.
    """
    with ledger():
        message = _messages_of(job).select_for_update().first()
        row = AuditJob.objects.select_for_update().get(pk=job.pk)
        if row.is_final:
            raise JobAlreadyEnded(f"job {row.pk} is {row.state} already")
        if row.cancel_requested_at is None:
            row.cancel_requested_at = timezone.now()
            row.cancel_requested_by = actors.add_process(by.name)
            row.cancel_requested_role = by.role
            row.save(update_fields=CANCEL_COLUMNS)
            job_moves.record_event("job.cancel_requested", row, by=by, detail={"kind": row.kind})
        if message is None or message.state != OutboxMessage.State.CLAIMED:
            _messages_of(row).delete()
            end_as_cancelled(row, timezone.now())
    job.refresh_from_db()


def schedule_job(
    kind: str, arguments: Mapping[str, Any], *, delay: timedelta = timedelta(0)
) -> AuditJob:
    """Create a job of the system that is due after `delay`.

    A scheduled job with the same arguments that no worker has started yet is shared. Raises
    ValueError for a kind that is not registered.
    """
    text = json.dumps(arguments, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()
    if shared := outbox.share(f"{MESSAGE_PREFIX}{kind}", key):
        return _job_of(shared)
    return _create(kind, arguments, SYSTEM_WORKER, key=key, due_at=timezone.now() + delay)


def list_jobs() -> "QuerySet[AuditJob]":
    """Return the jobs of all kinds. The caller selects those that its user may see."""
    return AuditJob.objects.all()


def wait_until_ended(job: AuditJob, seconds: float) -> None:
    """Wait until a job has ended, at most `seconds`, and read its row again."""
    until, delay = time.monotonic() + seconds, 0.05
    while not job.is_final and (left := until - time.monotonic()) > 0:
        time.sleep(min(delay, left))
        delay = min(delay * 1.5, 1.0)
        job.refresh_from_db()


def get_requester(job: AuditJob) -> Actor:
    """Return who requested the job. Early releases stored the role among the arguments."""
    return Actor(job.asked_by, job.asked_role or job.arguments.get("role", ""))


def find_job(kind: str, pk: int) -> AuditJob | None:
    """Return the job, or None if there is none of this kind and key."""
    return AuditJob.objects.filter(kind=kind, pk=pk).first()


def list_latest_jobs(kind: str, count: int) -> list[AuditJob]:
    """Return the newest jobs of a kind, at most `count`."""
    return list(AuditJob.objects.filter(kind=kind).order_by("-pk")[:count])


def remove_old_jobs(before: datetime) -> int:
    """Remove finished jobs of the system that ended before that time. Returns how many.

    Jobs that a person requested stay, and so do failed ones (`remove_expired_jobs`). A verification
    has a row of its own.
    """
    done = AuditJob.objects.filter(
        state=_State.DONE, asked_by=SYSTEM_WORKER.name, finished_at__lt=before
    )
    return done.delete()[0]


def remove_expired_jobs(before: datetime, *, kind: str = "") -> int:
    """Remove all jobs, or those of a kind, that ended before that time. Returns how many.

    Their files are removed with them.
    """
    ended = AuditJob.objects.exclude(state__in=OPEN_STATES).filter(finished_at__lt=before)
    jobs = list(ended.filter(kind=kind) if kind else ended)
    for job in jobs:
        remove_job(job, by=SYSTEM_WORKER)
    return len(jobs)


def remove_job(job: AuditJob, *, by: Actor) -> None:
    """Remove a job that has ended, with its files, and record that if the job is on record."""
    if kind := job_runs.find_kind(job.kind):
        kind.discard(job)
    with ledger():
        if job_moves.is_on_record(job):
            detail = {"kind": job.kind, "state": job.state}
            job_moves.record_event("job.removed", job, by=by, detail=detail)
        job.delete()


def _messages_of(job: AuditJob) -> "QuerySet[OutboxMessage]":
    return OutboxMessage.objects.filter(kind=f"{MESSAGE_PREFIX}{job.kind}", payload__job=job.pk)


def _find_by_key(idempotency_key: str, digest: str) -> AuditJob | None:
    """Return the job of a key. Raises JobKeyReused if it was for another request."""
    if not idempotency_key:
        return None
    job = AuditJob.objects.filter(idempotency_key=idempotency_key).first()
    if job is not None and job.request_digest != digest:
        raise JobKeyReused(f"the key {idempotency_key!r} was used for another job")
    return job


def _create(
    kind: str,
    arguments: Mapping[str, Any],
    by: Actor,
    *,
    due_at: datetime,
    key: str = "",
    priority: int = DEFAULT_PRIORITY,
    **columns: Any,
) -> AuditJob:
    if job_runs.find_kind(kind) is None:
        raise ValueError(f"there is no kind of job {kind!r}")
    with transaction.atomic():
        job = AuditJob.objects.create(
            kind=kind,
            arguments=dict(arguments),
            asked_by=by.name,
            asked_role=by.role,
            priority=priority,
            **{"owner": by.name, **columns},
        )
        message = outbox.post(
            f"{MESSAGE_PREFIX}{kind}",
            {"job": job.pk},
            key=key,
            due_at=due_at,
            precedence=(DEFAULT_PRIORITY - priority) * PRIORITY_STEP,
        )
        if message.payload["job"] != job.pk:  # Another process scheduled the same just now.
            job.delete()
            return _job_of(message)
    return job


def _job_of(message: OutboxMessage) -> AuditJob:
    return AuditJob.objects.get(pk=message.payload["job"])
