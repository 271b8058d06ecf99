"""Tests that background jobs run once, on any worker, even if a worker is killed."""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from audit import background_jobs, outbox
from audit.background_jobs import ExplainedFailure
from audit.models import AuditJob, OutboxMessage

LATER = timedelta(minutes=2)
WORKER = """
import sys, time, django
django.setup()
from django.db import connections
connections["default"].settings_dict["NAME"] = sys.argv[1]
from audit import background_jobs

def count(job):
    background_jobs.report_progress(job, 7, 10)
    print("began", flush=True)
    time.sleep(3600)

background_jobs.register_kind("count", count)
background_jobs.run_next_job(beat=lambda: print("alive", flush=True))
"""


@pytest.fixture
def wakeups(monkeypatch):
    """Return a list to which each wakeup of the workers is appended."""
    sent = []
    monkeypatch.setattr(background_jobs, "_wakeups", [lambda: sent.append("wakeup")])
    return sent


@pytest.fixture(autouse=True)
def _kinds(monkeypatch):
    monkeypatch.setattr(background_jobs, "_works", {})
    background_jobs.register_kind("count", count)
    background_jobs.register_kind("fail", fail)


def count(job):
    for done in range(job.arguments["upto"]):
        background_jobs.report_progress(job, done + 1, job.arguments["upto"])
    return {"counted": job.arguments["upto"]}


def fail(job):
    raise ValueError("there is no such thing")


def work(job):
    assert background_jobs.run_next_job()
    job.refresh_from_db()
    return job


def test_a_requested_job_runs_once_and_stores_its_result(db):
    job = work(background_jobs.request_job("count", {"upto": 3}, "user:7"))
    assert (job.state, job.result, job.done, job.total) == ("done", {"counted": 3}, 3, 3)
    assert (job.asked_by, job.attempts) == ("user:7", 1)
    assert job.created_at <= job.started_at <= job.finished_at
    assert not background_jobs.run_next_job()


def test_a_failed_job_stores_its_error_and_the_worker_continues(db):
    failed = background_jobs.request_job("fail", {}, "user:7")
    other = background_jobs.request_job("count", {"upto": 1}, "user:7")
    assert work(failed).state == "failed"
    assert failed.error == "ValueError: there is no such thing"
    assert work(other).state == "done"


def test_a_failure_that_explains_itself_is_stored_without_the_name_of_its_class(db):
    def refuse(_job):
        raise ExplainedFailure("No entry matches the selection.")

    background_jobs.register_kind("refuse", refuse)
    job = work(background_jobs.request_job("refuse", {}, "user:7"))
    assert (job.state, job.error) == ("failed", "No entry matches the selection.")


def test_a_request_for_an_unknown_kind_is_refused(db):
    with pytest.raises(ValueError, match="no kind of job 'brew'"):
        background_jobs.request_job("brew", {}, "user:7")


def test_a_worker_does_not_claim_a_job_of_an_unknown_kind(db, monkeypatch):
    newer = background_jobs.request_job("count", {"upto": 1}, "user:7")
    monkeypatch.setattr(background_jobs, "_works", {})
    assert not background_jobs.run_next_job()
    newer.refresh_from_db()
    assert (newer.state, newer.attempts) == ("waiting", 0)


def test_a_host_skips_jobs_that_it_cannot_run(db):
    resources = []
    background_jobs.register_kind("elsewhere", count, can_work=lambda: bool(resources))
    skipped, other = (
        background_jobs.request_job(kind, {"upto": 1}, "user:7") for kind in ("elsewhere", "count")
    )
    assert work(other).state == "done"
    assert not background_jobs.run_next_job()
    resources.append("the key")
    assert work(skipped).state == "done"


def test_a_worker_is_woken_when_the_request_is_committed(
    db, wakeups, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        background_jobs.request_job("count", {"upto": 1}, "user:7")
        assert wakeups == []
    assert wakeups == ["wakeup"]


@pytest.mark.slow
def test_equal_requests_share_a_waiting_job(db, wakeups):
    soon = timedelta(seconds=30)
    for _ in range(300):
        background_jobs.schedule_job("count", {"upto": 1}, delay=soon)
    background_jobs.schedule_job("count", {"upto": 2}, delay=soon)
    assert AuditJob.objects.count() == 2
    background_jobs.maintain_jobs()
    assert (wakeups, background_jobs.run_next_job()) == ([], False)  # not due


def test_a_request_during_a_running_job_creates_another_job(db):
    background_jobs.schedule_job("count", {"upto": 1})
    assert outbox.claim_next(["job.count"])
    background_jobs.schedule_job("count", {"upto": 1})
    assert AuditJob.objects.count() == 2


def test_a_lost_wakeup_is_repeated(db, wakeups):
    background_jobs.schedule_job("count", {"upto": 1})
    now = timezone.now()
    for seconds in (0, 1, 29, 31, 32):
        background_jobs.maintain_jobs(now + timedelta(seconds=seconds))
    assert len(wakeups) == 2


def test_an_unavailable_broker_does_not_fail_a_request(db, monkeypatch):
    def fail_to_connect():
        raise OSError("no broker")

    monkeypatch.setattr(background_jobs, "_wakeups", [fail_to_connect])
    job = background_jobs.schedule_job("count", {"upto": 1})
    background_jobs.maintain_jobs()
    assert work(job).state == "done"


def test_a_poll_without_jobs_takes_one_query(db, wakeups, django_assert_num_queries):
    work(background_jobs.schedule_job("count", {"upto": 1}))
    with django_assert_num_queries(1):
        background_jobs.maintain_jobs()


def test_two_workers_do_not_run_the_same_job(db):
    job = background_jobs.schedule_job("count", {"upto": 1})
    claimed = outbox.claim_next(["job.count"])
    assert claimed.payload == {"job": job.pk}
    assert not background_jobs.run_next_job()


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
    background_jobs.maintain_jobs()
    assert not background_jobs.run_next_job()  # it may still be alive
    background_jobs.maintain_jobs(timezone.now() + LATER)
    OutboxMessage.objects.update(due_at=timezone.now())
    assert work(job).result == {"counted": 3}
    assert job.attempts == 2


def test_a_job_that_kills_its_workers_fails(db):
    job = background_jobs.schedule_job("count", {"upto": 3})
    for _ in range(background_jobs.MAX_ATTEMPTS):
        OutboxMessage.objects.update(due_at=timezone.now())
        assert outbox.claim_next(["job.count"])
        background_jobs.maintain_jobs(timezone.now() + LATER)
        job.refresh_from_db()
    assert job.state == "failed"
    assert job.error.startswith("Its worker died 3 times")


def test_a_worker_that_lost_its_lease_changes_nothing(db):
    def work_slowly(job):
        if job.attempts > 1:
            return {"by": "the second worker"}
        background_jobs.maintain_jobs(timezone.now() + LATER)
        OutboxMessage.objects.update(due_at=timezone.now())
        assert background_jobs.run_next_job()
        return {"by": "the first worker"}

    background_jobs.register_kind("slow", work_slowly)
    job = work(background_jobs.schedule_job("slow", {}))
    assert (job.state, job.result) == ("done", {"by": "the second worker"})


def test_old_jobs_without_a_requester_are_deleted(db):
    background_jobs.schedule_job("count", {"upto": 1})
    requested, failed = (
        background_jobs.request_job("count", {"upto": 1}, "user:7"),
        background_jobs.schedule_job("fail", {}),
    )
    while background_jobs.run_next_job():
        pass
    assert background_jobs.remove_old_jobs(timezone.now() - LATER) == 0
    assert background_jobs.remove_old_jobs(timezone.now() + LATER) == 1
    assert set(AuditJob.objects.values_list("pk", flat=True)) == {requested.pk, failed.pk}
