"""Background jobs over HTTP: request, progress, result, cancellation, and who may do what."""

import json
import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from audit import background_jobs, job_runs
from audit.ledger.queries import list_entries
from ingestion import job_kinds
from sites.models import TokenScope
from tests.api.conftest import Program, check_problem, make_token
from tests.config.access_table import AFFAIRS, LEAD, OPS, QA
from tests.config.installation import make_staff


def ask(program, kind, *, key="", priority=5, headers=None, **parameters):
    body = {"kind": kind, "parameters": parameters, "priority": priority}
    headers = {"idempotency-key": key or uuid.uuid4().hex} | (headers or {})
    return program.request(
        "POST", "jobs", data=json.dumps(body), content_type="application/json", headers=headers
    )


def run_all():
    while job_runs.run_next_job():
        pass


@pytest.fixture
def affairs(db):
    return Program(*make_token(TokenScope.JOBS, user=make_staff(AFFAIRS, "rita")))


@pytest.fixture
def lead(db):
    return Program(*make_token(TokenScope.JOBS, user=make_staff(LEAD, "lena")))


@pytest.fixture
def olu(db):
    return Program(*make_token(TokenScope.JOBS, user=make_staff(OPS, "olu")))


def test_a_job_is_accepted_with_its_address_and_followed_to_its_result(affairs):
    accepted = ask(affairs, "verify", priority=3)
    assert accepted.status_code == 202
    assert int(accepted["Retry-After"]) >= 1
    assert accepted["X-Progress"] == "0 %"
    url = accepted["Location"]
    job = accepted.json()
    assert (job["kind"], job["status"], job["priority"]) == ("verify", "waiting", 3)
    assert (job["submitter"], job["parameters"], job["result"]) == ("rita", {}, None)
    assert url == job["url"] == accepted["Content-Location"]
    path = url.removeprefix("http://testserver")
    waiting = affairs.get(path)
    assert waiting.status_code == 202
    assert affairs.get(path, if_none_match=waiting["ETag"]).status_code == 304
    run_all()
    done = affairs.get(path)
    assert (done.status_code, done["X-Progress"]) == (200, "100 %")
    assert "Retry-After" not in done
    assert done.json()["result"]["result"] == "unanchored"
    events = [entry.event for entry in list_entries(f"job:{job['id']}")]
    assert events == ["job.requested", "job.done"]


def test_a_failed_job_returns_its_error_and_its_time(affairs, monkeypatch):
    path = ask(affairs, "verify").json()["url"].removeprefix("http://testserver")

    def fail(job):
        raise ValueError("the disk is gone")

    kind = replace(job_runs._kinds["verify"], work=fail)
    monkeypatch.setitem(job_runs._kinds, "verify", kind)
    run_all()
    response = affairs.get(path)
    job = response.json()
    assert (response.status_code, job["status"]) == (200, "failed")
    assert (job["error"], job["result"]) == ("ValueError: the disk is gone", None)
    assert job["submitted_at"] <= job["started_at"] <= job["finished_at"]
    assert "Retry-After" not in response


def test_a_repeated_request_returns_the_same_job(affairs):
    first, second = (ask(affairs, "verify", key="v-1").json()["id"] for _ in range(2))
    assert first == second
    check_problem(ask(affairs, "verify", key="v-1", mode="rolling"), 422)
    check_problem(ask(affairs, "verify", headers={"idempotency-key": ""}), 400)


@pytest.mark.parametrize(
    ("kind", "parameters"), [("verify_archive", {}), ("export", {"site": "0203"})]
)
def test_a_job_returns_the_parameters_that_were_sent_and_they_can_be_sent_again(
    ops, site, kind, parameters
):
    first = ask(ops, kind, **parameters).json()
    assert first["parameters"] == parameters
    repeated = ask(ops, kind, **first["parameters"])
    assert (repeated.status_code, repeated.json()["parameters"]) == (202, parameters)


def test_a_request_can_be_repeated_although_the_work_of_the_day_is_another(ops, monkeypatch):
    first = ask(ops, "verify_archive", key="today", rolling=True).json()
    monkeypatch.setattr(job_kinds.archive_verification, "list_parts_of_day", lambda: ["ff"])
    assert ask(ops, "verify_archive", key="today", rolling=True).json()["id"] == first["id"]


def test_a_job_is_cancelled_by_its_submitter_or_operations_only(affairs, olu):
    rosa = Program(*make_token(TokenScope.JOBS, user=make_staff(AFFAIRS, "rosa")))
    number = ask(affairs, "verify").json()["id"]
    check_problem(rosa.request("DELETE", f"jobs/{number}"), 403)
    for _ in range(2):
        cancelled = olu.request("DELETE", f"jobs/{number}")
        assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert not job_runs.run_next_job()
    own = ask(affairs, "verify").json()["id"]
    run_all()
    check_problem(affairs.request("DELETE", f"jobs/{own}"), 409)


def test_each_kind_needs_its_permission(affairs, olu, lead):
    check_problem(ask(olu, "export"), 403)
    check_problem(ask(affairs, "backup"), 403)
    check_problem(ask(affairs, "train_model"), 403)
    assert ask(olu, "verify_archive", rolling=True).status_code == 202
    assert ask(lead, "train_model").status_code == 202
    reader = Program(*make_token(TokenScope.JOBS, user=make_staff(QA, "quinn")))
    check_problem(ask(reader, "verify"), 403)
    assert reader.get("jobs").json()["items"] == []


def test_operations_see_that_an_export_runs_and_not_what_it_selects(affairs, olu, site):
    number = ask(affairs, "export", site=site.site_id).json()["id"]
    seen = olu.get(f"jobs/{number}").json()
    assert (seen["kind"], seen["parameters"], seen["result"]) == ("export", None, None)
    check_problem(olu.get(f"jobs/{number}/file"), 404)


def test_a_job_that_has_not_ended_has_no_file_yet(affairs):
    number = ask(affairs, "verify").json()["id"]
    early = affairs.get(f"jobs/{number}/file")
    assert check_problem(early, 409)["detail"] == "The job has not ended yet."
    assert int(early["Retry-After"]) >= 1
    run_all()
    check_problem(affairs.get(f"jobs/{number}/file"), 404)  # Only its row has the result.


@pytest.mark.parametrize(
    ("kind", "parameters", "field"),
    [
        ("brew", {}, "kind"),
        ("verify", {"mode": "quickly"}, "parameters.mode"),
        ("verify", {"speed": 3}, "parameters.speed"),
        ("export", {"doc_id": "cv-1"}, "parameters.site"),
        ("export", {"site": "none"}, "parameters.site"),
        ("export", {"study": "none"}, "parameters.study"),
        ("export", {"packet": "PKT-1"}, "parameters.packet"),
        ("export", {"since": "2026-11-26T00:00:00"}, "parameters.since"),
        ("backup", {}, "kind"),
        ("assess_corpus", {"folder": "../etc"}, "parameters.folder"),
        ("assess_corpus", {}, "parameters.folder"),
        ("rejudge_filed", {"model": "77"}, "parameters.model"),
    ],
)
def test_a_wrong_parameter_is_named_and_nothing_is_registered(ops, lead, kind, parameters, field):
    program = lead if kind in {"assess_corpus", "rejudge_filed"} else ops
    problem = check_problem(ask(program, kind, **parameters), 422)
    assert [error["field"] for error in problem["errors"]] == [field]
    assert not background_jobs.list_jobs().exists()


def test_a_wrong_parameter_is_answered_with_what_to_write(affairs):
    problem = check_problem(ask(affairs, "verify", mode="quickly", speed=3), 422)
    assert {error["field"]: error["message"] for error in problem["errors"]} == {
        "parameters.mode": (
            "Send one of these values: 'full', 'incremental', 'since_anchor' or 'rolling'."
        ),
        "parameters.speed": "There is no field of this name here. Remove it, or correct its name.",
    }
    problem = check_problem(affairs.get("jobs?limit=x"), 422)
    assert problem["errors"][0]["message"] == "Send a whole number."


def test_jobs_are_found_by_kind_submitter_status_and_time(ops, affairs):
    ask(affairs, "verify")
    run_all()
    ask(affairs, "verify")
    ask(ops, "verify_archive", rolling=True)

    def find(query):
        return [item["kind"] for item in ops.get(f"jobs?{query}").json()["items"]]

    assert find("") == ["verify_archive", "verify", "verify"]
    assert find("submitter=rita") == ["verify", "verify"]
    assert find("submitter=rita&status=done") == ["verify"]
    assert find("kind=verify_archive") == find("submitter=olga") == ["verify_archive"]
    later = (timezone.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert (find(f"since={later}"), len(find(f"until={later}"))) == ([], 3)
    assert find("submitter=nobody") == []


def test_a_token_of_a_site_or_without_the_scope_cannot_use_jobs(program, ops):
    check_problem(program.get("jobs"), 403)
    reader = Program(*make_token(TokenScope.READ, user=ops.token.user))
    check_problem(reader.get("jobs"), 403)
    wide = Program(*make_token(TokenScope.JOBS, site=program.token.site))  # past the admin's form
    check_problem(ask(wide, "verify"), 403)


def test_a_backup_is_a_job(ops, settings, tmp_path):
    settings.BACKUP_DIR = tmp_path / "backups"
    job = ask(ops, "backup").json()
    assert job_kinds.KINDS["backup"].permission == "audit.create_backup"
    assert job["status"] == "waiting"


def test_too_many_open_jobs_are_refused_with_a_time(ops, monkeypatch):
    monkeypatch.setattr(background_jobs, "MAX_OPEN_JOBS", 1)
    ask(ops, "verify")
    refused = ask(ops, "verify")
    check_problem(refused, 429)
    assert refused["Retry-After"] == "60"
