"""Defines the tasks that django-q2 runs. Each calls the module that does the work."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.core.management import call_command
from django.db import close_old_connections, connections

from audit import job_runs
from audit.ledger.actors import OPERATIONS, Actor
from audit.verification import runs
from ingestion import notifications
from ingestion.dispatch import shift, wakeup
from ingestion.dispatch.processes import drain, worker_presence
from ingestion.documents import expiries, inert_renditions
from ingestion.fhir import export as fhir_export
from ingestion.intake import retrying
from ingestion.learning import training
from ingestion.operations import retention, site_summaries
from ingestion.storage import archive_verification, object_locks

# After this time other wakeups were sent, so a wakeup is useless. It is shorter than `retry`, after
# which the broker would deliver the wakeups of a dead cluster again.
WAKEUP_LIFETIME = timedelta(minutes=15)


def work_shift() -> str:
    """Work on the chunks that are due, and return what the shift did, for the pages of django-q2.

    Ends the worker if it received SIGTERM or lost its parent meanwhile, also if the shift fails.

    A CancelledError that left the task would kill the worker silently, because it is not an
    Exception.
    """
    try:
        with _own_connections(), worker_presence.mark_busy():
            report = shift.work_shift()
    except asyncio.CancelledError as error:
        raise RuntimeError("the shift was cancelled") from error
    finally:
        if drain.is_asked_to_leave():
            raise SystemExit(128 + signal.SIGTERM)  # the exit code of a shell for SIGTERM
    return str(report)


def purge_wakeups() -> None:
    """Delete wakeups that a killed cluster had taken, which the broker's table keeps otherwise."""
    with _own_connections():
        wakeup.purge_wakeups(WAKEUP_LIFETIME)


def summarise_sites() -> None:
    """Refresh the summaries of sites that changed. The worker counts as busy meanwhile."""
    with _own_connections(), worker_presence.mark_busy():
        site_summaries.refresh_summaries()


def prune() -> None:
    """Remove what finished batches and exports no longer need, by the retention policy."""
    with _own_connections():
        retention.prune()
        fhir_export.remove_expired_exports()


def note_expiries() -> None:
    """Record which documents on file expire soon, and which have expired."""
    with _own_connections():
        expiries.record_expiries()


def do_job() -> None:
    """Run the next job of `audit.job_runs`. The worker counts as busy, as in a shift."""
    with _own_connections(), worker_presence.mark_busy():
        job_runs.run_next_job(
            worker=worker_presence.get_current_owner(), beat=worker_presence.record_heartbeat
        )


def verify_ledger() -> None:
    """Start a job that verifies the new entries, and a seventh of the older ones."""
    with _own_connections():
        runs.run_nightly_check()


def verify_archive() -> None:
    """Start a job that verifies a part of the archive. Each file is read once a month."""
    with _own_connections():
        archive_verification.queue_nightly_verification()


def follow_locks() -> None:
    """Start a job that adjusts the bucket's locks to what changed, and to a part of the rest."""
    with _own_connections():
        object_locks.queue_nightly_update(archive_verification.list_parts_of_day())


def retry_lock_changes() -> None:
    """Start a job for changes of locks that failed, when their wait is over."""
    with _own_connections():
        object_locks.queue_due_changes()


def retry_inert_renditions() -> None:
    """Start a job for inert renditions that failed, when their wait is over."""
    with _own_connections():
        inert_renditions.queue_due_renditions()


def retry_installed_languages() -> None:
    """Queue the documents again that were held for a language that is installed now."""
    with _own_connections():
        retrying.retry_installed_languages(by=Actor.software("installed languages", OPERATIONS))


def retry_approved_portals() -> None:
    """Queue the documents again that were held until the address of their portal was approved."""
    with _own_connections():
        retrying.retry_approved_portals(by=Actor.software("approved portals", OPERATIONS))


def learn_from_decisions() -> None:
    """Start a job that trains a model of document types, if there are enough new decisions."""
    with _own_connections():
        training.request_training_if_due()


def send_digests() -> None:
    """Send the digests that are due. An error of the mail server affects no other task."""
    with _own_connections():
        notifications.send_due()


def clear_sessions() -> None:
    """Delete expired sessions."""
    with _own_connections():
        call_command("clearsessions")


@contextmanager
def _own_connections() -> Iterator[None]:
    """Drop connections that the server closed, and close all connections at the end.

    A worker keeps no connection open while it is idle.
    """
    close_old_connections()
    try:
        yield
    finally:
        connections.close_all()
