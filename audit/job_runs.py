"""Runs background jobs in a worker, whose function for each kind is registered at start.

A job is delivered by its message of the outbox, which decides which worker runs it and lets it run
again if that worker dies. A job that raises an exception has failed and is not run again. A job
whose worker died `MAX_ATTEMPTS` times has failed too.

A running job is asked to stop: its heartbeat finds the request, and the next `report_progress()`
or `check_cancelled()` of its work raises JobCancelled. A job that ends before it notices the
request keeps its result, unless its kind says that nobody can use the result then
(`cancel_discards_result`): it is cancelled, and its files are removed.

The kinds of jobs are registered in one place (`ingestion.registrations`), so that each process
knows all of them. A worker leaves a job of a kind that it does not know, or that cannot run on its
host, to other workers.

`audit` has no workers of its own. A function that wakes one is registered at start; the worker
then calls `run_next_job()`. A wakeup may be lost, because each host calls `maintain_jobs()` at each
tick, or doubled, because a worker that finds no job does nothing.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import DatabaseError, connections, transaction
from django.utils import timezone
from django.utils.translation import ngettext
from structlog.contextvars import bound_contextvars

from audit import job_moves, outbox
from audit.ledger.chain import NotCanonical
from audit.ledger.log import LedgerError, ledger
from audit.models import AuditJob, OutboxMessage
from audit.outbox import Delivery, DeliveryPolicy, LeaseExpired, MessageKind, NothingToDeliver

logger = logging.getLogger(__name__)

Wakeup = Callable[[], object]
Work = Callable[[AuditJob], Mapping[str, Any]]
Beat = Callable[[], object]
Measure = Callable[[Mapping[str, Any]], int]
MAX_ATTEMPTS = 3
HEARTBEAT_SECONDS = 1.0
HEARTBEAT_TIMEOUT = timedelta(minutes=1)  # a worker without a heartbeat for so long counts as dead
WAKE_UP_INTERVAL = timedelta(seconds=30)  # between two wakeups for the same job
# A job that raises is not run again, so these waits bound nothing.
RETRY = DeliveryPolicy(timedelta(0), timedelta(0), max_attempts=MAX_ATTEMPTS)
MESSAGE_PREFIX = "job."  # of the kinds of messages that are jobs


class ExplainedFailure(Exception):
    """A job cannot be done, and the message tells people why. Pages show it as it is."""


class JobCancelled(Exception):
    """The job was cancelled, or its lease was lost. Its work ends, and cleans up behind it."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """Describes how jobs of one kind are run, measured and removed."""

    name: str
    work: Work
    #: Returns how many units of work the arguments ask for, in the unit of `report_progress`.
    measure: Measure | None = None
    #: Removes the files of a job before its row is removed.
    discard: Callable[[AuditJob], object] = lambda _job: None
    #: Whether a job that ends after a request to cancel it is cancelled, and its files are removed.
    cancel_discards_result: bool = False


_kinds: dict[str, JobKind] = {}
_wakeups: list[Wakeup] = []
_State = AuditJob.State
CANCEL_COLUMNS = ["cancel_requested_at", "cancel_requested_by", "cancel_requested_role"]


def register_wakeup(wakeup: Wakeup) -> None:
    """Use this function to wake a worker. It may fail: the next tick calls it again."""
    _wakeups[:] = [wakeup]


def register_kind(
    name: str,
    work: Work,
    *,
    can_work: Callable[[], bool] = lambda: True,
    measure: Measure | None = None,
    discard: Callable[[AuditJob], object] = lambda _job: None,
    cancel_discards_result: bool = False,
) -> None:
    """Run jobs of this kind with `work`, which returns the job's result.

    A host on which `can_work` returns False leaves these jobs to other hosts. The other arguments
    are those of `JobKind`.
    """
    _kinds[name] = JobKind(name, work, measure, discard, cancel_discards_result)
    outbox.register_kinds(
        MessageKind(
            f"{MESSAGE_PREFIX}{name}", None, RETRY, lease=HEARTBEAT_TIMEOUT, can_deliver=can_work
        )
    )


def find_kind(name: str) -> JobKind | None:
    """Return the kind of this name, or None if this process does not know it."""
    return _kinds.get(name)


def list_registered_kinds() -> list[str]:
    """Return the names of all kinds that this process knows."""
    return sorted(_kinds)


def list_message_kinds() -> list[str]:
    """Return the kinds of the messages of the outbox that run jobs."""
    return [f"{MESSAGE_PREFIX}{name}" for name in _kinds]


def report_progress(job: AuditJob, done: int, total: int) -> None:
    """Note how much of a job is done. The next heartbeat writes it, in a transaction of its own.

    Raises JobCancelled if the job has to stop.
    """
    job.done, job.total = done, total
    check_cancelled(job)


def check_cancelled(job: AuditJob) -> None:
    """Raise JobCancelled if the job has to stop: it was cancelled, or another worker has it."""
    if job.is_stop_requested:
        raise JobCancelled(str(job))


def run_next_job(*, worker: str = "", beat: Beat = lambda: None) -> bool:
    """Run the next job that is due and that this host can run, in the order of priority and time.

    `worker` names the worker. `beat` is called about once a second, in another thread. Returns
    False if no job is due.
    """
    delivery = outbox.claim_next(list_message_kinds(), by=worker)
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
    for message in OutboxMessage.objects.filter(kind__in=list_message_kinds()).exclude(
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


def recover_jobs_of(worker: str) -> None:
    """Let the jobs of a worker wait again whose host noticed that it died."""
    claimed = OutboxMessage.objects.filter(state=OutboxMessage.State.CLAIMED, claimed_by=worker)
    for message in claimed.filter(kind__in=list_message_kinds()):
        _release(message, timezone.now())


def _run(delivery: Delivery, beat: Beat) -> None:
    """Run a job as the handler of its message.

    The end of the job and the end of its message are one transaction. It is rolled back if this
    worker counted as dead meanwhile, because another worker runs the job then.
    """
    with bound_contextvars(worker=delivery.message.claimed_by):
        job, code = _begin(delivery), ""
        try:
            with _heartbeat(delivery, job, beat):
                check_cancelled(job)
                result = _kinds[job.kind].work(job)
        except JobCancelled:
            job.state = _State.CANCELLED
        except Exception as error:  # A fault of one job must not stop the worker.
            logger.exception("%s failed", job)
            job.state, code = _State.FAILED, type(error).__name__
            is_explained = isinstance(error, ExplainedFailure)
            job.error = str(error) if is_explained else f"{code}: {error}"
        else:
            job.state, job.result = _State.DONE, dict(result)
        job.finished_at = timezone.now()
        _save_end(delivery, job, code)


def _begin(delivery: Delivery) -> AuditJob:
    """Return the job of a message, which is RUNNING now. Raises NothingToDeliver if it has ended.

    Raises LeaseExpired.
    """
    with transaction.atomic():
        delivery.extend()
        rows = AuditJob.objects.exclude(state__in=(_State.DONE, _State.CANCELLED))
        job = rows.filter(pk=delivery.payload["job"]).first()
        if job is None:
            raise NothingToDeliver
        before = job.state
        job.state, job.started_at, job.error = _State.RUNNING, timezone.now(), ""
        job.done = job.total = 0
        job.attempts += 1
        job.save(update_fields=["state", "started_at", "error", "done", "total", "attempts"])
        job_moves.log_move("job.started", job, before)
    job.is_stop_requested = job.cancel_requested_at is not None
    return job


def _save_end(delivery: Delivery, job: AuditJob, code: str) -> None:
    """Store the end of a job with its entry, or without it if the ledger refuses the entry.

    So the verification of a broken ledger ends, too. `code` is the class of the error that ended
    the job. Raises LeaseExpired.
    """
    columns = ["state", "error", "result", "done", "total", "finished_at"]
    try:
        with ledger():
            delivery.complete()
            _cancel_if_requested(job)
            job.save(update_fields=columns)
            job_moves.record_end(job, _State.RUNNING, code)
    except (LedgerError, NotCanonical, DatabaseError, ValueError):
        logger.exception("the end of %s could not be recorded in the ledger", job)
        with transaction.atomic():
            delivery.complete()
            job.save(update_fields=columns)


def _cancel_if_requested(job: AuditJob) -> None:
    """Cancel a job that is done, if its kind wants that and its cancellation was requested.

    Call it inside `ledger()`: the lock of the row decides whether the request or the end came
    first.
    """
    kind = _kinds[job.kind]
    if not kind.cancel_discards_result or job.state != _State.DONE:
        return
    row = AuditJob.objects.select_for_update().get(pk=job.pk)
    if row.cancel_requested_at is None:
        return
    for name in CANCEL_COLUMNS:
        setattr(job, name, getattr(row, name))
    kind.discard(job)
    job.state, job.result = _State.CANCELLED, {}


def end_as_cancelled(job: AuditJob, now: datetime) -> None:
    """Cancel a job that no worker has. Call it inside `ledger()`."""
    before = job.state
    job.state, job.finished_at = _State.CANCELLED, now
    job.save(update_fields=["state", "finished_at"])
    job_moves.record_end(job, before)


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
            row = AuditJob.objects.filter(pk=job.pk)
            row.update(done=job.done, total=job.total)
            if row.filter(cancel_requested_at__isnull=False).exists():
                job.refresh_from_db(fields=CANCEL_COLUMNS)  # who is named by the last entry
                job.is_stop_requested = True
    except LeaseExpired:
        logger.warning("%s was given to another worker meanwhile", job)
        job.is_stop_requested = True
    except DatabaseError:
        logger.warning("the heartbeat of %s could not be written", job, exc_info=True)


def _release(message: OutboxMessage, now: datetime) -> None:
    """End the claim of a dead worker: its job waits again, or it is cancelled, or has failed."""
    with ledger():
        if not outbox.release(message, now):
            return
        job = AuditJob.objects.filter(pk=message.payload["job"]).first()
        if job is None or job.is_final:
            return
        if job.cancel_requested_at:
            message.delete()
            end_as_cancelled(job, now)
        elif message.state == OutboxMessage.State.WAITING:
            job.state = _State.WAITING
            job.save(update_fields=["state"])
            job_moves.log_move("job.released", job, _State.RUNNING, worker=message.claimed_by)
        else:
            sentence = ngettext(
                "Its worker died {n} time. The logs of the worker hosts may show the reason.",
                "Its worker died {n} times. The logs of the worker hosts may show the reason.",
                message.attempts,
            )
            job.state, job.error = _State.FAILED, sentence.format(n=message.attempts)
            job.finished_at = now
            job.save(update_fields=["state", "error", "finished_at"])
            job_moves.record_end(job, _State.RUNNING, "WORKER_DIED")


def _claim_wakeup(message: OutboxMessage, now: datetime) -> bool:
    """Return whether this host wakes a worker for the message: one host does, now and then."""
    if message.woken_at is not None and message.woken_at > now - WAKE_UP_INTERVAL:
        return False
    same = OutboxMessage.objects.filter(
        pk=message.pk, state=OutboxMessage.State.WAITING, woken_at=message.woken_at
    )
    return same.update(woken_at=now) == 1
