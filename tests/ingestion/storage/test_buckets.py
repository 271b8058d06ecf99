"""Tests of archive and spool in S3, with moto's server over HTTP.

They keep the same guarantees as the folders.
"""

import hashlib
import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ClientError
from django.core.management import CommandError, call_command

from audit.ledger import queries
from ingestion.core.errors import StorageUnavailable
from ingestion.storage import (
    archive_verification,
    bucket_checks,
    disk_space,
    spool,
)
from ingestion.storage.archive import get_archive
from ingestion.storage.archive_verification import ArchiveFault, verify_parts
from tests.audit.buckets import free_port
from tests.commands import run
from tests.ingestion.storage.buckets import make_bucket, use_buckets
from tests.ingestion.storage.conftest import store_file

BYTES = b"%PDF-1.7 signed"
SHA256 = hashlib.sha256(BYTES).hexdigest()
KEY = f"sl/{SHA256[:2]}/{SHA256[2:4]}/{SHA256}"


@pytest.fixture(autouse=True)
def buckets(s3, monkeypatch, settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    return use_buckets(s3, monkeypatch, settings)


@pytest.fixture
def archive_bucket(buckets):
    return buckets["ARCHIVE_S3_BUCKET"]


def set_options(settings, name, **options):
    stores = json.loads(json.dumps(settings.STORAGES))
    stores[name]["OPTIONS"] |= options
    settings.STORAGES = stores


# --- the archive --------------------------------------------------------------------------------


def test_a_stored_file_can_be_read_and_is_named_as_in_a_folder(tmp_path, s3, archive_bucket):
    store_file(tmp_path, BYTES)
    with get_archive().open(SHA256) as file:
        assert file.read() == BYTES
        assert file.seek(0) == 0
        assert hashlib.file_digest(file, "sha256").hexdigest() == SHA256
    assert get_archive().has(SHA256)
    assert s3.head_object(Bucket=archive_bucket, Key=KEY)["ContentLength"] == len(BYTES)
    assert not (tmp_path / "archive").exists()


def test_a_missing_object_is_reported_as_a_missing_file():
    assert not get_archive().has("0" * 64)
    with pytest.raises(FileNotFoundError):
        get_archive().open("0" * 64)


@pytest.mark.requirement("R33")
def test_a_locked_object_cannot_be_deleted(tmp_path, s3, archive_bucket):
    store_file(tmp_path, BYTES)
    head = s3.head_object(Bucket=archive_bucket, Key=KEY)
    assert head["ObjectLockMode"] == "COMPLIANCE"
    assert head["ObjectLockRetainUntilDate"] > datetime.now(UTC) + timedelta(days=25 * 365)
    version = {"Bucket": archive_bucket, "Key": KEY, "VersionId": head["VersionId"]}
    for options in ({}, {"BypassGovernanceRetention": True}):
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.delete_object(**version, **options)


@pytest.mark.slow
def test_the_same_bytes_stored_concurrently_are_one_version(tmp_path, s3, archive_bucket):
    (tmp_path / "incoming").write_bytes(BYTES)
    with ThreadPoolExecutor(8) as pool:
        done = pool.map(lambda _: get_archive().put(tmp_path / "incoming", SHA256), range(8))
        assert list(done) == [None] * 8
    assert len(s3.list_object_versions(Bucket=archive_bucket)["Versions"]) == 1


def test_an_object_with_other_bytes_is_not_overwritten(tmp_path, s3, archive_bucket):
    s3.put_object(Bucket=archive_bucket, Key=KEY, Body=b"other bytes")
    with pytest.raises(StorageUnavailable, match="the object has other bytes"):
        store_file(tmp_path, BYTES)
    assert len(s3.list_object_versions(Bucket=archive_bucket)["Versions"]) == 1


def test_an_object_behind_a_delete_marker_is_stored_again(tmp_path, s3, archive_bucket):
    store_file(tmp_path, BYTES)
    s3.delete_object(Bucket=archive_bucket, Key=KEY)
    assert not get_archive().has(SHA256)
    store_file(tmp_path, BYTES)
    assert get_archive().has(SHA256)


def test_no_file_counts_as_missing_while_the_bucket_does_not_answer(tmp_path, settings):
    set_options(settings, "archive", endpoint_url=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(StorageUnavailable, match="the archive refused"):
        store_file(tmp_path, BYTES)
    for request in (
        get_archive().has,
        get_archive().open,
        lambda part: list(get_archive().contents(part[:2])),
    ):
        with pytest.raises(OSError, match="the bucket") as failed:
            request(SHA256)
        assert not isinstance(failed.value, FileNotFoundError)


def test_a_bucket_without_object_lock_refuses_documents(tmp_path, s3, settings):
    set_options(settings, "archive", bucket_name=make_bucket(s3, has_locks=False))
    with pytest.raises(StorageUnavailable):
        store_file(tmp_path, BYTES)


def test_free_space_is_not_measured_for_an_archive_in_a_bucket():
    assert disk_space.list_folders() == {"spool": "SPOOL_DIR"}


# --- verification -------------------------------------------------------------------------------


@pytest.fixture
def verify_archive(capsys, monkeypatch, filed):
    """Return a function that runs the command for the parts with files: each is a request."""
    monkeypatch.setattr(archive_verification, "PARTS", sorted({sha256[:2] for sha256 in filed}))
    return lambda: run_verification(capsys)


def run_verification(capsys):
    code, _ = run("verify_archive", "--json")
    return code, json.loads(capsys.readouterr().out.splitlines()[0])


def key_of(sha256):
    return f"sl/{sha256[:2]}/{sha256[2:4]}/{sha256}"


@pytest.mark.django_db
@pytest.mark.requirement("R31")
def test_verification_reads_and_hashes_every_object(filed, s3, archive_bucket, verify_archive):
    code, found = verify_archive()
    assert (code, found["intact"], found["files"]) == (0, True, 3)
    s3.delete_object(Bucket=archive_bucket, Key=key_of(filed[0]))
    s3.put_object(Bucket=archive_bucket, Key=key_of(filed[1]), Body=b"other bytes, not locked")
    code, found = verify_archive()
    assert code == 1
    assert found["named"] == {
        "missing": [filed[0]], "changed": [filed[1]], "writable": [filed[1]],
    }  # fmt: skip


@pytest.mark.django_db
def test_no_loss_is_recorded_if_the_bucket_does_not_answer(filed, settings, verify_archive):
    set_options(settings, "archive", endpoint_url=f"http://127.0.0.1:{free_port()}")
    code, found = verify_archive()
    assert (code, found["intact"]) == (2, None)
    assert not queries.list_entries(f"file:{filed[0]}")


@pytest.mark.django_db
def test_an_empty_bucket_is_an_error(filed, s3, settings):
    set_options(settings, "archive", bucket_name=make_bucket(s3))
    with pytest.raises(StorageUnavailable, match="not one file"):
        verify_parts(asked_by="system:tests")


@pytest.mark.django_db
def test_a_single_object_can_be_verified(filed, s3, archive_bucket):
    assert archive_verification.verify_stored_file(filed[0], asked_by="system:tests") is None
    s3.delete_object(Bucket=archive_bucket, Key=key_of(filed[0]))
    assert (
        archive_verification.verify_stored_file(filed[0], asked_by="system:tests")
        is ArchiveFault.MISSING
    )


# --- the spool ----------------------------------------------------------------------------------


def keys_in(s3, bucket):
    return [each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", ())]


def test_an_upload_can_be_read_on_another_host(tmp_path, settings):
    upload = spool.store_upload([b"one ", b"two"])
    settings.SPOOL_DIR = tmp_path / "another-host"
    folder = spool.get_attempt_folder(uuid.uuid4())
    path = spool.open_local(upload.key, folder)
    assert path.parent == folder
    assert path.read_bytes() == b"one two"
    assert (upload.sha256, upload.size) == (hashlib.sha256(b"one two").hexdigest(), 7)
    assert not [path for path in (tmp_path / "spool").rglob("*") if path.is_file()]


def test_an_interrupted_upload_leaves_no_object(s3, buckets):
    def interrupted_chunks():
        yield b"half of it"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        spool.store_upload(interrupted_chunks())
    assert keys_in(s3, buckets["SPOOL_S3_BUCKET"]) == []


def test_a_copied_upload_is_dropped_under_one_key_only(tmp_path):
    upload = spool.store_upload([b"x"])
    other = spool.copy_upload(upload)
    spool.drop_upload(upload.key)
    spool.drop_upload(upload.key)
    assert spool.open_local(other.key, tmp_path).read_bytes() == b"x"
    with pytest.raises(StorageUnavailable, match="lost"):
        spool.open_local(upload.key, tmp_path)


def test_old_uploads_are_found_by_their_time():
    upload = spool.store_upload([b"x"])
    now = datetime.now(UTC)
    assert list(spool.list_uploads_before(now + timedelta(minutes=1))) == [upload.key]
    assert list(spool.list_uploads_before(now - timedelta(minutes=1))) == []


def test_dropping_an_upload_succeeds_while_the_spool_does_not_answer(settings):
    upload = spool.store_upload([b"x"])
    set_options(settings, "spool", endpoint_url=f"http://127.0.0.1:{free_port()}")
    spool.drop_upload(upload.key)  # raises nothing, because `prune` deletes the upload later
    with pytest.raises(OSError, match="the bucket"):
        spool.store_upload([b"y"])


# --- the settings -------------------------------------------------------------------------------


def ids(messages):
    return [message.id for message in messages]


def test_valid_buckets_have_no_messages():
    assert ids(bucket_checks.check_settings()) == []
    assert ids(bucket_checks.check_buckets()) == []


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("archive", {"mode": "FOREVER"}, "ingestion.E080"),
        ("archive", {"years": 24}, "ingestion.E081"),
        ("archive", {"endpoint_url": "minio:9000"}, "ingestion.E083"),
        ("spool", {"timeout_seconds": 0}, "ingestion.E084"),
    ],
)
def test_a_wrong_setting_has_a_message(settings, name, options, expected):
    set_options(settings, name, **options)
    assert ids(bucket_checks.check_settings()) == [expected]


def test_one_bucket_for_both_is_refused(settings, archive_bucket):
    set_options(settings, "spool", bucket_name=archive_bucket)
    assert ids(bucket_checks.check_settings()) == ["ingestion.E082"]


def test_an_archive_bucket_without_object_lock_is_an_error(s3, settings):
    plain = make_bucket(s3, has_locks=False)
    set_options(settings, "archive", bucket_name=plain)
    [message] = bucket_checks.check_buckets()
    assert message.id == "ingestion.E085"
    assert plain in message.msg
    with pytest.raises(CommandError, match="E085"):
        call_command("check", "--tag", bucket_checks.BUCKETS, "--deploy")


def test_a_spool_bucket_that_locks_objects_is_an_error(s3, settings, buckets):
    locking = make_bucket(s3)
    rule = {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 1}}
    terms = {"ObjectLockEnabled": "Enabled", "Rule": rule}
    s3.put_object_lock_configuration(Bucket=locking, ObjectLockConfiguration=terms)
    set_options(settings, "spool", bucket_name=locking)
    assert ids(bucket_checks.check_buckets()) == ["ingestion.E086"]


def test_missing_credentials_have_their_own_message(monkeypatch, settings):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    set_options(settings, "archive")
    set_options(settings, "spool")
    assert ids(bucket_checks.check_buckets()) == ["ingestion.E087", "ingestion.E087"]


def test_a_missing_bucket_and_a_silent_one_have_different_messages(settings):
    set_options(settings, "archive", bucket_name="nowhere")
    set_options(settings, "spool", endpoint_url=f"http://127.0.0.1:{free_port()}")
    assert ids(bucket_checks.check_buckets()) == ["ingestion.E088", "ingestion.W080"]


def test_folders_are_not_checked(settings):
    settings.STORAGES = settings.STORAGES | {
        "archive": {"BACKEND": "ingestion.storage.archive.FolderArchive"},
        "spool": {"BACKEND": "ingestion.storage.spool.FolderSpool"},
    }
    assert ids(bucket_checks.check_settings()) == []
    assert ids(bucket_checks.check_buckets()) == []
