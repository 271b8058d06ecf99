"""What S3 locks is what the ledger says: moto's server, over HTTP, also where we lack rights."""

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

from audit import background_jobs
from audit.outbox import OutboxMessage
from ingestion.models import LockChange
from ingestion.operations import alarms
from ingestion.storage import archive_verification, object_locks
from ingestion.storage.archive import get_archive
from ingestion.storage.buckets import BucketArchive
from sites.models import Study
from sites.models.legal_holds import LegalHold
from tests.audit.buckets import free_port
from tests.factories import make_filed, make_site, make_staff, make_user
from tests.ingestion.storage.buckets import in_s3

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("R14")]

THIS_YEAR = timezone.now().year
WHY = "The FDA has announced an inspection."
OVER = "The inspection is over."


@pytest.fixture(autouse=True)
def bucket(s3, monkeypatch, settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    monkeypatch.setattr(
        background_jobs, "HEARTBEAT_SECONDS", 60.0
    )  # SQLite: the test's transaction keeps it out
    return in_s3(s3, monkeypatch, settings)["ARCHIVE_S3_BUCKET"]


@pytest.fixture
def file(tmp_path):
    """Files a document of these bytes. Answers their hash."""

    def put(site, content=b"%PDF"):
        sha256 = hashlib.sha256(content).hexdigest()
        (tmp_path / "incoming").write_bytes(content)
        get_archive().put(tmp_path / "incoming", sha256)
        make_filed(site, f"doc-{sha256[:8]}", sha256)
        return sha256

    return put


@pytest.fixture
def lock(s3, bucket):
    """What S3 says of an object: until when, and is it held."""

    def read(sha256):
        there = s3.head_object(Bucket=bucket, Key=key_of(sha256))
        held = there.get("ObjectLockLegalHoldStatus") == "ON"
        return there["ObjectLockRetainUntilDate"], held

    return read


def key_of(sha256):
    return f"sl/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def keep(study, **terms):
    """A study's terms, changed as the admin does."""
    for name, value in terms.items():
        setattr(study, name, value)
    study.save()


def hold(study):
    return LegalHold.objects.create(study=study, reason=WHY, set_by=make_user())


def lift(hold):
    hold.lifted_at, hold.lifted_by, hold.lifted_because = timezone.now(), hold.set_by, OVER
    hold.save()


def follow():
    """What a worker does that is rung for. Its last job."""
    while background_jobs.run_next_job():
        pass
    return background_jobs.latest_jobs(object_locks.KIND, 1)[0]


def ringing():
    return {alarm.key: alarm for alarm in alarms.find_alarms().alarms}


def another_study(number="2001"):
    site = make_site(number)
    site.study = Study.objects.create(protocol_number="SLX-2")
    site.save()
    return site


# --- for longer ---------------------------------------------------------------------------------


def test_what_has_to_be_kept_for_longer_is_locked_for_longer(file, lock):
    site = make_site()
    sha256 = file(site)
    keep(site.study, ended_on=date(THIS_YEAR, 3, 2), retention_years=40)
    assert follow().result["locked"] == 1
    assert lock(sha256) == (datetime(THIS_YEAR + 40, 3, 3, tzinfo=UTC), False)
    assert not LockChange.objects.exists()


def test_a_lock_is_never_made_shorter(file, lock):
    site = make_site()
    sha256 = file(site)
    before = lock(sha256)
    keep(site.study, ended_on=date(THIS_YEAR - 1, 3, 2), retention_years=2)
    assert follow().result == {"looked_at": 1, "locked": 0, "refused": 0, "named": {}}
    assert lock(sha256) == before


def test_nothing_is_locked_until_a_day_that_has_passed(s3, bucket, file):
    """S3 refuses it, and moto's server does not."""
    site, content = make_site(), b"put by hand, and not locked"
    key = key_of(hashlib.sha256(content).hexdigest())
    s3.put_object(Bucket=bucket, Key=key, Body=content, ChecksumAlgorithm="SHA256")
    file(site, content)
    keep(site.study, ended_on=date(2000, 3, 2), retention_years=2)
    assert follow().result["locked"] == 0
    assert "ObjectLockRetainUntilDate" not in s3.head_object(Bucket=bucket, Key=key)


def test_a_study_that_goes_on_is_locked_each_year_as_if_it_had_ended(file, lock):
    site = make_site()
    sha256 = file(site)
    keep(site.study, retention_years=40)
    follow()
    assert lock(sha256)[0] == datetime(THIS_YEAR + 40, 1, 2, tzinfo=UTC)
    keep(site.study, title="Another title")
    assert follow().result["locked"] == 0


def test_bytes_of_two_studies_are_kept_as_long_as_either(file, lock):
    sites = make_site(), another_study()
    sha256, same = (file(site) for site in sites)
    assert sha256 == same
    keep(sites[0].study, ended_on=date(THIS_YEAR, 1, 1), retention_years=50)
    keep(sites[1].study, ended_on=date(THIS_YEAR, 1, 1), retention_years=30)
    first = hold(sites[1].study)
    follow()
    assert lock(sha256) == (datetime(THIS_YEAR + 50, 1, 2, tzinfo=UTC), True)
    hold(sites[0].study)
    lift(first)
    follow()
    assert lock(sha256)[1]


# --- legal holds --------------------------------------------------------------------------------


def test_a_hold_is_s3s_own_until_it_is_lifted(client, s3, bucket, file, lock):
    site = make_site()
    sha256, other = file(site), file(another_study(), b"another study's")
    client.force_login(make_staff("Regulatory affairs"))
    admin = "/admin/clinical_sites/legalhold/"
    client.post(f"{admin}add/", {"study": site.study_id, "reason": WHY})
    follow()
    assert (lock(sha256)[1], lock(other)[1]) == (True, False)
    # Not even of what nothing else keeps.
    short = s3.head_object(Bucket=bucket, Key=key_of(sha256))["VersionId"]
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.delete_object(Bucket=bucket, Key=key_of(sha256), VersionId=short)
    pk = LegalHold.objects.get().pk
    client.post(f"{admin}{pk}/change/", {"lifted_because": OVER})
    assert lock(sha256)[1], "before the worker has come to it"
    follow()
    assert not lock(sha256)[1]


def test_of_two_holds_the_last_one_lets_go(file, lock):
    site = make_site()
    sha256, first, second = file(site), hold(site.study), hold(site.study)
    lift(second)
    follow()
    assert lock(sha256)[1]
    lift(first)
    follow()
    assert not lock(sha256)[1]


def test_a_hold_that_somebody_else_put_on_is_left_alone(s3, bucket, file, lock):
    site = make_site()
    sha256 = file(site)
    s3.put_object_legal_hold(Bucket=bucket, Key=key_of(sha256), LegalHold={"Status": "ON"})
    keep(site.study, retention_years=30)
    follow()
    assert lock(sha256)[1]


def test_what_comes_into_a_study_that_is_held_is_held_the_next_night(file, lock):
    site = make_site()
    file(site, b"first")
    hold(site.study)
    follow()
    sha256 = file(site, b"second")
    assert not lock(sha256)[1]
    object_locks.queue_nightly_update(["00"])
    follow()
    assert lock(sha256)[1]


def test_what_is_said_while_the_bucket_is_asked_is_followed_too(file, lock, monkeypatch):
    """A hold is set when we have read that there is none, and its own job has run already."""
    site = make_site()
    sha256, first = file(site), hold(site.study)
    follow()
    lift(first)
    ask = BucketArchive.keep

    def keep_slowly(*args, **options):
        if LegalHold.objects.in_force().exists():
            return ask(*args, **options)
        done = ask(*args, **options)
        hold(site.study)
        LockChange.objects.all().delete()  # as its job would, that took our lock for its own
        return done

    monkeypatch.setattr(BucketArchive, "keep", keep_slowly)
    object_locks.update_locks([site.study_id])
    assert lock(sha256)[1]


# --- between the ledger and the bucket ----------------------------------------------------------


def test_a_change_that_is_taken_back_leaves_nothing_to_follow(file):
    site = make_site()
    file(site)
    with transaction.atomic():
        hold(site.study)
        assert LockChange.objects.exists()
        transaction.set_rollback(True)
    assert not LockChange.objects.exists()
    assert not background_jobs.run_next_job()


def test_what_a_dead_worker_left_is_gone_on_with(file, lock, monkeypatch):
    site = make_site()
    hashes = [file(site, content) for content in (b"1", b"2", b"3")]
    hold(site.study)
    OutboxMessage.objects.all().delete()
    background_jobs.AuditJob.objects.all().delete()
    ask = BucketArchive.keep

    def die_at_the_second(store, sha256, wanted, **options):
        if sha256 == sorted(hashes)[1]:
            raise SystemExit
        return ask(store, sha256, wanted, **options)

    with monkeypatch.context() as patch:
        patch.setattr(BucketArchive, "keep", die_at_the_second)
        with pytest.raises(SystemExit):
            object_locks.update_locks([site.study_id])
    assert sorted(lock(sha256)[1] for sha256 in hashes) == [False, False, True]
    assert LockChange.objects.exists()
    object_locks.queue_nightly_update([])
    assert follow().result["locked"] == 2
    assert all(lock(sha256)[1] for sha256 in hashes)
    assert not LockChange.objects.exists()


def test_what_is_saved_without_the_terms_changes_no_lock(file):
    site = make_site()
    file(site)
    site.study.save(update_fields=["revision"])
    assert not LockChange.objects.exists()


def test_a_study_without_documents_has_nothing_to_lock_and_may_be_deleted():
    study = Study.objects.create(protocol_number="SLX-9")
    hold(study)
    assert not LockChange.objects.exists()


@pytest.mark.parametrize("how", ["at night", "by hand"])
def test_a_folder_has_no_locks_that_end(settings, file, how):
    site = make_site()
    file(site)
    hold(site.study)
    LockChange.objects.update(error="AccessDenied")
    settings.STORAGES = settings.STORAGES | {
        "archive": {"BACKEND": "ingestion.storage.archive.FolderArchive"}
    }
    keep(site.study, retention_years=40)
    call_command("lock_archive", dry_run=True)
    assert LockChange.objects.count() == 1
    object_locks.queue_nightly_update(["00"]) if how == "at night" else call_command("lock_archive")
    assert not LockChange.objects.exists(), "what a bucket had to follow is over, too"
    assert "locks" not in ringing()


# --- what S3 refuses ----------------------------------------------------------------------------


@contextmanager
def only_reading(s3, monkeypatch, settings):
    """We have a key that may read alone. moto asks one right, PutObject, of all that writes."""
    at = {"endpoint_url": s3.meta.endpoint_url, "region_name": "us-east-1"}
    iam, name = boto3.client("iam", **at), f"reader-{free_port()}"
    iam.create_user(UserName=name)
    may = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [may]})
    iam.put_user_policy(UserName=name, PolicyName="reads", PolicyDocument=policy)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    iam.close()
    with monkeypatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
        patch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
        anew(settings)
        ask_for_rights(s3, "0")
        try:
            yield
        finally:
            ask_for_rights(s3, "inf")
    anew(settings)


def ask_for_rights(s3, after):
    """The server does, after so many requests."""
    address = f"{s3.meta.endpoint_url}/moto-api/reset-auth"
    httpx2.post(address, content=after.encode()).raise_for_status()


def anew(settings, **options):
    """The archive with other options, or other credentials."""
    stores = json.loads(json.dumps(settings.STORAGES))
    stores["archive"]["OPTIONS"] |= options
    settings.STORAGES = stores


def test_a_right_that_we_lack_rings_until_we_have_it(s3, monkeypatch, settings, file, lock, capsys):
    site = make_site()
    hashes = [file(site, str(n).encode()) for n in range(object_locks.MAX_CONSECUTIVE_ERRORS + 1)]
    hold(site.study)
    with only_reading(s3, monkeypatch, settings):
        job = follow()
        with get_archive().open(hashes[0]) as content:
            assert content.read() == b"0", "no document is lost for it"
        with pytest.raises(SystemExit):
            call_command("lock_archive")
    assert (job.state, job.result["refused"]) == ("done", object_locks.MAX_CONSECUTIVE_ERRORS), (
        "no further one is tried"
    )
    assert "docs/operations.md" in capsys.readouterr().out
    alarm = ringing()["locks"]
    assert "SLX-301" in alarm.text
    assert "AccessDenied" in alarm.text
    assert "s3:PutObjectLegalHold" in alarm.action
    assert not lock(hashes[0])[1]
    call_command("lock_archive")
    assert all(lock(sha256)[1] for sha256 in hashes)
    assert "locks" not in ringing()


def test_a_bucket_that_does_not_answer_is_asked_again_at_night(settings, file, lock):
    site = make_site()
    sha256, there = file(site), settings.STORAGES["archive"]["OPTIONS"]["endpoint_url"]
    hold(site.study)
    anew(settings, endpoint_url=f"http://127.0.0.1:{free_port()}")
    follow()
    assert "Could not connect" in ringing()["locks"].text
    anew(settings, endpoint_url=there)
    object_locks.queue_nightly_update([])
    follow()
    assert lock(sha256)[1]
    assert "locks" not in ringing()


def test_a_strangers_bytes_are_not_locked_and_stop_nothing(s3, bucket, file, lock):
    site = make_site()
    hashes = sorted(file(site, content) for content in (b"1", b"2"))
    s3.put_object(Bucket=bucket, Key=key_of(hashes[0]), Body=b"laid on top")
    hold(site.study)
    assert list(follow().result["named"]) == [hashes[0]]
    assert lock(hashes[1])[1]
    there = s3.head_object(Bucket=bucket, Key=key_of(hashes[0]))
    assert "ObjectLockLegalHoldStatus" not in there
    assert "verify_archive" in ringing()["locks"].text
    s3.delete_object(Bucket=bucket, Key=key_of(hashes[0]), VersionId=there["VersionId"])
    object_locks.update_locks([site.study_id])
    assert lock(hashes[0])[1]
    assert "locks" not in ringing()


def test_what_the_night_is_refused_rings_with_its_study(s3, monkeypatch, settings, file):
    site = make_site()
    sha256 = file(site)
    Study.objects.filter(pk=site.study_id).update(retention_years=40)  # nobody was told of it
    with only_reading(s3, monkeypatch, settings):
        object_locks.queue_nightly_update([sha256[:2]])
        follow()
    assert "SLX-301" in ringing()["locks"].text


def test_what_was_rejected_without_its_bytes_is_not_missed(file, lock):
    site = make_site()
    sha256 = file(site)
    make_filed(site, "never-stored", "f" * 64)
    hold(site.study)
    assert follow().result["refused"] == 0
    assert lock(sha256)[1]


# --- said, and put right by hand ----------------------------------------------------------------


@pytest.mark.requirement("R31")
def test_verify_archive_tells_what_is_locked_otherwise(
    s3, bucket, settings, file, monkeypatch, capsys
):
    anew(settings, years=1)  # put before RETENTION_YEARS were what they are
    held, was_held = make_site(), another_study()
    short, still_held = file(held, b"1"), file(was_held, b"2")
    hold(held.study)
    lift(hold(was_held.study))
    s3.put_object_legal_hold(Bucket=bucket, Key=key_of(still_held), LegalHold={"Status": "ON"})
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


def test_a_dry_run_locks_nothing(file, lock, capsys):
    """Both as docs/operations.md has them."""
    site = make_site()
    sha256 = file(site)
    hold(site.study)
    call_command("lock_archive", "--study", "SLX-301", "--dry-run")
    assert "1 would be locked anew" in capsys.readouterr().out
    assert not lock(sha256)[1]
    assert LockChange.objects.exists()
    call_command("lock_archive", "--study", "SLX-301")
    assert lock(sha256)[1]
    assert not LockChange.objects.exists()


def test_a_study_that_is_not_there_is_named():
    with pytest.raises(CommandError, match="no study 'SLX-404'") as failed:
        call_command("lock_archive", "--study", "SLX-404")
    assert failed.value.returncode == 2


def test_the_command_says_what_stands_for_locks_in_a_folder(settings, capsys):
    settings.STORAGES = settings.STORAGES | {
        "archive": {"BACKEND": "ingestion.storage.archive.FolderArchive"}
    }
    call_command("lock_archive")
    assert "always read-only" in capsys.readouterr().out


def test_a_lock_in_governance_mode_stays_in_it(s3, bucket, settings, file):
    site = make_site()
    anew(settings, mode="GOVERNANCE")
    sha256 = file(site)
    anew(settings, mode="COMPLIANCE")
    keep(site.study, retention_years=40)
    follow()
    there = s3.head_object(Bucket=bucket, Key=key_of(sha256))
    assert there["ObjectLockMode"] == "GOVERNANCE"
    assert there["ObjectLockRetainUntilDate"] > datetime.now(UTC) + timedelta(days=39 * 365)
