"""Tests of object locks in S3, with moto's server over HTTP, even without permissions."""

import hashlib
import json
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta

import boto3
import httpx2
import pytest
from botocore.exceptions import ClientError
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone

from audit import background_jobs, job_runs
from audit.outbox import OutboxMessage
from ingestion.operations import alarms
from ingestion.storage import archive_verification, object_locks
from ingestion.storage.archive import get_archive
from ingestion.storage.buckets import BucketArchive
from sites.models import Study
from sites.models.legal_holds import LegalHold
from tests.audit.buckets import free_port
from tests.factories import make_filed, make_site, make_staff, make_user
from tests.ingestion.storage.buckets import use_buckets

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R14")]

THIS_YEAR = timezone.now().year
HOLD_REASON = "The FDA has announced an inspection."
LIFT_REASON = "The inspection is over."


@pytest.fixture(autouse=True)
def archive_bucket(s3, monkeypatch, settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    # On SQLite, a heartbeat would wait for the transaction of the test.
    monkeypatch.setattr(job_runs, "HEARTBEAT_SECONDS", 60.0)
    return use_buckets(s3, monkeypatch, settings)["ARCHIVE_S3_BUCKET"]


@pytest.fixture
def file_document(tmp_path):
    """Return a function that files a document with these bytes, and returns their SHA-256."""

    def file(site, content=b"%PDF"):
        sha256 = hashlib.sha256(content).hexdigest()
        (tmp_path / "incoming").write_bytes(content)
        get_archive().put(tmp_path / "incoming", sha256)
        make_filed(site, f"doc-{sha256[:8]}", sha256)
        return sha256

    return file


@pytest.fixture
def read_lock(s3, archive_bucket):
    """Return a function that returns the end of an object's lock in S3, and whether it is held."""

    def read(sha256):
        head = s3.head_object(Bucket=archive_bucket, Key=key_of(sha256))
        is_held = head.get("ObjectLockLegalHoldStatus") == "ON"
        return head["ObjectLockRetainUntilDate"], is_held

    return read


def key_of(sha256):
    return f"sl/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def change_terms(study, **terms):
    """Change the retention of a study as the admin does."""
    for name, value in terms.items():
        setattr(study, name, value)
    study.save()


def set_hold(study):
    return LegalHold.objects.create(study=study, reason=HOLD_REASON, set_by=make_user())


def lift(hold):
    hold.lifted_at, hold.lifted_by, hold.lifted_because = timezone.now(), hold.set_by, LIFT_REASON
    hold.save()


def run_lock_jobs():
    """Run all due jobs as a worker does, and return the last one that updates locks."""
    while job_runs.run_next_job():
        pass
    return background_jobs.list_latest_jobs(object_locks.JOB_KIND, 1)[0]


def find_changes():
    return OutboxMessage.objects.filter(kind=object_locks.KIND.name)


def find_active_alarms():
    return {alarm.key: alarm for alarm in alarms.find_alarms().alarms}


def make_site_of_another_study(number="2001"):
    site = make_site(number)
    site.study = Study.objects.create(protocol_number="SLX-2")
    site.save()
    return site


# --- retention ----------------------------------------------------------------------------------


def test_a_longer_retention_makes_the_lock_longer(file_document, read_lock):
    site = make_site()
    sha256 = file_document(site)
    change_terms(site.study, ended_on=date(THIS_YEAR, 3, 2), retention_years=40)
    assert run_lock_jobs().result["locked"] == 1
    assert read_lock(sha256) == (datetime(THIS_YEAR + 40, 3, 3, tzinfo=UTC), False)
    assert not find_changes().exists()


def test_a_lock_is_never_made_shorter(file_document, read_lock):
    site = make_site()
    sha256 = file_document(site)
    before = read_lock(sha256)
    change_terms(site.study, ended_on=date(THIS_YEAR - 1, 3, 2), retention_years=2)
    assert run_lock_jobs().result == {"looked_at": 1, "locked": 0, "refused": 0, "named": {}}
    assert read_lock(sha256) == before


def test_no_lock_ends_in_the_past(s3, archive_bucket, file_document):
    """S3 refuses a date in the past, but moto's server accepts it."""
    site, content = make_site(), b"stored manually, without a lock"
    key = key_of(hashlib.sha256(content).hexdigest())
    s3.put_object(Bucket=archive_bucket, Key=key, Body=content, ChecksumAlgorithm="SHA256")
    file_document(site, content)
    change_terms(site.study, ended_on=date(2000, 3, 2), retention_years=2)
    assert run_lock_jobs().result["locked"] == 0
    assert "ObjectLockRetainUntilDate" not in s3.head_object(Bucket=archive_bucket, Key=key)


def test_a_study_that_has_not_ended_is_locked_as_if_it_had_ended_this_year(
    file_document, read_lock
):
    site = make_site()
    sha256 = file_document(site)
    change_terms(site.study, retention_years=40)
    run_lock_jobs()
    assert read_lock(sha256)[0] == datetime(THIS_YEAR + 40, 1, 2, tzinfo=UTC)
    change_terms(site.study, title="Another title")
    assert run_lock_jobs().result["locked"] == 0


def test_bytes_of_two_studies_have_the_longer_lock(file_document, read_lock):
    sites = make_site(), make_site_of_another_study()
    sha256, same = (file_document(site) for site in sites)
    assert sha256 == same
    change_terms(sites[0].study, ended_on=date(THIS_YEAR, 1, 1), retention_years=50)
    change_terms(sites[1].study, ended_on=date(THIS_YEAR, 1, 1), retention_years=30)
    first = set_hold(sites[1].study)
    run_lock_jobs()
    assert read_lock(sha256) == (datetime(THIS_YEAR + 50, 1, 2, tzinfo=UTC), True)
    set_hold(sites[0].study)
    lift(first)
    run_lock_jobs()
    assert read_lock(sha256)[1]


# --- legal holds --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_legal_hold_is_set_in_s3_until_it_is_lifted(
    client, s3, archive_bucket, file_document, read_lock
):
    site = make_site()
    sha256, other = (
        file_document(site),
        file_document(make_site_of_another_study(), b"another study's"),
    )
    client.force_login(make_staff("Regulatory affairs"))
    admin = "/admin/clinical_sites/legalhold/"
    client.post(f"{admin}add/", {"study": site.study_id, "reason": HOLD_REASON})
    run_lock_jobs()
    assert (read_lock(sha256)[1], read_lock(other)[1]) == (True, False)
    version = s3.head_object(Bucket=archive_bucket, Key=key_of(sha256))["VersionId"]
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.delete_object(Bucket=archive_bucket, Key=key_of(sha256), VersionId=version)
    pk = LegalHold.objects.get().pk
    client.post(f"{admin}{pk}/change/", {"lifted_because": LIFT_REASON})
    assert read_lock(sha256)[1], "the job has not run yet"
    run_lock_jobs()
    assert not read_lock(sha256)[1]


@pytest.mark.slow
def test_the_hold_in_s3_ends_with_the_last_of_two_holds(file_document, read_lock):
    site = make_site()
    sha256, first, second = file_document(site), set_hold(site.study), set_hold(site.study)
    lift(second)
    run_lock_jobs()
    assert read_lock(sha256)[1]
    lift(first)
    run_lock_jobs()
    assert not read_lock(sha256)[1]


def test_a_hold_that_was_set_outside_of_the_product_is_not_removed(
    s3, archive_bucket, file_document, read_lock
):
    site = make_site()
    sha256 = file_document(site)
    s3.put_object_legal_hold(Bucket=archive_bucket, Key=key_of(sha256), LegalHold={"Status": "ON"})
    change_terms(site.study, retention_years=30)
    run_lock_jobs()
    assert read_lock(sha256)[1]


def test_a_new_document_of_a_held_study_is_held_after_the_next_night(file_document, read_lock):
    site = make_site()
    file_document(site, b"first")
    set_hold(site.study)
    run_lock_jobs()
    sha256 = file_document(site, b"second")
    assert not read_lock(sha256)[1]
    object_locks.queue_nightly_update(["00"])
    run_lock_jobs()
    assert read_lock(sha256)[1]


def test_a_hold_that_is_set_during_an_update_is_applied(file_document, read_lock, monkeypatch):
    """The hold is set after the required locks were read, and its own job has already run."""
    site = make_site()
    sha256, first = file_document(site), set_hold(site.study)
    run_lock_jobs()
    lift(first)
    apply_lock = BucketArchive.apply_lock

    def set_hold_after_first_lock(*args, **options):
        if LegalHold.objects.in_force().exists():
            return apply_lock(*args, **options)
        is_changed = apply_lock(*args, **options)
        set_hold(site.study)
        # Its own job deletes the change too, because it finds the lock that this update applied.
        find_changes().delete()
        return is_changed

    monkeypatch.setattr(BucketArchive, "apply_lock", set_hold_after_first_lock)
    object_locks.update_locks([site.study_id])
    assert read_lock(sha256)[1]


# --- changes and jobs ---------------------------------------------------------------------------


def test_a_change_that_is_rolled_back_leaves_no_row_and_no_job(file_document):
    site = make_site()
    file_document(site)
    with transaction.atomic():
        set_hold(site.study)
        assert find_changes().exists()
        transaction.set_rollback(True)
    assert not find_changes().exists()
    assert not job_runs.run_next_job()


def test_an_update_continues_after_its_worker_died(file_document, read_lock, monkeypatch):
    site = make_site()
    hashes = [file_document(site, content) for content in (b"1", b"2", b"3")]
    set_hold(site.study)
    apply_lock = BucketArchive.apply_lock

    def die_at_second_object(store, sha256, wanted, **options):
        if sha256 == sorted(hashes)[1]:
            raise SystemExit
        return apply_lock(store, sha256, wanted, **options)

    with monkeypatch.context() as patch:
        patch.setattr(BucketArchive, "apply_lock", die_at_second_object)
        with pytest.raises(SystemExit):
            job_runs.run_next_job(worker="host:1")
    assert sorted(read_lock(sha256)[1] for sha256 in hashes) == [False, False, True]
    job_runs.recover_jobs_of("host:1")
    assert run_lock_jobs().result["locked"] == 0, "the change may still be in good hands"
    OutboxMessage.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    object_locks.queue_due_changes()
    assert run_lock_jobs().result["locked"] == 2
    assert all(read_lock(sha256)[1] for sha256 in hashes)
    assert not find_changes().exists()


def test_saving_other_fields_changes_no_lock(file_document):
    site = make_site()
    file_document(site)
    site.study.save(update_fields=["revision"])
    assert not find_changes().exists()


def test_a_study_without_documents_needs_no_change_of_locks():
    study = Study.objects.create(protocol_number="SLX-9")
    set_hold(study)
    assert not find_changes().exists()


@pytest.mark.parametrize("caller", ["nightly job", "command"])
def test_in_a_folder_changes_of_locks_are_deleted(settings, file_document, caller):
    site = make_site()
    file_document(site)
    set_hold(site.study)
    find_changes().update(error="AccessDenied")
    settings.STORAGES = settings.STORAGES | {
        "archive": {"BACKEND": "ingestion.storage.archive.FolderArchive"}
    }
    change_terms(site.study, retention_years=40)
    call_command("lock_archive", dry_run=True)
    assert find_changes().count() == 1
    if caller == "nightly job":
        object_locks.queue_nightly_update(["00"])
    else:
        call_command("lock_archive")
    assert not find_changes().exists(), "changes of the former bucket are deleted"
    assert "locks" not in find_active_alarms()


# --- what S3 refuses ----------------------------------------------------------------------------


@contextmanager
def read_only_access(s3, monkeypatch, settings):
    """Use a key that can only read. moto checks s3:PutObject for all requests that write."""
    options = {"endpoint_url": s3.meta.endpoint_url, "region_name": "us-east-1"}
    iam, name = boto3.client("iam", **options), f"reader-{free_port()}"
    iam.create_user(UserName=name)
    statement = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_user_policy(UserName=name, PolicyName="reads", PolicyDocument=policy)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    iam.close()
    with monkeypatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
        patch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
        set_archive_options(settings)
        check_permissions(s3, "0")
        try:
            yield
        finally:
            check_permissions(s3, "inf")
    set_archive_options(settings)


def check_permissions(s3, after):
    """Make the server check permissions after so many requests."""
    address = f"{s3.meta.endpoint_url}/moto-api/reset-auth"
    httpx2.post(address, content=after.encode()).raise_for_status()


def set_archive_options(settings, **options):
    """Change options of the archive, and connect with the current credentials."""
    stores = json.loads(json.dumps(settings.STORAGES))
    stores["archive"]["OPTIONS"] |= options
    settings.STORAGES = stores


@pytest.mark.slow
def test_a_missing_permission_is_an_alarm_until_it_is_granted(
    s3, monkeypatch, settings, file_document, read_lock, capsys
):
    site = make_site()
    hashes = [
        file_document(site, str(n).encode()) for n in range(object_locks.MAX_CONSECUTIVE_ERRORS + 1)
    ]
    set_hold(site.study)
    with read_only_access(s3, monkeypatch, settings):
        job = run_lock_jobs()
        with get_archive().open(hashes[0]) as content:
            assert content.read() == b"0", "documents can still be read"
        with pytest.raises(SystemExit):
            call_command("lock_archive")
    assert (job.state, job.result["refused"]) == ("done", object_locks.MAX_CONSECUTIVE_ERRORS), (
        "no further object is tried"
    )
    assert "docs/operations.md" in capsys.readouterr().out
    alarm = find_active_alarms()["locks"]
    assert "SLX-301" in alarm.text
    assert "AccessDenied" in alarm.text
    assert "s3:PutObjectLegalHold" in alarm.action
    assert not read_lock(hashes[0])[1]
    call_command("lock_archive")
    assert all(read_lock(sha256)[1] for sha256 in hashes)
    assert "locks" not in find_active_alarms()


def test_a_bucket_that_does_not_answer_is_tried_again_after_a_wait(
    settings, file_document, read_lock
):
    site = make_site()
    sha256, endpoint = file_document(site), settings.STORAGES["archive"]["OPTIONS"]["endpoint_url"]
    set_hold(site.study)
    set_archive_options(settings, endpoint_url=f"http://127.0.0.1:{free_port()}")
    run_lock_jobs()
    assert "Could not connect" in find_active_alarms()["locks"].text
    assert find_changes().get().due_at > timezone.now()
    set_archive_options(settings, endpoint_url=endpoint)
    object_locks.queue_due_changes()
    assert not job_runs.run_next_job(), "the change is not due yet"
    find_changes().update(due_at=timezone.now())
    object_locks.queue_due_changes()
    run_lock_jobs()
    assert read_lock(sha256)[1]
    assert not find_changes().exists()
    assert "locks" not in find_active_alarms()


def test_an_object_with_other_bytes_is_not_locked_and_others_are(
    s3, archive_bucket, file_document, read_lock
):
    site = make_site()
    hashes = sorted(file_document(site, content) for content in (b"1", b"2"))
    s3.put_object(Bucket=archive_bucket, Key=key_of(hashes[0]), Body=b"other bytes")
    set_hold(site.study)
    assert list(run_lock_jobs().result["named"]) == [hashes[0]]
    assert read_lock(hashes[1])[1]
    head = s3.head_object(Bucket=archive_bucket, Key=key_of(hashes[0]))
    assert "ObjectLockLegalHoldStatus" not in head
    assert "verify_archive" in find_active_alarms()["locks"].text
    s3.delete_object(Bucket=archive_bucket, Key=key_of(hashes[0]), VersionId=head["VersionId"])
    object_locks.update_locks([site.study_id])
    assert read_lock(hashes[0])[1]
    assert "locks" not in find_active_alarms()


def test_an_error_of_the_nightly_job_is_an_alarm_that_names_the_study(
    s3, monkeypatch, settings, file_document
):
    site = make_site()
    sha256 = file_document(site)
    Study.objects.filter(pk=site.study_id).update(retention_years=40)  # without a signal
    with read_only_access(s3, monkeypatch, settings):
        object_locks.queue_nightly_update([sha256[:2]])
        run_lock_jobs()
    assert "SLX-301" in find_active_alarms()["locks"].text


def test_a_document_without_a_file_is_no_error(file_document, read_lock):
    site = make_site()
    sha256 = file_document(site)
    make_filed(site, "never-stored", "f" * 64)
    set_hold(site.study)
    assert run_lock_jobs().result["refused"] == 0
    assert read_lock(sha256)[1]


# --- commands -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.requirement("R31")
def test_verify_archive_names_objects_with_other_locks(
    s3, archive_bucket, settings, file_document, monkeypatch, capsys
):
    set_archive_options(
        settings, years=1
    )  # as for documents that were stored under a shorter RETENTION_YEARS
    held, was_held = make_site(), make_site_of_another_study()
    short, still_held = file_document(held, b"1"), file_document(was_held, b"2")
    set_hold(held.study)
    lift(set_hold(was_held.study))
    s3.put_object_legal_hold(
        Bucket=archive_bucket, Key=key_of(still_held), LegalHold={"Status": "ON"}
    )
    monkeypatch.setattr(archive_verification, "PARTS", sorted({short[:2], still_held[:2]}))
    call_command("verify_archive", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["intact"]
    assert found["named"] == {
        "short": sorted([short, still_held]), "unheld": [short], "still_held": [still_held],
    }  # fmt: skip
    call_command("verify_archive")
    assert "`manage.py lock_archive`" in capsys.readouterr().out
    call_command("lock_archive")
    call_command("verify_archive", "--json")
    assert "2 documents checked, 2 locked anew." in capsys.readouterr().out


def test_a_dry_run_locks_nothing(file_document, read_lock, capsys):
    """docs/operations.md shows both commands."""
    site = make_site()
    sha256 = file_document(site)
    set_hold(site.study)
    call_command("lock_archive", "--study", "SLX-301", "--dry-run")
    assert "1 would be locked anew" in capsys.readouterr().out
    assert not read_lock(sha256)[1]
    assert find_changes().exists()
    call_command("lock_archive", "--study", "SLX-301")
    assert read_lock(sha256)[1]
    assert not find_changes().exists()


def test_an_unknown_study_is_an_error():
    with pytest.raises(CommandError, match="no study 'SLX-404'") as failed:
        call_command("lock_archive", "--study", "SLX-404")
    assert failed.value.returncode == 2


def test_the_command_explains_that_a_folder_has_no_locks(settings, capsys):
    settings.STORAGES = settings.STORAGES | {
        "archive": {"BACKEND": "ingestion.storage.archive.FolderArchive"}
    }
    call_command("lock_archive")
    assert "always read-only" in capsys.readouterr().out


def test_a_lock_in_governance_mode_keeps_its_mode(s3, archive_bucket, settings, file_document):
    site = make_site()
    set_archive_options(settings, mode="GOVERNANCE")
    sha256 = file_document(site)
    set_archive_options(settings, mode="COMPLIANCE")
    change_terms(site.study, retention_years=40)
    run_lock_jobs()
    head = s3.head_object(Bucket=archive_bucket, Key=key_of(sha256))
    assert head["ObjectLockMode"] == "GOVERNANCE"
    assert head["ObjectLockRetainUntilDate"] > datetime.now(UTC) + timedelta(days=39 * 365)
