"""What django-q2 is asked to run. Each delegates at once."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.core.management import call_command
from django.db import close_old_connections, connections

from audit import background_jobs
from audit.verification import runs
from ingestion import notifications
from ingestion.dispatch import shift, wakeup
from ingestion.dispatch.processes import drain, worker_presence
from ingestion.documents import expiries
from ingestion.operations import retention, site_summaries
from ingestion.storage import archive_verification, object_locks

# A ring that is so old is of no use, for others were rung since. Sooner than `retry`, at which the
# broker would deliver those that a dead cluster had taken.
STALE = timedelta(minutes=15)


def work_shift() -> None:
    """Work the chunks that are due. Ends the worker if it was told to leave meanwhile.

    A CancelledError that left the task would kill the worker without a trace (it is no Exception).
    """
    with _connections_of_its_own(), worker_presence.mark_busy():
        try:
            shift.work_shift()
        except asyncio.CancelledError as error:
            if not drain.is_asked_to_leave():
                raise RuntimeError("the shift was cancelled") from error
    if drain.is_asked_to_leave():
        raise SystemExit(128 + signal.SIGTERM)  # as a shell would name it


def purge_rings() -> None:
    """Rings that a killed cluster had taken stay in the broker's table otherwise."""
    with _connections_of_its_own():
        wakeup.purge_wakeups(STALE)


def summarise_sites() -> None:
    """Whatever changed of them. Its host sees the worker at work, for it may take a while."""
    with _connections_of_its_own(), worker_presence.mark_busy():
        site_summaries.refresh()


def prune() -> None:
    """What finished batches needed while they were worked, by the policy of retention."""
    with _connections_of_its_own():
        retention.prune()


def note_expiries() -> None:
    """Which documents on file run out soon, and which have."""
    with _connections_of_its_own():
        expiries.note()


def do_job() -> None:
    """The next of `audit.background_jobs`. Its host sees the worker at work, as in a shift."""
    with _connections_of_its_own(), worker_presence.mark_busy():
        background_jobs.work_next(
            worker=worker_presence.current_owner(), sign=worker_presence.record_heartbeat
        )


def verify_ledger() -> None:
    """What is new, and a seventh of what is older, by a job of its own."""
    with _connections_of_its_own():
        runs.nightly()


def verify_archive() -> None:
    """A part of the archive, so that each file is read once a month, by a job of its own."""
    with _connections_of_its_own():
        archive_verification.nightly()


def follow_locks() -> None:
    """What a bucket locks is what the ledger says: whatever changed, and a part of the rest."""
    with _connections_of_its_own():
        object_locks.nightly(archive_verification.of_the_night())


def send_digests() -> None:
    """What people of the sites are to be told. A mail server that is away fails this alone."""
    with _connections_of_its_own():
        notifications.send_due()


def clear_sessions() -> None:
    """Sign-ins that have expired."""
    with _connections_of_its_own():
        call_command("clearsessions")


@contextmanager
def _connections_of_its_own() -> Iterator[None]:
    """None that the server dropped meanwhile; and none left open while the worker is idle."""
    close_old_connections()
    try:
        yield
    finally:
        connections.close_all()
