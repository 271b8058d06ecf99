"""Work that nobody waits for: a row for each, done by whoever has time, on any host.

What kinds there are is registered at start, in one place (`ingestion.registrations`), so that each
process knows all of them. A worker leaves a job of a kind that it does not know, or cannot do on
its host.

`audit` has no workers of its own (decision 23): whoever has some registers a runner at start, which
asks one of them to call `work_next()` soon. The rows are the truth. A ring that is lost is rung
again by `look_after()`, which every host calls at its every tick; a doubled one finds nothing. A
job whose worker died is done once more, and fails when that has happened `MAX_ATTEMPTS` times.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, connections, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from audit.models import AuditJob

__all__ = [
    "AuditJob",
    "find_job",
    "latest_jobs",
    "maintain_jobs",
    "recover_jobs_of",
    "register_kind",
    "register_runner",
    "registered_kinds",
    "remove_old_jobs",
    "report_progress",
    "request_job",
    "run_next_job",
    "schedule_job",
]  # fmt: skip

logger = logging.getLogger(__name__)

Runner = Callable[[], object]
Work = Callable[[AuditJob], Mapping[str, Any]]

MAX_ATTEMPTS = 3
HEARTBEAT_SECONDS = 1.0
HEARTBEAT_TIMEOUT = timedelta(minutes=1)  # no sign for so long: the worker that had it is dead
WAKE_UP_INTERVAL = timedelta(seconds=30)
SYSTEM_ACTOR = "system:worker"


@dataclass(frozen=True, slots=True)
class _Kind:
    """`work` answers the job's result; `can_work` whether this host can do it now."""

    work: Work
    can_work: Callable[[], bool]


_kinds: dict[str, _Kind] = {}
_runners: list[Runner] = []
_State = AuditJob.State


def register_runner(runner: Runner) -> None:
    """The one that rings from now on. It may fail: the next look rings again."""
    _runners[:] = [runner]


def register_kind(name: str, work: Work, *, can_work: Callable[[], bool] = lambda: True) -> None:
    """Jobs of this kind are done by `work`, whose answer is their result.

    A host on which `can_work` answers False leaves them to the others.
    """
    _kinds[name] = _Kind(work, can_work)


def registered_kinds() -> list[str]:
    """Return the names of all kinds that this process knows."""
    return sorted(_kinds)


def request_job(kind: str, arguments: Mapping[str, Any], actor: str) -> AuditJob:
    """Somebody wants it now. A worker is rung for as soon as the row is committed."""
    job = _create(kind, arguments, actor, timezone.now())
    transaction.on_commit(maintain_jobs)
    return job


def schedule_job(
    kind: str, arguments: Mapping[str, Any], *, delay: timedelta = timedelta(0)
) -> AuditJob:
    """By itself, once, `delay` from now: whoever asks for the same until then shares the job."""
    for waiting in AuditJob.objects.filter(state=_State.WAITING, kind=kind, asked_by=SYSTEM_ACTOR):
        if waiting.arguments == arguments:
            return waiting
    return _create(kind, arguments, SYSTEM_ACTOR, timezone.now() + delay)


def find_job(kind: str, pk: int) -> AuditJob | None:
    return AuditJob.objects.filter(kind=kind, pk=pk).first()


def latest_jobs(kind: str, count: int) -> list[AuditJob]:
    """The newest so many, whoever asked for them."""
    return list(AuditJob.objects.filter(kind=kind).order_by("-pk")[:count])


def report_progress(job: AuditJob, done: int, total: int) -> None:
    """How far it is: written with the next sign of life, outside of a transaction of the job's."""
    job.done, job.total = done, total


def run_next_job(*, worker: str = "", sign: Callable[[], object] = lambda: None) -> bool:
    """Do the job that is due longest and that this host can do, as `worker`. False: there is none.

    Calls `sign` about once a second, in another thread.
    """
    ours = [name for name, kind in _kinds.items() if kind.can_work()]
    waiting = AuditJob.objects.filter(state=_State.WAITING, kind__in=ours)
    due = waiting.filter(due_at__lte=timezone.now())
    for job in due.order_by("due_at", "pk")[:10]:
        if _take(job, worker):
            _do(job, sign)
            return True
    return False


def maintain_jobs(now: datetime | None = None) -> None:
    """Start again what dead workers had, and ring for what is due. One query when all is quiet."""
    now = now or timezone.now()
    is_due = False
    for job in AuditJob.objects.filter(state__in=[_State.WAITING, _State.RUNNING]):
        if job.state == _State.RUNNING and job.seen_at and job.seen_at < now - HEARTBEAT_TIMEOUT:
            _start_again(job, now)
        elif job.state == _State.WAITING and job.due_at <= now:
            is_due |= _may_ring(job, now)
    if is_due:
        _ring()


def remove_old_jobs(before: datetime) -> int:
    """Remove what was asked for by itself and done by then. Answers how many.

    What a person asked for stays, and so does what failed; a check has a row of its own.
    """
    done = AuditJob.objects.filter(state=_State.DONE, asked_by=SYSTEM_ACTOR, finished_at__lt=before)
    return done.delete()[0]


def recover_jobs_of(worker: str) -> None:
    """Its host has seen it die: what it had need not wait until its silence tells."""
    for job in AuditJob.objects.filter(state=_State.RUNNING, worker=worker):
        _start_again(job, timezone.now())


def _create(kind: str, arguments: Mapping[str, Any], actor: str, due_at: datetime) -> AuditJob:
    if kind not in _kinds:
        raise ValueError(f"there is no kind of job {kind!r}")
    return AuditJob.objects.create(
        kind=kind, arguments=dict(arguments), asked_by=actor, due_at=due_at
    )


def _take(job: AuditJob, worker: str = "") -> bool:
    """One of those who try gets it."""
    now = timezone.now()
    waiting = AuditJob.objects.filter(pk=job.pk, state=_State.WAITING)
    terms = {"state": _State.RUNNING, "worker": worker, "started_at": now, "seen_at": now}
    is_ours = waiting.update(**terms, done=0, total=0, attempts=F("attempts") + 1) == 1
    if is_ours:
        job.refresh_from_db()
    return is_ours


def _do(job: AuditJob, sign: Callable[[], object]) -> None:
    try:
        with _signs(job, sign):
            result = _kinds[job.kind].work(job)
    except Exception as error:  # whatever one job does, the worker goes on
        logger.exception("%s failed", job)
        _end(job, _State.FAILED, error=f"{type(error).__name__}: {error}")
    else:
        _end(job, _State.DONE, result=dict(result))


def _end(job: AuditJob, state: AuditJob.State, **columns: Any) -> None:
    counts = {"done": job.done, "total": job.total, "finished_at": timezone.now()}
    if not _ours(job).update(state=state, **counts, **columns):
        logger.warning("%s was given to another worker meanwhile", job)


def _ours(job: AuditJob) -> "QuerySet[AuditJob]":
    """Unless we were taken for dead, and somebody else does it now."""
    return AuditJob.objects.filter(pk=job.pk, state=_State.RUNNING, attempts=job.attempts)


@contextmanager
def _signs(job: AuditJob, sign: Callable[[], object]) -> Iterator[None]:
    """While the block runs, somebody sees that we live, and how far we are."""
    over = threading.Event()

    def give_signs() -> None:
        try:
            while not over.wait(HEARTBEAT_SECONDS):
                sign()
                _write_sign(job)
        finally:
            connections.close_all()  # this thread's

    thread = threading.Thread(target=give_signs, name=f"signs of {job.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _write_sign(job: AuditJob) -> None:
    try:
        _ours(job).update(seen_at=timezone.now(), done=job.done, total=job.total)
    except DatabaseError:
        logger.warning("a sign of %s could not be written", job, exc_info=True)


def _start_again(job: AuditJob, now: datetime) -> None:
    silent = _ours(job).filter(seen_at=job.seen_at)
    if job.attempts < MAX_ATTEMPTS:
        logger.warning("the worker of %s fell silent; it is done again", job)
        silent.update(state=_State.WAITING, due_at=now, rung_at=None)
    else:
        why = f"Its worker died {job.attempts} times; the log of the hosts may say why."
        silent.update(state=_State.FAILED, error=why, finished_at=now)


def _may_ring(job: AuditJob, now: datetime) -> bool:
    """Of many hosts one rings, and again only after a while."""
    if job.rung_at is not None and job.rung_at > now - WAKE_UP_INTERVAL:
        return False
    same = AuditJob.objects.filter(pk=job.pk, state=_State.WAITING, rung_at=job.rung_at)
    return same.update(rung_at=now) == 1


def _ring() -> None:
    for runner in _runners:
        try:
            runner()
        except Exception:  # whatever the broker's library raises; the next look rings again
            logger.exception("no worker could be rung for")
