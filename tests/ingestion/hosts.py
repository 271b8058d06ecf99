"""Worker hosts that are real processes, on the tests' own database and folders."""

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


def environment(settings, **changes):
    """What a worker process needs to work on the tests' own database and folders."""
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
        # Five failures in a row, as bad luck may have them, silence a portal for so long.
        "BREAKER_COOLDOWN_SECONDS": "2",
        **changes,
    }


@contextmanager
def worker_host(settings, *before, **changes):
    """`manage.py workers`, stopped on the way out. Yields the process."""
    host = start_host(settings, *before, **changes)
    try:
        yield host
    finally:
        stop_host(host)


def start_host(settings, *before, **changes):
    """With what stands `before` the command, as `nohup`."""
    command = [*before, sys.executable, str(settings.BASE_DIR / "manage.py"), "workers"]
    host = subprocess.Popen(
        command, env=environment(settings, **changes), stdout=subprocess.PIPE, text=True
    )
    assert "Working" in host.stdout.readline()
    return host


def stop_host(host):
    """Its exit code. It is idempotent."""
    if host.poll() is None:
        host.send_signal(signal.SIGTERM)
    host.stdout.close()
    return host.wait(70)


def eventually(answer, *, seconds=180):
    """Wait until `answer()` is true; what never becomes true fails with its last value."""
    until = time.monotonic() + seconds
    while not (last := answer()):
        assert time.monotonic() < until, f"never came true: {last!r}"
        time.sleep(0.1)
    return last


def find(host, role):
    """Living processes of a host by what they are: cluster, sentinel, worker, ..., or parser."""
    return processes.find(host.pid, role)


def kill(host, role, number=signal.SIGKILL):
    """Those of a host that are `role`, as soon as there are some. Answers how many."""
    pids = eventually(lambda: find(host, role))
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    return len(pids)


def folders_of(host):
    return list(Path(tempfile.gettempdir()).glob(f"siteledger-host-{host.pid}-*"))
