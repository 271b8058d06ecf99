"""Worker hosts that are real processes, on the tests' own database and folders."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from django.db import connection


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
        "LEASE_SECONDS": "4",
        "HEARTBEAT_SECONDS": "1",
        **changes,
    }


@contextmanager
def worker_host(settings, **changes):
    """`manage.py workers`, stopped on the way out. Yields the process."""
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "workers"]
    host = subprocess.Popen(
        command, env=environment(settings, **changes), stdout=subprocess.PIPE, text=True
    )
    try:
        assert "Working" in host.stdout.readline()
        yield host
    finally:
        if host.poll() is None:
            host.send_signal(signal.SIGTERM)
            host.wait(60)
        host.stdout.close()


def eventually(answer, *, seconds=60):
    """Wait until `answer()` is true; what never becomes true fails with its last value."""
    until = time.monotonic() + seconds
    while not (last := answer()):
        assert time.monotonic() < until, f"never came true: {last!r}"
        time.sleep(0.1)
    return last


def descendants(pid):
    """Processes whose parent chain or session leads to `pid`, read from /proc."""
    found = {pid}
    rows = []
    for process in Path("/proc").iterdir():
        try:
            own, rest = int(process.name), (process / "stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, ValueError):  # no process, or one that has just ended
            continue
        rows.append((own, int(rest[1]), int(rest[3]), rest[0]))
    grown = True
    while grown:
        new = {pid for pid, parent, session, _ in rows if parent in found or session in found}
        grown = not new <= found
        found |= new
    return {pid for pid, _, _, state in rows if pid in found and state != "Z"}
