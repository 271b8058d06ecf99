"""Tests of the entries of sign-ins, sign-outs and failures, whose number per minute is limited."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from audit.ledger.actors import add_process
from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import list_entries
from ingestion.dispatch.completion_polls import CompletionPolls
from ingestion.dispatch.processes import worker_host
from sites.accounts import sign_in_log
from sites.models import FailedSignIns
from tests.factories import make_user

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)


@pytest.fixture
def mara():
    return make_user("mara", printed_name="Mara Lindqvist")


def sign_in(client, name="mara", *, entered="correct horse", **headers):
    form = {"username": name, "password": entered}
    return client.post("/login/", form, headers=headers)


def record_finished_minutes():
    return sign_in_log.record_failures(timezone.now() + timedelta(minutes=1))


@pytest.mark.requirement("R07")
@pytest.mark.requirement("R09")
def test_sign_in_and_sign_out_are_recorded_with_person_and_address(client, mara):
    sign_in(client, **{"X-Request-ID": "trace-7"})
    client.post("/logout/")
    signed_in, signed_out = list_entries(mara.actor_name)
    assert (signed_in.event, signed_out.event) == ("user.signed_in", "user.signed_out")
    assert (signed_in.actor, signed_in.role) == (mara.actor_name, "site coordinator")
    names = ("printed_name", "address", "request_id")
    assert [signed_in.detail[name] for name in names] == ["Mara Lindqvist", "127.0.0.1", "trace-7"]
    assert signed_out.detail["printed_name"] == "Mara Lindqvist"


def test_a_sign_out_without_a_session_is_not_recorded(client, mara):
    client.post("/logout/")
    assert latest() == []


@pytest.mark.requirement("R19")
def test_failures_of_one_minute_are_one_entry_with_their_number(client, mara):
    for _ in range(4):
        sign_in(client, entered="wrong")
    assert latest() == [], "the minute is not over"
    assert record_finished_minutes() == 1
    (entry,) = latest()
    assert (entry.event, entry.actor) == ("signin.failed", add_process("system:signin"))
    assert entry.detail == {
        "name": "mara", "address": "127.0.0.1", "count": 4, "user": mara.actor_name
    }  # fmt: skip
    assert not FailedSignIns.objects.exists()


def test_an_unknown_name_or_a_password_is_in_no_hashed_field_of_the_entry(client, mara):
    sign_in(client, name="my-password-by-mistake", entered="hunter2")
    record_finished_minutes()
    (entry,) = latest()
    assert entry.detail["user"] == ""
    assert "hunter2" not in str(entry)
    assert "mistake" not in entry.subject + entry.actor + entry.reason_code + entry.code


@pytest.mark.requirement("R19")
def test_a_sign_in_records_the_failures_of_earlier_minutes(client, mara):
    sign_in_log.count_failure("mara", "192.0.2.7", NOON)
    sign_in(client)
    assert [entry.event for entry in latest()] == ["user.signed_in", "signin.failed"]
    failed = latest()[-1]
    assert failed.occurred_at == NOON.replace(second=0)
    assert "request_id" not in failed.detail, "the request that recorded it is another one"


@pytest.mark.requirement("R19")
def test_worker_hosts_record_failures_without_a_later_sign_in(mara):
    sign_in_log.count_failure("mara", "192.0.2.7", NOON)
    worker_host.run_tick(CompletionPolls())
    assert [entry.event for entry in latest()] == ["signin.failed"]
    worker_host.run_tick(CompletionPolls())
    assert len(latest()) == 1


@pytest.mark.slow
@pytest.mark.requirement("R05")
def test_many_failures_in_one_minute_make_a_limited_number_of_entries():
    for number in range(1_000):
        sign_in_log.count_failure(f"name-{number}", f"192.0.2.{number % 250}", NOON)
    assert (
        sign_in_log.record_failures(NOON + timedelta(minutes=1))
        == sign_in_log.MAX_ROWS_PER_MINUTE + 1
    )
    rest = next(entry for entry in latest() if entry.detail["name"] == "")
    assert rest.detail["count"] == 1_000 - sign_in_log.MAX_ROWS_PER_MINUTE


def test_failures_of_the_current_minute_are_not_recorded_yet():
    sign_in_log.count_failure("mara", "192.0.2.7", NOON)
    sign_in_log.count_failure("mara", "192.0.2.7", NOON + timedelta(minutes=1))
    assert sign_in_log.record_failures(NOON + timedelta(seconds=31)) == 1
    assert FailedSignIns.objects.get().minute == NOON.replace(second=0) + timedelta(minutes=1)


def test_a_session_that_is_created_without_a_request_is_not_recorded(client, mara):
    client.force_login(mara)
    assert latest() == []


@pytest.mark.django_db(transaction=True)
def test_a_sign_in_that_cannot_be_recorded_fails(client, mara, settings):
    sign_in(client)
    client.post("/logout/")
    settings.AUDIT_TRAIL = "another"  # the ledger refuses entries under another name
    client.raise_request_exception = False
    assert sign_in(client).status_code == 500
    assert client.get("/").url == "/login/?next=/"
