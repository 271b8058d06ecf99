"""Every error under /api is a problem, from the interface, from Django, or from a failure."""

import json

import pytest
from structlog.contextvars import bound_contextvars

from api import batches
from config.logs import make_formatter
from tests.api.conftest import check_problem
from tests.factories import make_user


@pytest.mark.parametrize(
    "path", ["nothing", "batches/BAT-1/x", "documents/", "batches/a%00b", "", "/api", "/api/v2/x"]
)
def test_an_unknown_address_is_a_problem(program, path):
    check_problem(program.get(path), 404 if path != "batches/a%00b" else 422)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "packets", "POST"),
        ("PUT", "documents/1", "GET, PATCH"),
        ("PUT", "documents/1/content", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_refused_with_the_allowed_ones(program, method, path, allowed):
    response = program.request(method, path)
    check_problem(response, 405)
    assert response["Allow"] == allowed


def test_a_request_without_a_token_is_refused_with_instructions(client, db):
    response = client.get("/api/v1/batches")
    assert "Bearer" in check_problem(response, 401)["detail"]
    assert response["WWW-Authenticate"] == 'Bearer realm="siteledger"'


def test_an_internal_error_reveals_only_the_ids_of_the_request(program, monkeypatch, caplog):
    def broken(*args):
        raise RuntimeError("the password is 1234")

    monkeypatch.setattr(batches.visibility, "list_visible_batches", broken)
    response = program.get("batches", x_request_id="trace-7")
    assert check_problem(response, 500)["request_id"] == "trace-7"
    assert b"1234" not in response.content
    [record] = [each for each in caplog.records if each.name == "api.api"]
    with bound_contextvars(correlation_id=response["X-Correlation-ID"]):
        line = json.loads(make_formatter("json").format(record))
    assert line["correlation_id"] == response["X-Correlation-ID"]
    assert line["event"].startswith("an API request failed: RuntimeError at ")
    assert "1234" not in str(line)


def test_an_internal_error_is_a_problem_also_in_debug_mode(program, settings, monkeypatch):
    settings.DEBUG = True
    monkeypatch.setattr(batches.visibility, "list_visible_batches", lambda *args: 1 / 0)
    check_problem(program.get("batches"), 500)


def test_a_foreign_host_header_is_a_problem(program):
    check_problem(program.get("batches", host="evil.example"), 400)


def test_a_request_id_that_could_forge_a_log_line_is_replaced(program):
    given = program.get("sites", x_request_id="a\tb <script>")
    assert "script" not in given["X-Request-ID"]
    assert program.get("sites", x_request_id="A-1.b_2")["X-Request-ID"] == "A-1.b_2"
    assert len(program.get("sites", x_request_id="x" * 65)["X-Request-ID"]) == 36


def test_errors_of_pages_for_people_are_html(client, db):
    response = client.get("/nothing/")
    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")
    assert response["X-Request-ID"]


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "after=-1", f"after={2**63}", "status=DONE", "site=%00", "limit=x"],
)
def test_an_invalid_query_parameter_is_named(program, query):
    body = check_problem(program.get(f"batches?{query}"), 422)
    assert body["errors"][0]["field"].endswith(query.split("=")[0])


def test_a_session_does_not_authenticate_api_requests(client, site):
    client.force_login(make_user(is_staff=True, is_superuser=True))
    check_problem(client.get("/api/v1/batches"), 401)
