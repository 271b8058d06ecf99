"""Signing in and out, and failing to, is on record; failures cannot make the chain grow fast."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from audit.ledger.actors import add_process
from audit.ledger.queries import find_entries as latest
from audit.ledger.queries import timeline
from ingestion.dispatch.processes import worker_host
from sites.accounts import sign_in_log
from sites.models import FailedSignIns
from tests.factories import make_user

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)


@pytest.fixture
def mara():
    return make_user("mara", printed_name="Mara Lindqvist")


def sign_in(client, name="mara", *, typed="correct horse", **headers):
    form = {"username": name, "password": typed}
    return client.post("/login/", form, headers=headers)


def a_minute_later():
    return sign_in_log.record_failures(timezone.now() + timedelta(minutes=1))


@pytest.mark.requirement("R07")
@pytest.mark.requirement("R09")
def test_a_sign_in_and_a_sign_out_are_on_record_with_who_and_where(client, mara):
    sign_in(client, **{"X-Request-ID": "trace-7"})
    client.post("/logout/")
    came, went = timeline(mara.actor_name)
    assert (came.event, went.event) == ("user.signed_in", "user.signed_out")
    assert (came.actor, came.role) == (mara.actor_name, "site coordinator")
    names = ("printed_name", "address", "request_id")
    assert [came.detail[name] for name in names] == ["Mara Lindqvist", "127.0.0.1", "trace-7"]
    assert went.detail["printed_name"] == "Mara Lindqvist"


def test_signing_out_when_nobody_is_signed_in_is_nothing(client, mara):
    client.post("/logout/")
    assert latest() == []


@pytest.mark.requirement("R19")
def test_failures_of_one_minute_are_one_entry_with_their_count(client, mara):
    for _ in range(4):
        sign_in(client, typed="wrong")
    assert latest() == [], "the minute is not over"
    assert a_minute_later() == 1
    (entry,) = latest()
    assert (entry.event, entry.actor) == ("signin.failed", add_process("system:signin"))
    assert entry.detail == {
        "name": "mara", "address": "127.0.0.1", "count": 4, "user": mara.actor_name
    }  # fmt: skip
    assert not FailedSignIns.objects.exists()


def test_no_password_and_no_name_is_in_the_line(client, mara):
    sign_in(client, name="my-password-by-mistake", typed="hunter2")
    a_minute_later()
    (entry,) = latest()
    assert entry.detail["user"] == ""
    assert "hunter2" not in str(entry)
    assert "mistake" not in entry.subject + entry.actor + entry.reason_code + entry.code


@pytest.mark.requirement("R19")
def test_the_next_sign_in_enters_what_is_over(client, mara):
    sign_in_log.count_failure("mara", "192.0.2.7", NOON)
    sign_in(client)
    assert [entry.event for entry in latest()] == ["user.signed_in", "signin.failed"]
    failed = latest()[-1]
    assert failed.occurred_at == NOON.replace(second=0)
    assert "request_id" not in failed.detail, "it is not of the request that entered it"


@pytest.mark.requirement("R19")
def test_the_worker_hosts_enter_what_nobody_comes_back_for(mara):
    sign_in_log.count_failure("mara", "192.0.2.7", NOON)
    worker_host.run_tick()
    assert [entry.event for entry in latest()] == ["signin.failed"]
    worker_host.run_tick()
    assert len(latest()) == 1


@pytest.mark.requirement("R05")
def test_a_thousand_names_from_a_thousand_addresses_are_a_hundred_and_one_entries():
    for number in range(1_000):
        sign_in_log.count_failure(f"name-{number}", f"192.0.2.{number % 250}", NOON)
    assert (
        sign_in_log.record_failures(NOON + timedelta(minutes=1))
        == sign_in_log.MAX_ROWS_PER_MINUTE + 1
    )
    rest = next(entry for entry in latest() if entry.detail["name"] == "")
    assert rest.detail["count"] == 1_000 - sign_in_log.MAX_ROWS_PER_MINUTE


def test_the_running_minute_is_left_to_grow():
    sign_in_log.count_failure("mara", "192.0.2.7", NOON)
    sign_in_log.count_failure("mara", "192.0.2.7", NOON + timedelta(minutes=1))
    assert sign_in_log.record_failures(NOON + timedelta(seconds=31)) == 1
    assert FailedSignIns.objects.get().minute == NOON.replace(second=0) + timedelta(minutes=1)


def test_a_session_that_no_request_made_is_nobodys_sign_in(client, mara):
    client.force_login(mara)
    assert latest() == []


@pytest.mark.django_db(transaction=True)
def test_nobody_is_signed_in_without_an_entry(client, mara, settings):
    sign_in(client)
    client.post("/logout/")
    settings.AUDIT_TRAIL = "another"  # the ledger refuses to be gone on with under another name
    client.raise_request_exception = False
    assert sign_in(client).status_code == 500
    assert client.get("/").url == "/login/?next=/"
