"""Tests of alarms. Each is active for as long as its cause exists."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.ledger import log
from audit.ledger.actors import Actor
from ingestion.intake import retrying
from ingestion.models import Document, WorkerHost
from ingestion.operations import alarms
from ingestion.storage import disk_space
from tests import steps
from tests.factories import make_batch, make_leased

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.ANCHOR_DIR = tmp_path / "anchors"


def make_host(seconds_ago=0):
    seen_at = timezone.now() - timedelta(seconds=seconds_ago)
    return WorkerHost.objects.create(
        name=f"h{seconds_ago}", host="h", workers=1, software="1", seen_at=seen_at
    )


def hold_documents(documents=2):
    chunk, lease = make_leased(documents)
    for document in chunk.documents.all():
        steps.give_up(document.pk, lease, "INTERNAL_ERROR", {}, held=True)


def find_active_alarms():
    return {alarm.key: alarm for alarm in alarms.find_alarms().alarms}


def test_no_alarm_is_active_while_a_worker_runs_and_nothing_is_wrong():
    make_host()
    assert find_active_alarms() == {}


def test_a_missing_or_silent_worker_is_an_alarm():
    assert "No worker heartbeat yet" in find_active_alarms()["workers"].text
    silent_host = make_host(seconds_ago=61)
    assert (
        f"since {silent_host.seen_at:%Y-%m-%d %H:%M:%S} UTC" in find_active_alarms()["workers"].text
    )
    make_host(seconds_ago=59)
    assert "workers" not in find_active_alarms()


def test_held_documents_are_an_alarm_until_they_are_retried():
    make_host()
    hold_documents(2)
    alarm = find_active_alarms()["held"]
    assert alarm.text.startswith("2 documents are held.")
    assert "manage.py retry" in alarm.action
    retrying.retry_held(Document.objects.all(), by=Actor("system:tests", "ops"))
    assert find_active_alarms() == {}


def test_a_full_disk_is_a_critical_alarm(settings):
    make_host()
    settings.READY_FREE_MB = 10**9
    assert find_active_alarms()["disk"].is_critical


def test_a_broken_ledger_is_an_alarm(monkeypatch):
    make_host()
    monkeypatch.setattr("audit.signing.checkpoints.find_fault", lambda: "entry 7: cut off")
    assert "Entry 7: cut off" in find_active_alarms()["chain"].text


def test_entries_without_a_checkpoint_are_an_alarm_after_a_while(settings):
    make_host()
    make_batch()
    assert "unsigned" not in find_active_alarms()
    settings.AUDIT_UNANCHORED_SECONDS = 0
    assert "manage.py checkpoint" in find_active_alarms()["unsigned"].action


@pytest.mark.requirement("R19")
@pytest.mark.parametrize("event", alarms.LOCKOUT_EVENTS)
def test_a_locked_account_is_an_alarm(event):
    make_host()
    with log.ledger():
        log.record(event, subject="sign-in:mara", n=1, by=Actor("system:web"))
    assert "A sign-in was locked in the last hour" in find_active_alarms()["locked"].text


def test_a_failed_check_does_not_end_its_alarm_or_hide_others(monkeypatch):
    def broken():
        raise OSError("no such device")

    monkeypatch.setattr(disk_space, "describe_low_space", broken)
    found = alarms.find_alarms()
    assert found.keys == {"workers"}
    assert not found.is_over("disk")
    assert found.is_over("held")


def test_no_alarm_ends_while_the_database_fails(monkeypatch):
    def failing(*query):
        raise OperationalError("connection lost")

    with connection.execute_wrapper(failing):
        found = alarms.find_alarms()
    assert not any(found.is_over(key) for key in ("chain", "workers", "held", "locked"))


def test_the_number_of_queries_does_not_depend_on_the_number_of_documents():
    hold_documents(1)
    with CaptureQueriesContext(connection) as few:
        alarms.find_alarms()
    hold_documents(9)
    with CaptureQueriesContext(connection) as many:
        alarms.find_alarms()
    assert len(many) == len(few)
