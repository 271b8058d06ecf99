"""What every test relies on: no network beyond this machine, and marks that set themselves."""

import os
import shutil
import socket
from pathlib import Path

import pytest
from django.db import connection
from hypothesis import settings

from audit.ledger.queries import of_events
from audit.verification import row_check
from tests.audit.buckets import moto_server
from tests.audit.support import nothing_follows_the_append
from tests.emptying import guards_down_for_flush

__all__ = ["guards_down_for_flush", "nothing_follows_the_append"]

HERE = Path(__file__).parent
PAGES = HERE / "ingestion" / "web"
BOTH = {"test_lists.py", "test_matrix.py", "test_drafts.py"}  # with queries of their own kind
# What these ask of PostgreSQL others ask of it too: leases, steps, filing, lists, packages.
ASKED_BY_OTHERS = [
    HERE / "audit" / "export" / "test_tampering.py",
    HERE / "audit" / "test_admin.py",
    HERE / "config" / "test_doors_for_programs.py",
    HERE / "ingestion" / "admin",
    HERE / "ingestion" / "api",
    HERE / "ingestion" / "dispatch" / "test_off_the_loop.py",
    HERE / "ingestion" / "dispatch" / "test_shift.py",
    HERE / "ingestion" / "dispatch" / "test_waiting.py",
    HERE / "ingestion" / "management",
    HERE / "ingestion" / "operations" / "test_alerts.py",
    HERE / "ingestion" / "test_mailing.py",
    HERE / "ingestion" / "test_previews.py",
    HERE / "ingestion" / "test_the_naive_jobs.py",
    HERE / "ingestion" / "test_the_naive_way.py",
    HERE / "sites" / "test_accounts.py",
]
# And these of SQLite: as many queries, and limits that one host keeps.
ASKED_OF_POSTGRESQL = [
    PAGES / "test_lists.py",
    HERE / "ingestion" / "backup" / "test_in_s3.py",
    HERE / "ingestion" / "dispatch" / "test_shared_limits.py",
    HERE / "ingestion" / "stores" / "test_locks.py",
]
DATABASE_FIXTURES = {"db", "transactional_db", "live_server"}

# Hypothesis would fail an example that takes 200 ms: on a busy machine any may.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_modifyitems(items):
    """Mark what depends on the database, so that it runs on PostgreSQL as well."""
    for item in items:
        marked = item.get_closest_marker("django_db") is not None
        if marked or DATABASE_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.database)
        if _is_a_slower_proof(item, connection.vendor == "postgresql"):
            item.add_marker(pytest.mark.slow)


def _is_a_slower_proof(item, is_postgresql):
    """What every page asks of PostgreSQL is asked in a moment by `test_lists`, beside the core."""
    if is_postgresql:
        shows_pages = PAGES in item.path.parents and item.path.name not in BOTH
        is_elsewhere = any(map(item.path.is_relative_to, ASKED_BY_OTHERS))
        marked = any(map(item.get_closest_marker, ("storm", "browser")))
        return shows_pages or is_elsewhere or marked
    return item.get_closest_marker("hosts") is not None or item.path in ASKED_OF_POSTGRESQL


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    """A test that passes only on a train without tunnels is no test."""
    connect = socket.socket.connect

    def guarded(self, address):
        host = address[0] if isinstance(address, tuple) else ""
        local = not host or host in {"localhost", "::1"} or str(host).startswith("127.")
        assert local, f"a test tried to connect to {address}"
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def _nothing_signed_for_others():
    """A checkpoint in the folder that all tests share would contradict each ledger after it."""
    yield
    shared = Path(os.environ["SITELEDGER_TESTS"])
    left = [path for path in (shared / "anchors", shared / "keys") if path.exists()]
    for path in left:
        shutil.rmtree(path)
    assert not left, f"this test keeps keys or checkpoints where all others look: {left}"


@pytest.fixture(autouse=True)
def _rows_of_factories_are_passed_over(request):
    """By checks of the ledger in this process: factories make accounts and tokens without entries.

    A test that is marked `every_row` has all of them checked, as the product does.
    """
    if request.node.get_closest_marker("every_row"):
        yield
        return
    compare = row_check._differing

    def of_those_on_record(kind, keys):
        events = [f"{kind.name}.created", f"{kind.name}.recorded"]
        known = {e.subject for e in of_events(events, [kind.subject(key) for key in keys])}
        return compare(kind, [key for key in keys if kind.subject(key) in known])

    with pytest.MonkeyPatch.context() as patch:  # of its own: tests undo theirs
        patch.setattr(row_check, "_differing", of_those_on_record)
        yield


@pytest.fixture(scope="session")
def s3():
    """A real server of S3's protocol, in a process of its own, and a client to look behind ours."""
    with moto_server() as client:
        yield client


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The real documents beside the checkout; they may not be copied into it."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip("the corpus of real documents is not here (../shared/corpus)")
    return folder
