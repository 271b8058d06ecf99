"""Tests of background jobs on a real host, including jobs whose worker is killed."""

import hashlib
import os
from contextlib import suppress

import pytest

from audit import background_jobs, job_runs
from audit.background_jobs import AuditJob
from audit.export import job as export_job
from audit.ledger.actors import Actor
from audit.signing import key_rotation
from audit.verification import runs
from ingestion.assessment import job as assessment_job
from ingestion.backup import job as backup_job
from ingestion.documents import inert_renditions
from ingestion.fhir import export as fhir_export
from ingestion.learning import rejudgement, training
from ingestion.storage import archive_verification, object_locks
from ingestion.storage.archive import get_archive
from sites.models.legal_holds import LegalHold
from tests.factories import make_filed, make_site, make_user
from tests.ingestion.hosts import eventually, kill, worker_host
from tests.ingestion.storage.buckets import use_buckets

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.storm,
]


# The arguments of a job of each kind that can be done here. Training needs decisions of QA, an
# assessment needs a corpus, and a backup a folder: they have tests of their own.
ELSEWHERE = [training.KIND, assessment_job.KIND, backup_job.KIND]
ARGUMENTS = {
    runs.KIND: {"mode": "full"},
    export_job.KIND: {},
    archive_verification.KIND: {"parts": ["ab"]},
    object_locks.JOB_KIND: {"parts": ["ab"]},
    rejudgement.KIND: {"model": "built-in"},
    inert_renditions.JOB_KIND: {},
    fhir_export.KIND: {"types": ["AuditEvent"], "since": "", "warnings": [], "request": ""},
}


def is_done(job):
    job.refresh_from_db()
    return job.state == AuditJob.State.DONE


def open_for_writing(pipe):
    """Return a file descriptor as soon as a process reads the pipe, which then waits for data."""
    with suppress(OSError):
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)


@pytest.fixture
def endless_file(settings):
    """A file of the archive that is never read to its end: a pipe without a writer."""
    path = get_archive().path_of("ab" * 32)
    path.parent.mkdir(parents=True)
    os.mkfifo(path, 0o444)
    return path


@pytest.fixture
def key(settings, tmp_path):
    """A signing key in folders of this test, with the ledger entry of its creation."""
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR = tmp_path / "anchors"
    settings.EXPORT_DIR = tmp_path / "exports"
    return key_rotation.create_key(by=Actor.software("test", "operations"))


def has_ended(job):
    job.refresh_from_db()
    return job.state in {AuditJob.State.DONE, AuditJob.State.FAILED}


@pytest.mark.slow
def test_workers_run_jobs_of_every_kind(settings, key):
    assert sorted([*ARGUMENTS, *ELSEWHERE]) == job_runs.list_registered_kinds()
    jobs = [
        background_jobs.request_job(kind, arguments, Actor("user:7"))
        for kind, arguments in ARGUMENTS.items()
    ]
    with worker_host(settings):
        eventually(lambda: all(has_ended(job) for job in jobs))
    assert {job.kind: (job.state, job.error) for job in jobs} == dict.fromkeys(
        ARGUMENTS, ("done", "")
    )


@pytest.mark.slow
def test_a_host_without_the_key_leaves_exports_to_a_host_that_has_it(settings, key, tmp_path):
    export = background_jobs.request_job(export_job.KIND, {}, Actor("user:7"))
    with worker_host(settings, AUDIT_KEY_FILE=str(tmp_path / "no-key-here.pem")):
        check = runs.request_check(Actor("user:7"))
        eventually(lambda: is_done(check))
        export.refresh_from_db()
        assert export.state == AuditJob.State.WAITING
    with worker_host(settings):
        eventually(lambda: is_done(export))


@pytest.mark.slow
def test_a_host_runs_a_check_that_a_person_requested(settings):
    with worker_host(settings):
        job = runs.request_check(Actor("user:7"))
        eventually(lambda: is_done(job))
    assert job.result["result"] == "unanchored"  # there is no independent anchor
    assert job.attempts == 1


@pytest.mark.slow
def test_a_job_whose_worker_is_killed_is_started_again_at_once(settings, endless_file):
    with worker_host(settings) as host:
        job = background_jobs.request_job(
            archive_verification.KIND, {"parts": ["ab"]}, Actor("user:7")
        )
        writer = eventually(lambda: open_for_writing(endless_file))
        kill(host, "worker")
        endless_file.unlink()
        os.close(writer)
        eventually(lambda: is_done(job))
    assert job.attempts == 2
    assert job.result["files"] == 0


@pytest.mark.requirement("R14")
@pytest.mark.slow
def test_a_legal_hold_set_while_no_host_runs_is_applied_by_the_next_host(
    s3, monkeypatch, settings, tmp_path
):
    terms, site = use_buckets(s3, monkeypatch, settings), make_site()
    (tmp_path / "incoming").write_bytes(b"%PDF")
    sha256 = hashlib.sha256(b"%PDF").hexdigest()
    get_archive().put(tmp_path / "incoming", sha256)
    make_filed(site, "cv", sha256)
    LegalHold.objects.create(study=site.study, reason="An inspection.", set_by=make_user())
    there = {"Bucket": terms["ARCHIVE_S3_BUCKET"], "Key": f"sl/{sha256[:2]}/{sha256[2:4]}/{sha256}"}
    assert "ObjectLockLegalHoldStatus" not in s3.head_object(**there)
    with worker_host(settings, **terms):
        eventually(lambda: "ObjectLockLegalHoldStatus" in s3.head_object(**there))
