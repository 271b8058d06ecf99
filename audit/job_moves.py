"""Records how the states of jobs change.

The moves of a job that a person or a program requested are ledger entries, which are logged too.
Those of a job that the software scheduled for itself are only lines of the log.
"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import transaction

from audit.ledger import entry_log
from audit.ledger.actors import SYSTEM, Actor
from audit.ledger.log import record
from audit.models import AuditJob

logger = logging.getLogger(__name__)

SYSTEM_WORKER = Actor("system:worker")


def is_on_record(job: AuditJob) -> bool:
    """Return whether a person or a program requested the job."""
    return not job.asked_by.startswith(SYSTEM)


def record_event(
    event: str, job: AuditJob, *, by: Actor, detail: Mapping[str, Any], **logged: Any
) -> None:
    """Record an event of a job. `logged` are keys of its line in the log. Call it in `ledger()`."""
    facts = {entry_log.NAME: _name(job), "attempt": job.attempts, **logged}
    record(event, subject=_subject(job), by=by, detail=detail, logged=facts)


def record_end(job: AuditJob, before: str, code: str = "") -> None:
    """Record the end of a job that is on record or was cancelled. Log that of another one.

    Call it inside `ledger()`. `before` is the state that the job had, and `code` the class of the
    error that ended it.
    """
    event = f"job.{job.state}"
    logged: dict[str, Any] = {"code": code}
    if before == AuditJob.State.RUNNING and job.started_at and job.finished_at:
        logged["ms"] = round((job.finished_at - job.started_at).total_seconds() * 1000)
    if not is_on_record(job) and not job.cancel_requested_by:
        log_move(event, job, before, **logged)
        return
    by = SYSTEM_WORKER
    if job.state == AuditJob.State.CANCELLED and job.cancel_requested_by:
        by = Actor(job.cancel_requested_by, job.cancel_requested_role)
    detail = {"kind": job.kind, "attempts": job.attempts}
    if job.error:
        detail["error"] = job.error
    record_event(event, job, by=by, detail=detail, **{"from": before, "to": job.state}, **logged)


def log_move(event: str, job: AuditJob, before: str, **logged: Any) -> None:
    """Log a move of a job that is no ledger entry, after the commit.

    `before` is the state that the job had.
    """
    facts = {"from": before, "to": job.state, "attempt": job.attempts, **logged}
    transaction.on_commit(partial(_write_line, event, _name(job), facts))


def _write_line(event: str, name: str, facts: Mapping[str, Any]) -> None:
    level = logging.WARNING if event in entry_log.WARNING_EVENTS else logging.INFO
    logger.log(level, "%s %s", event, name, extra=facts)


def _subject(job: AuditJob) -> str:
    return f"job:{job.pk}"


def _name(job: AuditJob) -> str:
    """Return how lines of the log name a job. The kinds are names in the code."""
    return f"{_subject(job)} {job.kind}"
