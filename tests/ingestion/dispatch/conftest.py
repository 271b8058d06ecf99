"""A small corpus, a portal that serves it, and worker hosts that are real processes."""

import datetime
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from ingestion import manifest, register
from ingestion.models import Source
from ingestion.samples.corpus import write_corpus

SUBMISSION = register.Submission(Source.MANIFEST, "system:tests", "ops")
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"


@pytest.fixture(scope="session")
def one_site(tmp_path_factory):
    """The packet of one site, written once for all tests."""
    today = datetime.datetime.now(datetime.UTC).date()
    return write_corpus(tmp_path_factory.mktemp("corpus"), base_url=NOWHERE, today=today, sites=1)


@pytest.fixture
def submit(tmp_path):
    """Register a corpus as offered by the portal that runs now. `changes` go into each portal."""

    def submit(corpus, portal):
        files = []
        for source in (corpus.sites, corpus.manifest):
            files.append(tmp_path / source.name)
            files[-1].write_text(source.read_text().replace(NOWHERE, portal.base_url))
        call_command("load_sites", str(files[0]), verbosity=0)
        return register.register_manifest(manifest.read(files[1].read_text()), SUBMISSION)

    return submit


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
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            own, rest = stat.parent.name, stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        rows.append((int(own), int(rest[1]), int(rest[3]), rest[0]))
    grown = True
    while grown:
        new = {pid for pid, parent, session, _ in rows if parent in found or session in found}
        grown = not new <= found
        found |= new
    return {pid for pid, _, _, state in rows if pid in found and state != "Z"}
