"""Waiting for the write lock of SQLite."""

import os
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection, connections, transaction

from config.sqlite3.base import FIRST_RETRY_SECONDS, LATER_RETRY_SECONDS, DatabaseWrapper
from sites.models import Study

pytestmark = pytest.mark.only_on("sqlite", reason="PostgreSQL has queues")


@pytest.fixture
def other(transactional_db):
    """Return a second connection to the same database with a timeout of 0.2 seconds."""
    options = connection.settings_dict["OPTIONS"] | {"timeout": 0.2}
    other = DatabaseWrapper(connection.settings_dict | {"OPTIONS": options}, "other")
    yield other
    other.close()


def begin(wrapper):
    wrapper.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


def end(wrapper):
    wrapper.rollback()
    wrapper.set_autocommit(True)


def test_the_settings_use_the_fair_backend():
    assert isinstance(connections["default"], DatabaseWrapper)


def test_the_database_file_is_readable_by_its_owner_only(db, tmp_path):
    path = tmp_path / "new.sqlite3"
    wrapper = DatabaseWrapper(connection.settings_dict | {"NAME": str(path)}, "new")
    before = os.umask(0o022)
    try:
        with wrapper.cursor() as cursor:
            cursor.execute("CREATE TABLE one (number integer)")
            modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
        wrapper.close()
    assert modes.keys() == {"new.sqlite3", "new.sqlite3-wal", "new.sqlite3-shm"}
    assert set(modes.values()) == {0o600}


def test_a_writer_waits_for_another_writer(other, monkeypatch):
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        end(connection)

    begin(connection)
    monkeypatch.setattr("config.sqlite3.base.time.sleep", pause)
    begin(other)
    assert len(pauses) == 1
    end(other)


def test_a_writer_that_has_waited_retries_more_often(other, monkeypatch):
    pauses, now = [], [0.0]

    def pause(seconds):
        pauses.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(
        "config.sqlite3.base.time", SimpleNamespace(monotonic=lambda: now[0], sleep=pause)
    )
    begin(connection)
    with pytest.raises(OperationalError, match="locked"):
        begin(other)
    end(connection)
    assert set(pauses[:15]) == {FIRST_RETRY_SECONDS}
    assert set(pauses[16:]) == {LATER_RETRY_SECONDS}
    assert sum(pauses) == pytest.approx(0.2, abs=0.001)


def test_a_failed_wait_leaves_the_connection_unchanged(other):
    begin(connection)
    with pytest.raises(OperationalError, match="locked"):
        begin(other)
    end(connection)
    assert other.connection.execute("PRAGMA busy_timeout").fetchone() == (200,)
    with transaction.atomic():
        Study.objects.create(protocol_number="ABC-1")
    assert Study.objects.count() == 1


def test_other_errors_are_not_waited_for(other):
    begin(other)
    with pytest.raises(OperationalError, match="within a transaction"):
        other._start_transaction_under_autocommit()
    end(other)
