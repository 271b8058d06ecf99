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


def eventually(answer, *, seconds=60):
    """Wait until `answer()` is true; what never becomes true fails with its last value."""
    until = time.monotonic() + seconds
    while not (last := answer()):
        assert time.monotonic() < until, f"never came true: {last!r}"
        time.sleep(0.1)
    return last


def find(host, role):
    """Living processes of a host by what they are: cluster, sentinel, worker, ..., or parser."""
    family = descendants(host.pid) - {host.pid}
    if role == "all":
        return family
    if role == "parser":  # each leads a session of its own; so does the cluster's head
        return {pid for pid in family if os_session(pid) == pid and name_of(pid) != "sl-cluster"}
    return {pid for pid in family if name_of(pid) == f"sl-{role}"}


def kill(host, role, number=signal.SIGKILL):
    """Those of a host that are `role`, as soon as there are some. Answers how many."""
    pids = eventually(lambda: find(host, role))
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    return len(pids)


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def os_session(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def is_running(pid):
    """A zombie is not: it waits for its parent to look."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def folders_of(host):
    return list(Path(tempfile.gettempdir()).glob(f"siteledger-host-{host.pid}-*"))


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
