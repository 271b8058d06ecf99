"""Tests that acknowledged entries survive a crash, although the ledger's lock is released early."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import OperationalError, connection, transaction

from audit.ledger import append
from audit.ledger.actors import Actor
from audit.ledger.append_postgresql import BARRIER
from audit.ledger.log import ledger, record
from audit.ledger.queries import list_entries
from audit.verification.verify import verify_ledger
from sites.models import Study
from tests.audit.ledger.test_writers import start
from tests.audit.support import sql, write, write_many

postgresql_only = pytest.mark.only_on(
    "postgresql", reason="SQLite has no server, and no early release"
)


def server():
    """Return the folder of the tests' server, and the process IDs of postmaster and backends."""
    [(folder,)] = sql("SHOW data_directory")
    postmaster = (Path(folder) / "postmaster.pid").read_text().split()[0]
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return Path(folder), [int(pid) for pid in (postmaster, *children)]


def kill_server():
    """Kill all processes of the server, so that data in memory is lost. Return its folder."""
    folder, processes = server()
    connection.close()
    for process in processes:
        with suppress(ProcessLookupError):  # it ended with the connection, or with the postmaster
            os.kill(process, signal.SIGKILL)
    while any(Path(f"/proc/{process}/fd").exists() for process in processes):
        time.sleep(0.05)
    return folder


def start_server(folder):
    program = max(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    command = [str(program), "-D", str(folder), "-w", "restart"]
    if folder.owner() == "postgres":
        command = ["/usr/sbin/runuser", "-u", "postgres", "--", *command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")


@pytest.fixture
def sent():
    """Return a list to which each statement of a cursor is appended during the test."""
    messages = []

    def watch_cursors(execute, statement, *rest):
        messages.append(statement)
        return execute(statement, *rest)

    with connection.execute_wrapper(watch_cursors):
        yield messages


@pytest.mark.slow
@postgresql_only
@pytest.mark.requirement("R01")
def test_no_acknowledged_entry_is_lost_when_the_server_is_killed_under_eight_writers(
    transactional_db,
):
    names = [f"writer-{n}" for n in range(8)]
    writers = {name: start(name, "forever", stderr=subprocess.DEVNULL) for name in names}
    seen = {name: [writer.stdout.readline() for _ in range(30)] for name, writer in writers.items()}
    start_server(kill_server())
    acknowledged = set()
    for name, writer in writers.items():
        finished = [*seen[name], *writer.communicate()[0].splitlines()]
        acknowledged |= {f"{name}-{n}" for n in range(len(finished)) if n % 10 != 3}
    saved = set(Study.objects.values_list("protocol_number", flat=True))
    verdict = verify_ledger()
    assert acknowledged - saved == set()
    assert (verdict.intact, verdict.entries) == (True, len(saved))


@postgresql_only
@pytest.mark.parametrize("count", [1, append.MAX_LINKED_ON_SERVER + 1], ids=["few", "many"])
def test_the_lock_is_released_before_the_commit_is_on_disk(transactional_db, sent, count):
    write_many(count)
    assert any("SET LOCAL synchronous_commit = off" in message for message in sent)
    assert sent[-1] == BARRIER
    [(level,)] = sql("SHOW synchronous_commit")
    assert level == "on"


@postgresql_only
def test_early_release_can_be_disabled(transactional_db, settings, sent):
    settings.AUDIT_EARLY_RELEASE = False
    write()
    assert [m for m in sent if "synchronous_commit" in m or m == BARRIER] == []
    assert len(list_entries("document:1")) == 1


@postgresql_only
def test_other_hooks_run_after_the_commit_is_on_disk(transactional_db, sent):
    with ledger():
        transaction.on_commit(lambda: sent.append("hook"))
        record("document.archived", subject="document:1", n=0, by=Actor("system:worker"))
        transaction.on_commit(lambda: sent.append("later hook"))
    assert sent[-3:] == [BARRIER, "hook", "later hook"]


@postgresql_only
def test_a_connection_lost_at_the_commit_raises_an_error(transactional_db, monkeypatch):
    monkeypatch.setattr(
        "audit.ledger.append_postgresql.BARRIER",
        "SELECT pg_terminate_backend(pg_backend_pid())",
    )
    with pytest.raises(OperationalError):
        write()
    connection.close()
    assert (
        len(list_entries("document:1")) == 1
    )  # the commit succeeded before the connection was lost


def test_a_flush_barrier_inside_a_transaction_is_refused(transactional_db):
    append.flush_barrier()
    if connection.vendor == "postgresql":
        with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
            append.flush_barrier()
