"""Tests that background jobs run once, on any worker, even if a worker is killed."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone
from structlog.contextvars import bound_contextvars

from audit import background_jobs, job_estimates, job_runs, outbox
from audit.background_jobs import JobAlreadyEnded, JobKeyReused, TooManyJobs
from audit.job_runs import ExplainedFailure
from audit.ledger.actors import Actor
from audit.ledger.queries import list_entries
from audit.models import AuditJob, OutboxMessage

LATER = timedelta(minutes=2)
PERSON = Actor("user:7")
CORRELATION_ID = "6f1c2d3e-4a5b-4c6d-8e7f-901234567890"
WORKER = """
import sys, time, django
django.setup()
from django.db import connections
connections["default"].settings_dict["NAME"] = sys.argv[1]
from audit import background_jobs, job_runs

def count(job):
    job_runs.report_progress(job, 7, 10)
    print("began", flush=True)
    time.sleep(3600)

job_runs.register_kind("count", count)
job_runs.run_next_job(beat=lambda: print("alive", flush=True))
"""


@pytest.fixture
def wakeups(monkeypatch):
    """Return a list to which each wakeup of the workers is appended."""
    sent = []
    monkeypatch.setattr(job_runs, "_wakeups", [lambda: sent.append("wakeup")])
    return sent


@pytest.fixture(autouse=True)
def _kinds(monkeypatch):
    monkeypatch.setattr(job_runs, "_kinds", {})
    job_runs.register_kind("count", count)
    job_runs.register_kind("fail", fail)


def describe(lines):
    return [
        (line["event"], line.get("from"), line.get("to"), line["attempt"], line.get("worker"))
        for line in lines
    ]


@pytest.mark.django_db(transaction=True)
def test_each_move_of_a_job_is_logged_with_the_job_its_attempt_and_its_worker(log):
    with bound_contextvars(correlation_id=CORRELATION_ID):
        job = background_jobs.request_job("count", {"upto": 2}, PERSON)
    job_runs.run_next_job(worker="here:1:1")
    name = f"job:{job.pk} count"
    requested, started, done = log.read_lines()
    assert describe([requested, started, done]) == [
        (f"job.requested {name}", None, "waiting", 0, None),
        (f"job.started {name}", "waiting", "running", 1, "here:1:1"),
        (f"job.done {name}", "running", "done", 1, "here:1:1"),
    ]
    assert done["ms"] >= 0
    assert {line["correlation_id"] for line in (requested, started, done)} == {CORRELATION_ID}
    background_jobs.remove_job(AuditJob.objects.get(), by=PERSON)
    assert log.read_lines()[-1]["event"] == f"job.removed {name}"


@pytest.mark.django_db(transaction=True)
def test_a_failed_and_a_cancelled_job_are_logged_with_their_moves(log):
    failed = background_jobs.request_job("fail", {}, PERSON)
    job_runs.run_next_job(worker="here:1:1")
    cancelled = background_jobs.request_job("count", {"upto": 1}, PERSON)
    background_jobs.cancel_job(cancelled, PERSON)
    [line] = log.read_lines(f"job.failed job:{failed.pk} fail")
    assert (line["level"], line["from"], line["to"]) == ("warning", "running", "failed")
    assert line["code"].isidentifier()
    [line] = log.read_lines(f"job.cancelled job:{cancelled.pk} count")
    assert (line["from"], line["to"], line["attempt"]) == ("waiting", "cancelled", 0)


@pytest.mark.django_db(transaction=True)
def test_the_moves_of_a_job_of_the_system_are_logged_without_entries(log):
    job = background_jobs.schedule_job("count", {"upto": 1})
    job_runs.run_next_job(worker="here:1:1")
    name = f"job:{job.pk} count"
    lines = log.read_lines(f"job.started {name}", f"job.done {name}")
    assert [(line["from"], line["to"]) for line in lines] == [
        ("waiting", "running"),
        ("running", "done"),
    ]
    assert not any("seq" in line for line in lines)


@pytest.mark.django_db(transaction=True)
def test_a_job_whose_worker_died_is_logged_as_released(log):
    job = background_jobs.request_job("count", {"upto": 1}, PERSON)
    outbox.claim_next(job_runs.list_message_kinds(), by="here:1:1")
    job_runs.recover_jobs_of("here:1:1")
    [line] = log.read_lines(f"job.released job:{job.pk} count")
    assert (line["level"], line["to"], line["worker"]) == ("warning", "waiting", "here:1:1")


def count(job):
    for done in range(job.arguments["upto"]):
        job_runs.report_progress(job, done + 1, job.arguments["upto"])
    return {"counted": job.arguments["upto"]}


def fail(job):
    raise ValueError("there is no such thing")


def work(job):
    assert job_runs.run_next_job()
    job.refresh_from_db()
    return job


def test_a_requested_job_runs_once_and_stores_its_result(db):
    job = work(background_jobs.request_job("count", {"upto": 3}, Actor("user:7")))
    assert (job.state, job.result, job.done, job.total) == ("done", {"counted": 3}, 3, 3)
    assert (job.asked_by, job.attempts) == ("user:7", 1)
    assert job.created_at <= job.started_at <= job.finished_at
    assert not job_runs.run_next_job()


def test_a_failed_job_stores_its_error_and_the_worker_continues(db):
    failed = background_jobs.request_job("fail", {}, Actor("user:7"))
    other = background_jobs.request_job("count", {"upto": 1}, Actor("user:7"))
    assert work(failed).state == "failed"
    assert failed.error == "ValueError: there is no such thing"
    assert work(other).state == "done"


def test_a_failure_that_explains_itself_is_stored_without_the_name_of_its_class(db):
    def refuse(_job):
        raise ExplainedFailure("No entry matches the selection.")

    job_runs.register_kind("refuse", refuse)
    job = work(background_jobs.request_job("refuse", {}, Actor("user:7")))
    assert (job.state, job.error) == ("failed", "No entry matches the selection.")


def test_a_request_for_an_unknown_kind_is_refused(db):
    with pytest.raises(ValueError, match="no kind of job 'brew'"):
        background_jobs.request_job("brew", {}, Actor("user:7"))


def test_a_worker_does_not_claim_a_job_of_an_unknown_kind(db, monkeypatch):
    newer = background_jobs.request_job("count", {"upto": 1}, Actor("user:7"))
    monkeypatch.setattr(job_runs, "_kinds", {})
    assert not job_runs.run_next_job()
    newer.refresh_from_db()
    assert (newer.state, newer.attempts) == ("waiting", 0)


def test_a_host_skips_jobs_that_it_cannot_run(db):
    resources = []
    job_runs.register_kind("elsewhere", count, can_work=lambda: bool(resources))
    skipped, other = (
        background_jobs.request_job(kind, {"upto": 1}, Actor("user:7"))
        for kind in ("elsewhere", "count")
    )
    assert work(other).state == "done"
    assert not job_runs.run_next_job()
    resources.append("the key")
    assert work(skipped).state == "done"


def test_a_worker_is_woken_when_the_request_is_committed(
    db, wakeups, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        background_jobs.request_job("count", {"upto": 1}, Actor("user:7"))
        assert wakeups == []
    assert wakeups == ["wakeup"]


@pytest.mark.slow
def test_equal_requests_share_a_waiting_job(db, wakeups):
    soon = timedelta(seconds=30)
    for _ in range(300):
        background_jobs.schedule_job("count", {"upto": 1}, delay=soon)
    background_jobs.schedule_job("count", {"upto": 2}, delay=soon)
    assert AuditJob.objects.count() == 2
    job_runs.maintain_jobs()
    assert (wakeups, job_runs.run_next_job()) == ([], False)  # not due


def test_a_request_during_a_running_job_creates_another_job(db):
    background_jobs.schedule_job("count", {"upto": 1})
    assert outbox.claim_next(["job.count"])
    background_jobs.schedule_job("count", {"upto": 1})
    assert AuditJob.objects.count() == 2


def test_a_lost_wakeup_is_repeated(db, wakeups):
    background_jobs.schedule_job("count", {"upto": 1})
    now = timezone.now()
    for seconds in (0, 1, 29, 31, 32):
        job_runs.maintain_jobs(now + timedelta(seconds=seconds))
    assert len(wakeups) == 2


def test_an_unavailable_broker_does_not_fail_a_request(db, monkeypatch):
    def fail_to_connect():
        raise OSError("no broker")

    monkeypatch.setattr(job_runs, "_wakeups", [fail_to_connect])
    job = background_jobs.schedule_job("count", {"upto": 1})
    job_runs.maintain_jobs()
    assert work(job).state == "done"


def test_a_poll_without_jobs_takes_one_query(db, wakeups, django_assert_num_queries):
    work(background_jobs.schedule_job("count", {"upto": 1}))
    with django_assert_num_queries(1):
        job_runs.maintain_jobs()


def test_two_workers_do_not_run_the_same_job(db):
    job = background_jobs.schedule_job("count", {"upto": 1})
    claimed = outbox.claim_next(["job.count"])
    assert claimed.payload == {"job": job.pk}
    assert not job_runs.run_next_job()


def start_and_kill():
    """Kill a worker process after it has claimed the job and sent two heartbeats."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(connection.settings_dict["NAME"])],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = [worker.stdout.readline() for _ in range(3)]
    worker.send_signal(signal.SIGKILL)
    worker.communicate()
    return lines


@pytest.mark.slow
def test_another_worker_runs_the_job_of_a_killed_worker(transactional_db, wakeups):
    job = background_jobs.schedule_job("count", {"upto": 3})
    assert start_and_kill() == ["began\n", "alive\n", "alive\n"]
    job.refresh_from_db()
    assert (job.state, job.done, job.total) == ("running", 7, 10)  # from its last progress report
    job_runs.maintain_jobs()
    assert not job_runs.run_next_job()  # it may still be alive
    job_runs.maintain_jobs(timezone.now() + LATER)
    OutboxMessage.objects.update(due_at=timezone.now())
    assert work(job).result == {"counted": 3}
    assert job.attempts == 2


def test_a_job_that_kills_its_workers_fails(db):
    job = background_jobs.schedule_job("count", {"upto": 3})
    for _ in range(job_runs.MAX_ATTEMPTS):
        OutboxMessage.objects.update(due_at=timezone.now())
        assert outbox.claim_next(["job.count"])
        job_runs.maintain_jobs(timezone.now() + LATER)
        job.refresh_from_db()
    assert job.state == "failed"
    assert job.error.startswith("Its worker died 3 times")


def test_a_worker_that_lost_its_lease_changes_nothing(db):
    def work_slowly(job):
        if job.attempts > 1:
            return {"by": "the second worker"}
        job_runs.maintain_jobs(timezone.now() + LATER)
        OutboxMessage.objects.update(due_at=timezone.now())
        assert job_runs.run_next_job()
        return {"by": "the first worker"}

    job_runs.register_kind("slow", work_slowly)
    job = work(background_jobs.schedule_job("slow", {}))
    assert (job.state, job.result) == ("done", {"by": "the second worker"})


def record_of(job):
    entries = list_entries(f"job:{job.pk}")
    return [(entry.event, entry.actor.partition("@")[0]) for entry in entries]


def test_the_request_and_the_end_of_a_job_are_on_record(db):
    ada = Actor("user:7", "QA leads")
    job = work(background_jobs.request_job("count", {"upto": 1}, ada))
    failed = work(background_jobs.request_job("fail", {}, ada))
    assert record_of(job) == [("job.requested", "user:7"), ("job.done", "system:worker")]
    assert record_of(failed)[1] == ("job.failed", "system:worker")
    entry = list_entries(f"job:{job.pk}")[0]
    assert (entry.role, entry.detail["arguments"]) == ("QA leads", {"upto": 1})
    assert not record_of(work(background_jobs.schedule_job("count", {"upto": 1})))


def test_a_waiting_job_is_cancelled_at_once_and_never_runs(db):
    job = background_jobs.request_job("count", {"upto": 1}, Actor("user:7"))
    background_jobs.cancel_job(job, Actor("user:8"))
    assert job.state == "cancelled"
    with pytest.raises(JobAlreadyEnded, match="is cancelled already"):
        background_jobs.cancel_job(job, Actor("user:8"))
    assert not job_runs.run_next_job()
    assert record_of(job)[1:] == [
        ("job.cancel_requested", "user:8"),
        ("job.cancelled", "user:8"),
    ]


def test_a_running_job_stops_at_its_next_report_of_progress(transactional_db, monkeypatch):
    monkeypatch.setattr(job_runs, "HEARTBEAT_SECONDS", 0.01)
    reports = []

    def work_until_cancelled(job):
        background_jobs.cancel_job(AuditJob.objects.get(pk=job.pk), Actor("user:8"))
        while len(reports) < 10_000:
            job_runs.report_progress(job, len(reports), 10_000)
            reports.append(time.sleep(0.01))
        return {}

    job_runs.register_kind("long", work_until_cancelled)
    job = work(background_jobs.request_job("long", {}, Actor("user:7")))
    assert (job.state, job.result) == ("cancelled", {})
    assert job.done < 9_999
    assert record_of(job)[-1] == ("job.cancelled", "user:8")


def test_a_job_that_ends_before_it_notices_its_cancellation_keeps_its_result(db):
    def finish(job):
        background_jobs.cancel_job(AuditJob.objects.get(pk=job.pk), Actor("user:8"))
        return {"counted": 1}

    job_runs.register_kind("short", finish)
    job = work(background_jobs.request_job("short", {}, Actor("user:7")))
    assert (job.state, job.result) == ("done", {"counted": 1})


def test_the_cancelled_job_of_a_dead_worker_does_not_run_again(db):
    job = background_jobs.request_job("count", {"upto": 1}, Actor("user:7"))
    assert outbox.claim_next(["job.count"])
    background_jobs.cancel_job(job, Actor("user:7"))
    assert (job.state, job.is_being_cancelled) == ("waiting", True)
    job_runs.maintain_jobs(timezone.now() + LATER)
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert not OutboxMessage.objects.exists()


def test_an_urgent_job_comes_first_and_another_one_does_not_wait_for_ever(db):
    patient, usual, urgent = (
        background_jobs.request_job("count", {"upto": 1}, Actor("user:7"), priority=priority)
        for priority in (10, 5, 1)
    )
    OutboxMessage.objects.filter(payload__job=patient.pk).update(
        turn_at=F("turn_at") - timedelta(minutes=50)  # as if it had waited for so long
    )
    order = []
    job_runs.register_kind("count", lambda job: order.append(job.pk) or {})
    while job_runs.run_next_job():
        pass
    assert order == [patient.pk, urgent.pk, usual.pk]


def test_an_idempotency_key_returns_the_same_job(db):
    def ask(upto):
        return background_jobs.request_job(
            "count", {"upto": upto}, Actor("user:7"), idempotency_key="k1"
        )

    assert ask(1) == ask(1)
    assert AuditJob.objects.count() == 1
    with pytest.raises(JobKeyReused):
        ask(2)


def test_an_owner_cannot_have_any_number_of_open_jobs(db, monkeypatch):
    monkeypatch.setattr(background_jobs, "MAX_OPEN_JOBS", 2)
    for _ in range(2):
        background_jobs.request_job("count", {"upto": 1}, Actor("user:7"))
    with pytest.raises(TooManyJobs):
        background_jobs.request_job("count", {"upto": 1}, Actor("user:7"))
    background_jobs.request_job("count", {"upto": 1}, Actor("user:8"))


def test_the_estimate_is_a_range_of_earlier_jobs_and_shrinks_during_the_work(db):
    now = timezone.now()
    job_runs.register_kind("count", count, measure=lambda arguments: arguments["upto"])
    job = background_jobs.request_job("count", {"upto": 100}, Actor("user:7"))
    assert job_estimates.estimate_job(job) is None
    for seconds in (90, 100, 110, 120, 130):
        AuditJob.objects.create(
            kind="count",
            arguments={"upto": 100},
            state="done",
            total=100,
            started_at=now - timedelta(seconds=seconds),
            finished_at=now,
        )
    before = job_estimates.estimate_job(job)
    assert (before.low, before.likely, before.high) == (94, 110, 126)
    behind = background_jobs.request_job("count", {"upto": 100}, Actor("user:7"))
    assert job_estimates.estimate_job(behind).high == before.high * 2
    job.state, job.done, job.total = "running", 50, 100
    job.started_at = now - timedelta(seconds=55)
    during = job_estimates.estimate_job(job)
    assert during.high - during.low < (before.high - before.low) / 3
    assert during.low <= 55 + 1 <= during.high + 2
    job.state = "done"
    assert job_estimates.estimate_job(job) is None


def test_expired_jobs_are_removed_with_their_files_and_on_record(db, tmp_path):
    written = tmp_path / "result"
    job_runs.register_kind(
        "write",
        lambda _job: {"size": written.write_text("x")},
        discard=lambda _job: written.unlink(),
    )
    job = work(background_jobs.request_job("write", {}, Actor("user:7")))
    open_job = background_jobs.request_job("count", {"upto": 1}, Actor("user:7"))
    assert background_jobs.remove_expired_jobs(timezone.now() - LATER) == 0
    assert background_jobs.remove_expired_jobs(timezone.now() + LATER) == 1
    assert (list(AuditJob.objects.all()), written.exists()) == ([open_job], False)
    assert record_of(job)[-1] == ("job.removed", "system:worker")


def test_old_jobs_without_a_requester_are_deleted(db):
    background_jobs.schedule_job("count", {"upto": 1})
    requested, failed = (
        background_jobs.request_job("count", {"upto": 1}, Actor("user:7")),
        background_jobs.schedule_job("fail", {}),
    )
    while job_runs.run_next_job():
        pass
    assert background_jobs.remove_old_jobs(timezone.now() - LATER) == 0
    assert background_jobs.remove_old_jobs(timezone.now() + LATER) == 1
    assert set(AuditJob.objects.values_list("pk", flat=True)) == {requested.pk, failed.pk}
