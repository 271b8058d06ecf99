"""Every error under /api is a problem, whoever answers it: the interface, Django, or a failure."""

import pytest

from api import batches
from api.problems import MEDIA_TYPE
from tests.factories import make_user


def problem(response, status):
    """The problem that was answered; its status is that of the answer."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == MEDIA_TYPE
    assert "no-store" in response["Cache-Control"]
    said = response.json()
    assert said["status"] == status
    assert said["request_id"] == response["X-Request-ID"]
    assert {"type", "title", "detail", "instance"} <= said.keys()
    return said


@pytest.mark.parametrize(
    "path", ["nothing", "batches/BAT-1/x", "documents/", "batches/a%00b", "", "/api", "/api/v2/x"]
)
def test_an_unknown_address_is_a_problem(program, path):
    problem(program.get(path), 404 if path != "batches/a%00b" else 422)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "packets", "POST"),
        ("PUT", "documents/1", "GET, PATCH"),
        ("PUT", "documents/1/content", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(program, method, path, allowed):
    response = program.ask(method, path)
    problem(response, 405)
    assert response["Allow"] == allowed


def test_without_a_token_it_says_how_to_send_one(client, db):
    response = client.get("/api/v1/batches")
    assert "Bearer" in problem(response, 401)["detail"]
    assert response["WWW-Authenticate"] == 'Bearer realm="siteledger"'


def test_an_error_of_ours_tells_its_request_id_and_no_more(program, monkeypatch, caplog):
    def broken(*args):
        raise RuntimeError("the password is 1234")

    monkeypatch.setattr(batches.visibility, "batches", broken)
    response = program.get("batches", x_request_id="trace-7")
    assert problem(response, 500)["request_id"] == "trace-7"
    assert b"1234" not in response.content
    assert "trace-7" in caplog.text
    assert "1234" in caplog.text


def test_with_debug_on_too_an_error_of_ours_is_a_problem(program, settings, monkeypatch):
    settings.DEBUG = True
    monkeypatch.setattr(batches.visibility, "batches", lambda *args: 1 / 0)
    problem(program.get("batches"), 500)


def test_a_foreign_host_is_a_problem_too(program):
    problem(program.get("batches", host="evil.example"), 400)


def test_a_request_id_that_could_forge_a_log_line_is_replaced(program):
    given = program.get("sites", x_request_id="a\tb <script>")
    assert "script" not in given["X-Request-ID"]
    assert program.get("sites", x_request_id="A-1.b_2")["X-Request-ID"] == "A-1.b_2"
    assert len(program.get("sites", x_request_id="x" * 65)["X-Request-ID"]) == 36


def test_pages_for_people_stay_pages(client, db):
    response = client.get("/nothing/")
    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")
    assert response["X-Request-ID"]


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "after=-1", f"after={2**63}", "status=DONE", "site=%00", "limit=x"],
)
def test_a_value_that_a_list_does_not_take_is_named(program, query):
    said = problem(program.get(f"batches?{query}"), 422)
    assert said["errors"][0]["field"].endswith(query.split("=")[0])


def test_a_session_opens_nothing(client, site):
    client.force_login(make_user(is_staff=True, is_superuser=True))
    problem(client.get("/api/v1/batches"), 401)
