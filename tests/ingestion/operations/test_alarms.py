"""Alarms: each of them is active for as long as its cause exists."""

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
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.ANCHOR_DIR = tmp_path / "anchors"


def host(seconds_ago=0):
    seen = timezone.now() - timedelta(seconds=seconds_ago)
    return WorkerHost.objects.create(
        name=f"h{seconds_ago}", host="h", workers=1, software="1", seen_at=seen
    )


def hold(documents=2):
    chunk, lease = make_leased(documents)
    for document in chunk.documents.all():
        steps.give_up(document.pk, lease, "INTERNAL_ERROR", {}, held=True)


def ringing():
    return {alarm.key: alarm for alarm in alarms.find_alarms().alarms}


def test_nothing_rings_where_a_worker_lives_and_nothing_is_wrong():
    host()
    assert ringing() == {}


def test_no_worker_at_all_and_one_that_fell_silent_are_alarms():
    assert "No worker heartbeat yet" in ringing()["workers"].text
    silent = host(seconds_ago=61)
    assert f"since {silent.seen_at:%Y-%m-%d %H:%M:%S} UTC" in ringing()["workers"].text
    host(seconds_ago=59)
    assert "workers" not in ringing()


def test_held_documents_ring_with_their_reasons_until_they_go_on():
    host()
    hold(2)
    alarm = ringing()["held"]
    assert alarm.text.startswith("2 documents are held.")
    assert "manage.py retry" in alarm.action
    retrying.retry_held(Document.objects.all(), by=Actor("system:tests", "ops"))
    assert ringing() == {}


def test_a_full_disk_rings(settings):
    host()
    settings.READY_FREE_MB = 10**9
    assert ringing()["disk"].is_critical


def test_a_broken_ledger_rings(monkeypatch):
    host()
    monkeypatch.setattr("audit.signing.checkpoints.find_fault", lambda: "entry 7: cut off")
    assert "entry 7: cut off" in ringing()["chain"].text


def test_entries_that_nobody_signs_ring_after_a_while(settings):
    host()
    make_batch()
    assert "unsigned" not in ringing()
    settings.AUDIT_UNANCHORED_SECONDS = 0
    assert "manage.py checkpoint" in ringing()["unsigned"].action


@pytest.mark.requirement("R19")
@pytest.mark.parametrize("event", alarms.LOCKOUT_EVENTS)
def test_a_locked_account_rings(event):
    host()
    with log.ledger():
        log.record(event, subject="sign-in:mara", n=1, by=Actor("system:web"))
    assert "A sign-in was locked in the last hour" in ringing()["locked"].text


def test_what_cannot_be_found_out_silences_nothing_else_and_ends_nothing(monkeypatch):
    def broken():
        raise OSError("no such device")

    monkeypatch.setattr(disk_space, "describe_low_space", broken)
    seen = alarms.find_alarms()
    assert seen.keys == {"workers"}
    assert not seen.is_over("disk")
    assert seen.is_over("held")


def test_a_database_that_fails_is_told_of_no_alarm_as_over(monkeypatch):
    def failing(*query):
        raise OperationalError("gone")

    with connection.execute_wrapper(failing):
        seen = alarms.find_alarms()
    assert not any(seen.is_over(key) for key in ("chain", "workers", "held", "locked"))


def test_looking_takes_as_many_queries_for_many_documents_as_for_few():
    hold(1)
    with CaptureQueriesContext(connection) as few:
        alarms.find_alarms()
    hold(9)
    with CaptureQueriesContext(connection) as many:
        alarms.find_alarms()
    assert len(many) == len(few)
