"""Tests of background jobs on a real host, also when their worker is killed."""

import hashlib
import os
from contextlib import suppress

import pytest

from audit import background_jobs
from audit.background_jobs import AuditJob
from audit.export import job as export_job
from audit.signing import key_rotation
from audit.verification import runs
from ingestion.storage import archive_verification, object_locks
from ingestion.storage.archive import get_archive
from sites.models.legal_holds import LegalHold
from tests.factories import make_filed, make_site, make_user
from tests.ingestion.hosts import eventually, kill, worker_host
from tests.ingestion.storage.buckets import in_s3

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.storm,
]


ARGUMENTS = {
    runs.KIND: {"mode": "full"},
    export_job.KIND: {},
    archive_verification.KIND: {"parts": ["ab"]},
    object_locks.KIND: {"parts": ["ab"]},
}  # of a job of each kind


def is_done(job):
    job.refresh_from_db()
    return job.state == AuditJob.State.DONE


def opened_for_writing(pipe):
    """As soon as somebody reads; who reads then waits for us."""
    with suppress(OSError):
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)


@pytest.fixture
def endless(settings):
    """A file of the archive that is never read to its end: a pipe that nobody writes to."""
    path = get_archive().path_of("ab" * 32)
    path.parent.mkdir(parents=True)
    os.mkfifo(path, 0o444)
    return path


@pytest.fixture
def key(settings, tmp_path):
    """A key in folders of this test's own, and entry 1, which says so."""
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR = tmp_path / "anchors"
    settings.EXPORT_DIR = tmp_path / "exports"
    return key_rotation.create_key(by="system:test")


def is_over(job):
    job.refresh_from_db()
    return job.state in {AuditJob.State.DONE, AuditJob.State.FAILED}


def test_worker_processes_do_jobs_of_every_kind(settings, key):
    assert sorted(ARGUMENTS) == background_jobs.registered_kinds()
    asked = [
        background_jobs.request_job(kind, arguments, "user:7")
        for kind, arguments in ARGUMENTS.items()
    ]
    with worker_host(settings):
        eventually(lambda: all(is_over(job) for job in asked))
    assert {job.kind: (job.state, job.error) for job in asked} == dict.fromkeys(
        ARGUMENTS, ("done", "")
    )


def test_a_host_without_the_key_leaves_exports_to_a_host_that_has_it(settings, key, tmp_path):
    export = background_jobs.request_job(export_job.KIND, {}, "user:7")
    with worker_host(settings, AUDIT_KEY_FILE=str(tmp_path / "no-key-here.pem")):
        check = runs.request_check("user:7")
        eventually(lambda: is_done(check))
        export.refresh_from_db()
        assert export.state == AuditJob.State.WAITING
    with worker_host(settings):
        eventually(lambda: is_done(export))


def test_a_person_who_asks_is_answered_by_a_host(settings):
    with worker_host(settings):
        job = runs.request_check("user:7")
        eventually(lambda: is_done(job))
    assert job.result["result"] == "unanchored"  # there is no independent anchor
    assert job.attempts == 1


def test_a_job_whose_worker_is_killed_is_begun_again_at_once(settings, endless):
    with worker_host(settings) as host:
        job = background_jobs.request_job(archive_verification.KIND, {"parts": ["ab"]}, "user:7")
        writer = eventually(lambda: opened_for_writing(endless))
        kill(host, "worker")
        endless.unlink()
        os.close(writer)
        eventually(lambda: is_done(job))
    assert job.attempts == 2
    assert job.result["files"] == 0


@pytest.mark.requirement("R14")
@pytest.mark.slow
def test_a_hold_that_was_set_while_no_host_lived_is_put_on_by_the_next(
    s3, monkeypatch, settings, tmp_path
):
    terms, site = in_s3(s3, monkeypatch, settings), make_site()
    (tmp_path / "incoming").write_bytes(b"%PDF")
    sha256 = hashlib.sha256(b"%PDF").hexdigest()
    get_archive().put(tmp_path / "incoming", sha256)
    make_filed(site, "cv", sha256)
    LegalHold.objects.create(study=site.study, reason="An inspection.", set_by=make_user())
    there = {"Bucket": terms["ARCHIVE_S3_BUCKET"], "Key": f"sl/{sha256[:2]}/{sha256[2:4]}/{sha256}"}
    assert "ObjectLockLegalHoldStatus" not in s3.head_object(**there)
    with worker_host(settings, **terms):
        eventually(lambda: "ObjectLockLegalHoldStatus" in s3.head_object(**there))
