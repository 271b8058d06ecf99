"""Tests of the request for another worker host: a real command and a real webhook receive it."""

import sys
from datetime import timedelta

import pytest
from django.utils import timezone

from audit import outbox
from audit.outbox import OutboxMessage
from ingestion.models import Chunk, ScalingRow, WorkerHost
from ingestion.operations import alarms, scaling
from ingestion.operations.scaling_checks import check_scaling
from tests.factories import make_batch
from tests.ingestion.receivers import webhook

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def rules(settings, tmp_path):
    settings.SPOOL_DIR, settings.SCALE_MAX_HOSTS = tmp_path, 3


def make_host(at_work=1, name="h"):
    return WorkerHost.objects.create(
        name=name, host="h", workers=1, at_work=at_work, software="1", seen_at=timezone.now()
    )


def make_backlog(seconds=60):
    make_batch()
    Chunk.objects.update(next_dispatch_at=timezone.now() - timedelta(seconds=seconds))


def check_for(seconds):
    """Check every five seconds of a simulated clock, and return the wanted hosts."""
    now = timezone.now()
    return [scaling.update_scaling(now + timedelta(seconds=at)) for at in range(0, seconds + 1, 5)]


def deliver():
    return outbox.deliver_due(*(kind.name for kind in scaling.KINDS))


def test_the_command_and_the_webhook_receive_one_request_when_all_hosts_are_full(
    settings, tmp_path
):
    make_host()
    make_backlog()
    printed = tmp_path / "request"
    code = (
        "import json, sys; facts = json.load(sys.stdin);"
        f"open({str(printed)!r}, 'a').write(sys.argv[1] + facts['event'])"
    )
    settings.SCALE_COMMAND = f'{sys.executable} -c "{code}"'
    with webhook() as received:
        settings.SCALE_WEBHOOK = f"http://127.0.0.1:{received.port}/scale"
        assert check_for(25)[-1] == 1
        assert not deliver().delivered
        assert check_for(60)[-1] == 2
        assert deliver().delivered == 2
        assert not deliver().delivered
    assert printed.read_text() == "2scale_out"
    [message] = received.messages
    assert (message["event"], message["wanted_hosts"], message["hosts"]) == ("scale_out", 2, 1)
    assert message["waiting_seconds"] >= 60


def test_two_hosts_that_check_at_once_send_one_request(settings):
    settings.SCALE_WEBHOOK = "https://hooks.example.org/"
    make_host()
    make_host(name="other")
    make_backlog()
    for _ in range(2):
        check_for(60)
    assert OutboxMessage.objects.filter(kind=scaling.WEBHOOK.name).count() == 1


def test_a_check_that_changes_nothing_writes_nothing():
    make_host(at_work=0)
    check_for(5)
    changed_at = ScalingRow.objects.get().changed_at
    check_for(5)
    assert ScalingRow.objects.get().changed_at == changed_at


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (f"{sys.executable} -c \"import sys; sys.exit('no quota')\"", "code 1: no quota"),
        ("/nowhere/start-host", "SCALE_COMMAND failed"),
    ],
)
def test_a_failed_command_is_repeated_and_states_its_error(settings, command, error):
    settings.SCALE_COMMAND = command
    make_host()
    make_backlog()
    check_for(60)
    [failure] = deliver().errors
    assert error in failure
    [message] = OutboxMessage.objects.filter(kind=scaling.COMMAND.name)
    assert message.state == OutboxMessage.State.WAITING


def test_fewer_hosts_are_wanted_when_one_was_idle_for_long_enough(settings):
    settings.SCALE_IN_SECONDS = 60
    make_host()
    make_host(at_work=0, name="idle")
    ScalingRow.objects.create(wanted_hosts=2)
    wanted = check_for(70)
    assert (wanted[0], wanted[-1]) == (2, 1)
    assert scaling.get_wanted_hosts() == 1


def test_no_host_is_asked_for_without_a_maximum(settings):
    settings.SCALE_MAX_HOSTS = 0
    make_host()
    make_backlog()
    assert set(check_for(300)) == {1}


def test_a_backlog_that_waits_too_long_is_an_alarm():
    make_host()
    make_backlog(seconds=899)
    assert "backlog" not in alarms.find_alarms().keys
    make_backlog(seconds=1800)
    [alarm] = [each for each in alarms.find_alarms().alarms if each.key == "backlog"]
    assert "30 minutes" in alarm.text
    assert "1 of 1" in alarm.text


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"SHIFT_MAX_CHUNKS": 0}, []),
        ({"SHIFT_MAX_CHUNKS": -1}, ["ingestion.E092"]),
        ({"SCALE_MIN_HOSTS": 0}, ["ingestion.E093"]),
        ({"SCALE_MIN_HOSTS": 4}, ["ingestion.E093"]),
        ({"SCALE_OUT_SECONDS": 0}, ["ingestion.E094"]),
        ({"BACKLOG_ALARM_SECONDS": 0}, ["ingestion.E094"]),
        ({"SCALE_IN_SECONDS": 31}, ["ingestion.W094"]),
        ({"SCALE_MAX_HOSTS": 0, "SCALE_COMMAND": "true"}, ["ingestion.E095"]),
        ({"SCALE_WEBHOOK": "hooks.example.org"}, ["ingestion.E096"]),
        ({"SCALE_COMMAND": "start 'one"}, ["ingestion.E097"]),
        ({"SCALE_COMMAND": "/nowhere/start-host"}, ["ingestion.W097"]),
        ({"SCALE_COMMAND": "true"}, []),
    ],
)
def test_a_wrong_setting_has_a_message(settings, changes, expected):
    for name, value in changes.items():
        setattr(settings, name, value)
    assert [message.id for message in check_scaling()] == expected
