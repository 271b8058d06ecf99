"""Tests of the origin of a request: its ID, its address, and its log records."""

import uuid

import pytest
from django.http import HttpResponse

from audit.correlation import get_correlation_id
from audit.ledger.context import RequestOrigin, set_origin, use_change_reason
from audit.ledger.middleware import OriginMiddleware, get_client_address
from audit.ledger.queries import find_entries as latest
from tests.audit.support import write


@pytest.mark.parametrize("given", ["trace-7", "a" * 64, "0.1_2"])
def test_a_valid_request_id_is_kept(client, db, given):
    assert client.get("/login/", headers={"X-Request-ID": given})["X-Request-ID"] == given


@pytest.mark.parametrize("given", ["", "a" * 65, "with blanks", "line\nbreak", "<script>", "é"])
def test_an_invalid_request_id_is_replaced(client, db, given):
    made = client.get("/login/", headers={"X-Request-ID": given})["X-Request-ID"]
    assert made != given
    assert len(made) == 36


@pytest.mark.parametrize(
    ("behind_proxy", "forwarded", "expected"),
    [
        (False, "198.51.100.1", "192.0.2.7"),
        (True, "198.51.100.1", "198.51.100.1"),
        (True, "203.0.113.9, 198.51.100.1", "198.51.100.1"),
        (True, "2001:db8::1", "2001:db8::1"),
        (True, "<script>", "192.0.2.7"),
        (True, "", "192.0.2.7"),
    ],
)
def test_the_forwarded_address_is_used_only_behind_a_proxy(
    rf, settings, behind_proxy, forwarded, expected
):
    settings.BEHIND_PROXY = behind_proxy
    headers = {"X-Forwarded-For": forwarded}
    assert get_client_address(rf.get("/", REMOTE_ADDR="192.0.2.7", headers=headers)) == expected


GIVEN = "6f1c2d3e-4a5b-4c6d-8e7f-901234567890"


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Correlation-ID": GIVEN, "X-Request-ID": "trace-7"},
        {"X-Correlation-ID": GIVEN.upper()},
        {"X-Correlation-ID": GIVEN.replace("-", "")},
        {"X-Request-ID": GIVEN},
        {"X-Correlation-ID": "Jane Roe", "X-Request-ID": GIVEN},
    ],
)
def test_a_well_formed_correlation_id_is_kept(client, db, headers):
    assert client.get("/login/", headers=headers)["X-Correlation-ID"] == GIVEN


@pytest.mark.parametrize("given", ["", "jane.roe", GIVEN[:-1], f"{GIVEN}0", f"{{{GIVEN}}}", "é"])
def test_another_correlation_id_is_replaced(client, db, given):
    response = client.get("/login/", headers={"X-Correlation-ID": given})
    assert uuid.UUID(response["X-Correlation-ID"]).version == 4
    assert response["X-Request-ID"] == response["X-Correlation-ID"]


def test_entries_and_messages_of_a_request_have_its_correlation_id(rf, db):
    def respond(request):
        write(0, correlation_id="")
        write(1, correlation_id="P-1")
        context_ids.append(str(get_correlation_id()))
        return HttpResponse()

    context_ids = []
    OriginMiddleware(respond)(rf.get("/", headers={"X-Correlation-ID": GIVEN}))
    assert [entry.correlation_id for entry in latest(limit=2)] == ["P-1", GIVEN]
    assert context_ids == [GIVEN]
    assert str(get_correlation_id()) != GIVEN, "outside of the request"


@pytest.mark.requirement("R02")
def test_only_entries_of_the_signed_in_person_state_the_origin_and_the_reason(db):
    origin = RequestOrigin({"address": "192.0.2.7"}, lambda: ("user:1", "Ann Berg"))
    with set_origin(origin), use_change_reason(" It was wrong. "):
        write(0, actor="user:1", detail={"more": 1})
        write(1, actor="system:worker")
    write(2, actor="user:1")
    worker, person = latest(limit=3)[1:]
    assert worker.detail is None, "an entry of another actor within the request"
    assert person.detail == {
        "address": "192.0.2.7", "printed_name": "Ann Berg", "reason": "It was wrong.", "more": 1,
    }  # fmt: skip
    assert latest(limit=1)[0].detail is None, "an entry outside of the request"


@pytest.mark.requirement("R35")
def test_entries_of_people_state_the_registered_rules_and_workers_pass_their_own(db):
    with set_origin(RequestOrigin({}, lambda: ("user:1", "Ann Berg"))):
        write(0, actor="user:1")
        write(1, actor="user:1", rules="2026.1")
    assert [entry.rules != "" for entry in latest(limit=2)] == [True, True]
    assert latest(limit=1)[0].rules == "2026.1"
    write(2)
    assert latest(limit=1)[0].rules == ""
