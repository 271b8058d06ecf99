"""Starts real worker hosts on the database and the folders of the tests."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from django.db import connection

from bench.chaos import processes
from bench.chaos.processes import descendants, is_running

__all__ = [
    "PATIENT",
    "descendants",
    "environment",
    "eventually",
    "find",
    "folders_of",
    "is_running",
    "kill",
    "start_host",
    "stop_host",
    "worker_host",
]


# For tests in which no worker dies: a busy machine must not look like a dead worker.
PATIENT = {"LEASE_SECONDS": "20", "HEARTBEAT_SECONDS": "2", "WATCHDOG_SECONDS": "30"}


def environment(settings, **changes):
    """Return the environment of a worker process on the database and folders of the tests."""
    database = connection.settings_dict
    url = f"sqlite:///{database['NAME']}"
    if connection.vendor == "postgresql":
        url = "postgres://{USER}@{HOST}:{PORT}/{NAME}".format(**database)
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_URL": url,
        "SPOOL_DIR": str(settings.SPOOL_DIR),
        "ARCHIVE_DIR": str(settings.ARCHIVE_DIR),
        "ANCHOR_DIR": str(settings.ANCHOR_DIR),
        "AUDIT_KEY_FILE": str(settings.AUDIT_KEY_FILE),
        "EXPORT_DIR": str(settings.EXPORT_DIR),
        "LEASE_SECONDS": "4",
        "HEARTBEAT_SECONDS": "1",
        "WATCHDOG_SECONDS": "3",
        # The breaker opens for so long after five failures in a row, which may occur by chance.
        "BREAKER_COOLDOWN_SECONDS": "2",
        **changes,
    }


@contextmanager
def worker_host(settings, *before, **changes):
    """Run `manage.py workers` while the block runs. Yields the process."""
    host = start_host(settings, *before, **changes)
    try:
        yield host
    finally:
        stop_host(host)


def start_host(settings, *before, arguments=(), **changes):
    """Start a host and wait until it works. `before` precedes the command, for example `nohup`."""
    program = [sys.executable, str(settings.BASE_DIR / "manage.py"), "workers"]
    command = [*before, *program, *arguments]
    host = subprocess.Popen(
        command, env=environment(settings, **changes), stdout=subprocess.PIPE, text=True
    )
    assert "Working" in host.stdout.readline()
    return host


def stop_host(host):
    """Stop a host, and return its exit code. It may be called again."""
    if host.poll() is None:
        host.send_signal(signal.SIGTERM)
    host.stdout.close()
    return host.wait(70)


def eventually(answer, *, seconds=180):
    """Wait until `answer()` is true, and return its value.

    Fails after `seconds`, so that a test that would wait for ever ends.
    """
    until = time.monotonic() + seconds
    while not (last := answer()):
        assert time.monotonic() < until, f"never came true: {last!r}"
        time.sleep(0.1)
    return last


def find(host, role):
    """Return the living processes of a host with this role: cluster, sentinel, worker, parser."""
    return processes.find(host.pid, role)


def kill(host, role, number=signal.SIGKILL):
    """Send a signal to the processes with this role, as soon as any lives. Returns their number."""
    pids = eventually(lambda: find(host, role))
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    return len(pids)


def folders_of(host):
    """Return the temporary folders of the clusters of a host."""
    return list(Path(tempfile.gettempdir()).glob(f"siteledger-host-{host.pid}-*"))
