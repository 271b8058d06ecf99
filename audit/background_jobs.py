"""Runs work that no request waits for, such as verifications, exports and the training of models.

A job is a row of `AuditJob`, which stores its progress and its result for pages. A message of the
outbox, written with it, is delivered by running the job: the outbox decides which worker runs it
and runs it again if that worker dies. A job that raises an exception has failed and is not run
again. A job whose worker died `MAX_ATTEMPTS` times has failed too.

The kinds of jobs are registered at start in one place (`ingestion.registrations`), so that each
process knows all of them. A worker leaves a job of a kind that it does not know, or that cannot run
on its host, to other workers.

`audit` has no workers of its own. A function that wakes one is registered at start; the worker
then calls `run_next_job()`. A wakeup may be lost, because each host calls `maintain_jobs()` at each
tick, or doubled, because a worker that finds no job does nothing.
"""

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import DatabaseError, connections, transaction
from django.utils import timezone
from django.utils.translation import ngettext

from audit import outbox
from audit.models import AuditJob, OutboxMessage
from audit.outbox import Delivery, DeliveryPolicy, LeaseExpired, MessageKind, NothingToDeliver

__all__ = [
    "AuditJob",
    "ExplainedFailure",
    "find_job",
    "list_latest_jobs",
    "list_registered_kinds",
    "maintain_jobs",
    "recover_jobs_of",
    "register_kind",
    "register_wakeup",
    "remove_old_jobs",
    "report_progress",
    "request_job",
    "run_next_job",
    "schedule_job",
]  # fmt: skip

logger = logging.getLogger(__name__)

Wakeup = Callable[[], object]
Work = Callable[[AuditJob], Mapping[str, Any]]
Beat = Callable[[], object]

MAX_ATTEMPTS = 3
HEARTBEAT_SECONDS = 1.0
HEARTBEAT_TIMEOUT = timedelta(minutes=1)  # a worker without a heartbeat for so long counts as dead
WAKE_UP_INTERVAL = timedelta(seconds=30)  # between two wakeups for the same job
SYSTEM_ACTOR = "system:worker"

# A job that raises is not run again, so these waits bound nothing.
RETRY = DeliveryPolicy(timedelta(0), timedelta(0), max_attempts=MAX_ATTEMPTS)
_PREFIX = "job."  # of the kinds of messages that are jobs


class ExplainedFailure(Exception):
    """A job cannot be done, and the message tells people why. Pages show it as it is."""


_works: dict[str, Work] = {}
_wakeups: list[Wakeup] = []
_State = AuditJob.State


def register_wakeup(wakeup: Wakeup) -> None:
    """Use this function to wake a worker. It may fail: the next tick calls it again."""
    _wakeups[:] = [wakeup]


def register_kind(name: str, work: Work, *, can_work: Callable[[], bool] = lambda: True) -> None:
    """Run jobs of this kind with `work`, which returns the job's result.

    A host on which `can_work` returns False leaves these jobs to other hosts.
    """
    _works[name] = work
    outbox.register_kinds(
        MessageKind(f"{_PREFIX}{name}", None, RETRY, lease=HEARTBEAT_TIMEOUT, can_deliver=can_work)
    )


def list_registered_kinds() -> list[str]:
    """Return the names of all kinds that this process knows."""
    return sorted(_works)


def request_job(kind: str, arguments: Mapping[str, Any], actor: str) -> AuditJob:
    """Create a job that is due at once. A worker is woken when the transaction has committed.

    Raises ValueError for a kind that is not registered.
    """
    job = _create(kind, arguments, actor, key="", due_at=timezone.now())
    transaction.on_commit(maintain_jobs)
    return job


def schedule_job(
    kind: str, arguments: Mapping[str, Any], *, delay: timedelta = timedelta(0)
) -> AuditJob:
    """Create a job of the system that is due after `delay`.

    A scheduled job with the same arguments that no worker has started yet is shared. Raises
    ValueError for a kind that is not registered.
    """
    text = json.dumps(arguments, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()
    if shared := outbox.share(f"{_PREFIX}{kind}", key):
        return _job_of(shared)
    return _create(kind, arguments, SYSTEM_ACTOR, key=key, due_at=timezone.now() + delay)


def find_job(kind: str, pk: int) -> AuditJob | None:
    """Return the job, or None if there is none of this kind and key."""
    return AuditJob.objects.filter(kind=kind, pk=pk).first()


def list_latest_jobs(kind: str, count: int) -> list[AuditJob]:
    """Return the newest jobs of a kind, at most `count`."""
    return list(AuditJob.objects.filter(kind=kind).order_by("-pk")[:count])


def report_progress(job: AuditJob, done: int, total: int) -> None:
    """Note how much of a job is done. The next heartbeat writes it, in a transaction of its own."""
    job.done, job.total = done, total


def run_next_job(*, worker: str = "", beat: Beat = lambda: None) -> bool:
    """Run the job that has been due for longest and that this host can run.

    `worker` names the worker. `beat` is called about once a second, in another thread. Returns
    False if no job is due.
    """
    delivery = outbox.claim_next(_message_kinds(), by=worker)
    if delivery is None:
        return False
    outbox.deliver(delivery, partial(_run, beat=beat))
    return True


def maintain_jobs(now: datetime | None = None) -> None:
    """Let jobs of dead workers wait again, and wake a worker for jobs that are due.

    Makes one query if there is nothing to do.
    """
    now = now or timezone.now()
    is_wakeup_needed = False
    for message in OutboxMessage.objects.filter(kind__in=_message_kinds()).exclude(
        state=OutboxMessage.State.DEAD
    ):
        if message.lease_until and message.lease_until < now:
            _release(message, now)
        elif message.state == OutboxMessage.State.WAITING and message.due_at <= now:
            is_wakeup_needed |= _claim_wakeup(message, now)
    if is_wakeup_needed:
        for wakeup in _wakeups:
            try:
                wakeup()
            except Exception:  # The broker's library raises its own errors. The next tick retries.
                logger.exception("no worker could be woken")


def remove_old_jobs(before: datetime) -> int:
    """Remove finished jobs of the system that ended before that time. Returns how many.

    Jobs that a person requested stay, and so do failed ones. A verification has a row of its own.
    """
    done = AuditJob.objects.filter(state=_State.DONE, asked_by=SYSTEM_ACTOR, finished_at__lt=before)
    return done.delete()[0]


def recover_jobs_of(worker: str) -> None:
    """Let the jobs of a worker wait again whose host noticed that it died."""
    claimed = OutboxMessage.objects.filter(state=OutboxMessage.State.CLAIMED, claimed_by=worker)
    for message in claimed.filter(kind__in=_message_kinds()):
        _release(message, timezone.now())


def _message_kinds() -> list[str]:
    return [f"{_PREFIX}{name}" for name in _works]


def _create(
    kind: str, arguments: Mapping[str, Any], actor: str, *, key: str, due_at: datetime
) -> AuditJob:
    if kind not in _works:
        raise ValueError(f"there is no kind of job {kind!r}")
    with transaction.atomic():
        job = AuditJob.objects.create(kind=kind, arguments=dict(arguments), asked_by=actor)
        message = outbox.post(f"{_PREFIX}{kind}", {"job": job.pk}, key=key, due_at=due_at)
        if message.payload["job"] != job.pk:  # Another process scheduled the same just now.
            job.delete()
            return _job_of(message)
    return job


def _job_of(message: OutboxMessage) -> AuditJob:
    return AuditJob.objects.get(pk=message.payload["job"])


def _run(delivery: Delivery, beat: Beat) -> None:
    """Run a job as the handler of its message.

    The end of the job and the end of its message are one transaction. It is rolled back if this
    worker counted as dead meanwhile, because another worker runs the job then.
    """
    with transaction.atomic():
        delivery.extend()
        job = AuditJob.objects.filter(pk=delivery.payload["job"]).exclude(state=_State.DONE).first()
        if job is None:
            raise NothingToDeliver
        job.state, job.started_at, job.error = _State.RUNNING, timezone.now(), ""
        job.done = job.total = 0
        job.attempts += 1
        job.save(update_fields=["state", "started_at", "error", "done", "total", "attempts"])
    try:
        with _heartbeat(delivery, job, beat):
            result = _works[job.kind](job)
    except Exception as error:  # A fault of one job must not stop the worker.
        logger.exception("%s failed", job)
        job.state = _State.FAILED
        is_explained = isinstance(error, ExplainedFailure)
        job.error = str(error) if is_explained else f"{type(error).__name__}: {error}"
    else:
        job.state, job.result = _State.DONE, dict(result)
    job.finished_at = timezone.now()
    with transaction.atomic():
        delivery.complete()
        job.save(update_fields=["state", "error", "result", "done", "total", "finished_at"])


@contextmanager
def _heartbeat(delivery: Delivery, job: AuditJob, beat: Beat) -> Iterator[None]:
    """Extend the lease and write the job's progress regularly, in a thread, during the block."""
    is_over = threading.Event()

    def run() -> None:
        try:
            while not is_over.wait(HEARTBEAT_SECONDS):
                beat()
                _write_heartbeat(delivery, job)
        finally:
            connections.close_all()  # of this thread

    thread = threading.Thread(target=run, name=f"heartbeat of job {job.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _write_heartbeat(delivery: Delivery, job: AuditJob) -> None:
    try:
        with transaction.atomic():
            delivery.extend()
            AuditJob.objects.filter(pk=job.pk).update(done=job.done, total=job.total)
    except LeaseExpired:
        logger.warning("%s was given to another worker meanwhile", job)
    except DatabaseError:
        logger.warning("the heartbeat of %s could not be written", job, exc_info=True)


def _release(message: OutboxMessage, now: datetime) -> None:
    """End the claim of a dead worker: its job waits again, or has failed."""
    with transaction.atomic():
        if not outbox.release(message, now):
            return
        job = AuditJob.objects.filter(pk=message.payload["job"])
        if message.state == OutboxMessage.State.WAITING:
            job.update(state=_State.WAITING)
        else:
            sentence = ngettext(
                "Its worker died {n} time. The logs of the worker hosts may show the reason.",
                "Its worker died {n} times. The logs of the worker hosts may show the reason.",
                message.attempts,
            )
            error = sentence.format(n=message.attempts)
            job.update(state=_State.FAILED, error=error, finished_at=now)


def _claim_wakeup(message: OutboxMessage, now: datetime) -> bool:
    """Return whether this host wakes a worker for the message: one host does, now and then."""
    if message.woken_at is not None and message.woken_at > now - WAKE_UP_INTERVAL:
        return False
    same = OutboxMessage.objects.filter(
        pk=message.pk, state=OutboxMessage.State.WAITING, woken_at=message.woken_at
    )
    return same.update(woken_at=now) == 1
