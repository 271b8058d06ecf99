"""Defines what all tests share: no network, automatic markers, a site and its coordinator."""

import fcntl
import gc
import os
import shutil
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from django.db import connection
from hypothesis import settings

from audit.ledger.queries import list_entries_of_events
from audit.verification import row_check
from tests.audit.buckets import moto_server
from tests.audit.support import forbid_statements_after_the_append
from tests.emptying import triggers_removed_for_flush
from tests.factories import make_site, make_user
from tests.log_lines import log

__all__ = ["forbid_statements_after_the_append", "log", "triggers_removed_for_flush"]

HERE = Path(__file__).parent
# On PostgreSQL, these tests are marked slow. Their claims do not depend on the database, and other
# tests run the same queries there: leases, worker steps, transitions, lists and packages.
SLOW_ON_POSTGRESQL = [
    HERE / "api",
    HERE / "audit" / "export",
    HERE / "audit" / "signing" / "test_places.py",
    HERE / "audit" / "verification" / "test_checkpoint_verification.py",
    HERE / "audit" / "verification" / "test_full_disk_rewrite.py",
    HERE / "audit" / "verification" / "test_independence.py",
    HERE / "audit" / "ledger" / "test_format.py",
    HERE / "audit" / "signing" / "test_anchors.py",
    HERE / "audit" / "signing" / "test_clock.py",
    HERE / "audit" / "signing" / "test_keys.py",
    HERE / "audit" / "test_admin.py",
    HERE / "audit" / "test_migration_stages.py",
    HERE / "config" / "test_access.py",
    HERE / "config" / "test_api_access.py",
    HERE / "config" / "test_production.py",
    HERE / "config" / "test_signing_for_others.py",
    HERE / "deploy",
    HERE / "ingestion" / "assessment",
    HERE / "ingestion" / "dispatch" / "test_containers.py",
    HERE / "ingestion" / "dispatch" / "test_event_loop.py",
    HERE / "ingestion" / "dispatch" / "test_locked_files.py",
    HERE / "ingestion" / "dispatch" / "test_mirrors.py",
    HERE / "ingestion" / "dispatch" / "test_one_document_in_log_and_traces.py",
    HERE / "ingestion" / "dispatch" / "processes" / "test_heartbeat.py",
    HERE / "ingestion" / "dispatch" / "test_shift.py",
    HERE / "ingestion" / "dispatch" / "test_portal_outages.py",
    HERE / "ingestion" / "documents",
    HERE / "ingestion" / "intake",
    HERE / "ingestion" / "learning",
    HERE / "ingestion" / "management",
    HERE / "ingestion" / "operations" / "test_alerts.py",
    HERE / "ingestion" / "storage" / "test_archive_verification.py",
    HERE / "ingestion" / "storage" / "test_buckets.py",
    HERE / "ingestion" / "storage" / "test_virus_scanner.py",
    HERE / "ingestion" / "test_deletion.py",
    HERE / "ingestion" / "test_notifications.py",
    HERE / "ingestion" / "test_source_defects.py",
    HERE / "qualification",
    HERE / "sites" / "accounts" / "test_sign_in_log.py",
    HERE / "sites" / "test_account_changes.py",
    HERE / "sites" / "test_fhir_clients.py",
    HERE / "sites" / "test_rows_on_record.py",
    HERE / "sites" / "test_site_import.py",
    HERE / "web",
]
# These pages and exports have special queries, so their tests run on both databases.
QUICK_ON_BOTH = [
    HERE / "audit" / "export" / "test_package.py",
    HERE / "ingestion" / "documents" / "test_batches.py",
    HERE / "ingestion" / "documents" / "test_transitions.py",
    HERE / "ingestion" / "intake" / "test_registration.py",
    HERE / "web" / "packets" / "test_drafts.py",
    HERE / "web" / "sites" / "test_matrix.py",
]
# On SQLite, these tests are marked slow: they make the same queries on PostgreSQL, or test limits
# of several hosts.
SLOW_ON_SQLITE = [
    HERE / "ingestion" / "operations" / "test_reconciliation.py",
    HERE / "audit" / "ledger" / "test_writers.py",
    HERE / "audit" / "signing" / "test_checkpoint_scheduler.py",
    HERE / "audit" / "signing" / "test_checkpoints.py",
    HERE / "audit" / "test_background_jobs.py",
    HERE / "audit" / "test_outbox.py",
    HERE / "ingestion" / "backup" / "test_backup.py",
    HERE / "ingestion" / "backup" / "test_in_s3.py",
    HERE / "ingestion" / "backup" / "test_restore.py",
    HERE / "ingestion" / "dispatch" / "test_cancelling.py",
    HERE / "ingestion" / "dispatch" / "test_claim_order.py",
    HERE / "ingestion" / "dispatch" / "test_completion_polls.py",
    HERE / "ingestion" / "dispatch" / "test_demand.py",
    HERE / "ingestion" / "dispatch" / "test_recovery.py",
    HERE / "ingestion" / "dispatch" / "test_shared_limits.py",
    HERE / "ingestion" / "dispatch" / "test_step_batcher.py",
    HERE / "ingestion" / "operations" / "test_finding_check.py",
    HERE / "ingestion" / "operations" / "test_metrics.py",
    HERE / "ingestion" / "operations" / "test_retention.py",
    HERE / "ingestion" / "operations" / "test_site_summaries.py",
    HERE / "ingestion" / "review" / "test_assignments.py",
    HERE / "ingestion" / "review" / "test_decisions.py",
    HERE / "ingestion" / "review" / "test_redactions.py",
    HERE / "ingestion" / "storage" / "test_object_locks.py",
    HERE / "ingestion" / "test_extractions.py",
    HERE / "sites" / "test_export_audit.py",
]
COMPARE_ROWS = row_check._find_differing_rows
DATABASE_FIXTURES = {"db", "transactional_db", "live_server"}

# By default, Hypothesis fails an example that takes 200 ms, which any may on a busy machine.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("slow", deadline=None, max_examples=200)


def pytest_configure(config):
    """Choose how many examples Hypothesis tries, by whether slower proofs run too.

    Refuse to start if a list above names a file that was renamed: its tests would run twice.
    """
    chosen = config.option.markexpr  # empty if single tests are run by hand
    settings.load_profile("slow" if chosen and "not slow" not in chosen else "quick")
    missing = [
        str(path.relative_to(HERE))
        for path in (*SLOW_ON_POSTGRESQL, *QUICK_ON_BOTH, *SLOW_ON_SQLITE)
        if not path.exists()
    ]
    if missing:
        raise pytest.UsageError(f"tests/conftest.py names files that do not exist: {missing}")


def pytest_collection_finish():
    """Exclude imported objects from garbage collection, which took a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_ignore_collect(collection_path, config):
    """Do not import modules whose tests are all deselected, by database or by markers."""
    if not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    chosen = config.option.markexpr
    is_left_to_sqlite = "not slow" in chosen and connection.vendor == "postgresql"
    if is_left_to_sqlite and _is_slow_on_postgresql(collection_path):
        return True
    # A test can only have a marker whose name its module contains.
    if chosen.endswith("(browser or storm)"):
        text = collection_path.read_text(encoding="utf-8")
        return not ("browser" in text or "storm" in text) or None
    return None


def pytest_collection_modifyitems(items):
    """Mark what depends on the database, so that it runs on PostgreSQL as well.

    Mark cases of sampled tests as slow. Skip what only the other database has.
    """
    cases = Counter()
    for item in items:
        if sampled := item.get_closest_marker("sampled"):
            test = item.nodeid.partition("[")[0]
            if cases[test] % sampled.args[0]:
                item.add_marker(pytest.mark.slow)
            cases[test] += 1
        marked = item.get_closest_marker("django_db") is not None
        if marked or DATABASE_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.database)
        only = item.get_closest_marker("only_on")
        if only and only.args[0] != connection.vendor:
            item.add_marker(pytest.mark.skip(reason=only.kwargs["reason"]))
        if _is_slower_proof(item, connection.vendor == "postgresql"):
            item.add_marker(pytest.mark.slow)


def _is_slower_proof(item, is_postgresql):
    """Return whether the other database's run already covers the claim of this test."""
    if is_postgresql:
        is_marked = any(map(item.get_closest_marker, ("storm", "browser")))
        return _is_slow_on_postgresql(item.path) or is_marked
    return item.get_closest_marker("hosts") is not None or item.path in SLOW_ON_SQLITE


def _is_slow_on_postgresql(path):
    return path not in QUICK_ON_BOTH and any(map(path.is_relative_to, SLOW_ON_POSTGRESQL))


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb):
    """Start with a copy of a migrated SQLite database, if the lanes of the suite share one.

    The first lane that needs the database creates it, and the others wait for it.
    """
    shared = os.environ.get("SITELEDGER_MIGRATED_DATABASE")
    if not shared or connection.vendor != "sqlite":
        return django_db_keepdb
    migrated = Path(shared)
    with migrated.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not migrated.exists():
            unfinished = migrated.with_suffix(".unfinished")
            environment = {**os.environ, "DATABASE_URL": f"sqlite:///{unfinished}"}
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(command, cwd=HERE.parent, env=environment, check=True)
            unfinished.rename(migrated)
    shutil.copyfile(migrated, connection.settings_dict["TEST"]["NAME"])
    return True


@pytest.fixture(scope="session", autouse=True)
def _no_network():
    """Refuse connections to other machines."""
    connect = socket.socket.connect

    def guarded(self, address):
        host = address[0] if isinstance(address, tuple) else ""
        local = not host or host in {"localhost", "::1"} or str(host).startswith("127.")
        assert local, f"a test tried to connect to {address}"
        return connect(self, address)

    with pytest.MonkeyPatch.context() as patch:  # tests undo their own
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(autouse=True)
def _nothing_signed_for_others():
    """Refuse keys and checkpoints in shared folders: they contradict the ledgers of other tests."""
    yield
    shared = Path(os.environ["SITELEDGER_TESTS"])
    left = [path for path in (shared / "anchors", shared / "keys") if path.exists()]
    for path in left:
        shutil.rmtree(path)
    assert not left, f"this test keeps keys or checkpoints where all others look: {left}"


@pytest.fixture(scope="session", autouse=True)
def _rows_of_factories_are_passed_over():
    """Exclude accounts and tokens of factories, which have no entries, from checks of the ledger.

    With the fixture `every_row`, a test checks all rows, as the product does.
    """

    def of_those_on_record(kind, keys):
        events = [f"{kind.name}.created", f"{kind.name}.recorded"]
        known = {
            e.subject for e in list_entries_of_events(events, [kind.subject(key) for key in keys])
        }
        return COMPARE_ROWS(kind, [key for key in keys if kind.subject(key) in known])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_check, "_find_differing_rows", of_those_on_record)
        yield


@pytest.fixture
def every_row(monkeypatch):
    monkeypatch.setattr(row_check, "_find_differing_rows", COMPARE_ROWS)


@pytest.fixture(scope="session")
def s3():
    """A client of a real server of S3's protocol, which runs in a separate process."""
    with moto_server() as client:
        yield client


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Return the folder of real documents beside the checkout, which may not be copied into it.

    Where it is missing, `tests/ingestion/test_real_documents.py` still reads those of the
    repository, in `tests/documents`.
    """
    folder = Path(__file__).resolve().parents[2] / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip("the larger set of real documents is not here (../shared/corpus)")
    return folder


@pytest.fixture
def site(db):
    return make_site("0203")


@pytest.fixture
def mara(site):
    """Return a coordinator of the site."""
    return make_user("mara", sites=(site,), printed_name="Mara Lindqvist")
