"""Archive and spool in S3: moto's server, over HTTP. What a folder promises holds there too."""

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
from tests.ingestion.storage.buckets import in_s3, make_bucket
from tests.ingestion.storage.conftest import stored

BYTES = b"%PDF-1.7 signed"
SHA256 = hashlib.sha256(BYTES).hexdigest()
KEY = f"sl/{SHA256[:2]}/{SHA256[2:4]}/{SHA256}"


@pytest.fixture(autouse=True)
def where(s3, monkeypatch, settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    return in_s3(s3, monkeypatch, settings)


@pytest.fixture
def kept_in(where):
    return where["ARCHIVE_S3_BUCKET"]


def change(settings, name, **options):
    stores = json.loads(json.dumps(settings.STORAGES))
    stores[name]["OPTIONS"] |= options
    settings.STORAGES = stores


# --- the archive --------------------------------------------------------------------------------


def test_what_was_put_is_given_back_under_the_names_of_the_folder(tmp_path, s3, kept_in):
    stored(tmp_path, BYTES)
    with get_archive().open(SHA256) as file:
        assert file.read() == BYTES
        assert file.seek(0) == 0
        assert hashlib.file_digest(file, "sha256").hexdigest() == SHA256
    assert get_archive().has(SHA256)
    assert s3.head_object(Bucket=kept_in, Key=KEY)["ContentLength"] == len(BYTES)
    assert not (tmp_path / "archive").exists()


def test_what_is_not_there_is_missing_and_no_error_of_the_bucket():
    assert not get_archive().has("0" * 64)
    with pytest.raises(FileNotFoundError):
        get_archive().open("0" * 64)


@pytest.mark.requirement("R33")
def test_nobody_can_delete_what_was_filed_before_its_time(tmp_path, s3, kept_in):
    stored(tmp_path, BYTES)
    there = s3.head_object(Bucket=kept_in, Key=KEY)
    assert there["ObjectLockMode"] == "COMPLIANCE"
    assert there["ObjectLockRetainUntilDate"] > datetime.now(UTC) + timedelta(days=25 * 365)
    version = {"Bucket": kept_in, "Key": KEY, "VersionId": there["VersionId"]}
    for how in ({}, {"BypassGovernanceRetention": True}):
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.delete_object(**version, **how)


def test_the_same_bytes_put_by_many_at_once_are_one_version(tmp_path, s3, kept_in):
    (tmp_path / "incoming").write_bytes(BYTES)
    with ThreadPoolExecutor(8) as pool:
        done = pool.map(lambda _: get_archive().put(tmp_path / "incoming", SHA256), range(8))
        assert list(done) == [None] * 8
    assert len(s3.list_object_versions(Bucket=kept_in)["Versions"]) == 1


def test_nothing_is_laid_on_top_of_a_strangers_bytes(tmp_path, s3, kept_in):
    s3.put_object(Bucket=kept_in, Key=KEY, Body=b"something else")
    with pytest.raises(StorageUnavailable, match="other bytes lie there"):
        stored(tmp_path, BYTES)
    assert len(s3.list_object_versions(Bucket=kept_in)["Versions"]) == 1


def test_what_a_delete_marker_hid_is_put_again(tmp_path, s3, kept_in):
    stored(tmp_path, BYTES)
    s3.delete_object(Bucket=kept_in, Key=KEY)
    assert not get_archive().has(SHA256)
    stored(tmp_path, BYTES)
    assert get_archive().has(SHA256)


def test_a_bucket_that_does_not_answer_is_our_fault_and_nothing_is_missing(tmp_path, settings):
    change(settings, "archive", endpoint_url=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(StorageUnavailable, match="the archive refused"):
        stored(tmp_path, BYTES)
    for ask in (
        get_archive().has,
        get_archive().open,
        lambda part: list(get_archive().contents(part[:2])),
    ):
        with pytest.raises(OSError, match="the bucket") as failed:
            ask(SHA256)
        assert not isinstance(failed.value, FileNotFoundError)


def test_a_bucket_without_object_lock_takes_no_document(tmp_path, s3, settings):
    change(settings, "archive", bucket_name=make_bucket(s3, locks=False))
    with pytest.raises(StorageUnavailable):
        stored(tmp_path, BYTES)


def test_an_archive_in_a_bucket_has_no_disk_that_could_fill_up():
    assert disk_space.list_folders() == {"spool": "SPOOL_DIR"}


# --- is it what was filed? ----------------------------------------------------------------------


@pytest.fixture
def verify_archive(capsys, monkeypatch, filed):
    """The command over the parts in which something lies: each part is a request."""
    monkeypatch.setattr(archive_verification, "PARTS", sorted({sha256[:2] for sha256 in filed}))
    return lambda: _verified(capsys)


def _verified(capsys):
    code, _ = run("verify_archive", "--json")
    return code, json.loads(capsys.readouterr().out.splitlines()[0])


def key_of(sha256):
    return f"sl/{sha256[:2]}/{sha256[2:4]}/{sha256}"


@pytest.mark.django_db
@pytest.mark.requirement("R31")
def test_every_object_is_read_and_hashed_again(filed, s3, kept_in, verify_archive):
    code, found = verify_archive()
    assert (code, found["intact"], found["files"]) == (0, True, 3)
    s3.delete_object(Bucket=kept_in, Key=key_of(filed[0]))
    s3.put_object(Bucket=kept_in, Key=key_of(filed[1]), Body=b"other bytes, not locked")
    code, found = verify_archive()
    assert code == 1
    assert found["named"] == {
        "missing": [filed[0]], "changed": [filed[1]], "writable": [filed[1]],
    }  # fmt: skip


@pytest.mark.django_db
def test_a_bucket_that_cannot_be_asked_has_lost_nothing(filed, settings, verify_archive):
    change(settings, "archive", endpoint_url=f"http://127.0.0.1:{free_port()}")
    code, found = verify_archive()
    assert (code, found["intact"]) == (2, None)
    assert not queries.timeline(f"file:{filed[0]}")


@pytest.mark.django_db
def test_an_empty_bucket_is_the_wrong_one(filed, s3, settings):
    change(settings, "archive", bucket_name=make_bucket(s3))
    with pytest.raises(StorageUnavailable, match="not one file"):
        verify_parts(asked_by="system:tests")


@pytest.mark.django_db
def test_one_object_can_be_looked_at_by_itself(filed, s3, kept_in):
    assert archive_verification.verify_stored_file(filed[0], asked_by="system:tests") is None
    s3.delete_object(Bucket=kept_in, Key=key_of(filed[0]))
    assert (
        archive_verification.verify_stored_file(filed[0], asked_by="system:tests")
        is ArchiveFault.MISSING
    )


# --- the spool ----------------------------------------------------------------------------------


def keys_in(s3, bucket):
    return [each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", ())]


def test_an_upload_is_read_on_a_host_that_did_not_take_it_in(tmp_path, settings):
    kept = spool.store_upload([b"one ", b"two"])
    settings.SPOOL_DIR = tmp_path / "another-host"
    folder = spool.get_attempt_folder(uuid.uuid4())
    path = spool.open_local(kept.key, folder)
    assert path.parent == folder
    assert path.read_bytes() == b"one two"
    assert (kept.sha256, kept.size) == (hashlib.sha256(b"one two").hexdigest(), 7)
    assert not [path for path in (tmp_path / "spool").rglob("*") if path.is_file()]


def test_an_upload_that_breaks_off_leaves_nothing(s3, where):
    def breaking():
        yield b"half of it"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        spool.store_upload(breaking())
    assert keys_in(s3, where["SPOOL_S3_BUCKET"]) == []


def test_an_upload_under_two_keys_is_dropped_under_one(tmp_path):
    kept = spool.store_upload([b"x"])
    other = spool.copy_upload(kept)
    spool.drop_upload(kept.key)
    spool.drop_upload(kept.key)
    assert spool.open_local(other.key, tmp_path).read_bytes() == b"x"
    with pytest.raises(StorageUnavailable, match="lost"):
        spool.open_local(kept.key, tmp_path)


def test_old_uploads_are_found_by_when_they_came():
    kept = spool.store_upload([b"x"])
    now = datetime.now(UTC)
    assert list(spool.list_uploads_before(now + timedelta(minutes=1))) == [kept.key]
    assert list(spool.list_uploads_before(now - timedelta(minutes=1))) == []


def test_a_spool_that_does_not_answer_keeps_no_document_from_being_settled(settings):
    kept = spool.store_upload([b"x"])
    change(settings, "spool", endpoint_url=f"http://127.0.0.1:{free_port()}")
    spool.drop_upload(kept.key)  # `prune` will
    with pytest.raises(OSError, match="the bucket"):
        spool.store_upload([b"y"])


# --- the settings -------------------------------------------------------------------------------


def ids(found):
    return [message.id for message in found]


def test_two_right_buckets_are_right():
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
def test_a_setting_that_is_wrong_is_named(settings, name, options, expected):
    change(settings, name, **options)
    assert ids(bucket_checks.check_settings()) == [expected]


def test_one_bucket_for_both_is_refused(settings, kept_in):
    change(settings, "spool", bucket_name=kept_in)
    assert ids(bucket_checks.check_settings()) == ["ingestion.E082"]


def test_a_bucket_that_locks_nothing_is_found_before_a_host_starts(s3, settings):
    plain = make_bucket(s3, locks=False)
    change(settings, "archive", bucket_name=plain)
    [message] = bucket_checks.check_buckets()
    assert message.id == "ingestion.E085"
    assert plain in message.msg
    with pytest.raises(CommandError, match="E085"):
        call_command("check", "--tag", bucket_checks.BUCKETS, "--deploy")


def test_a_spool_that_locks_could_never_be_emptied(s3, settings, where):
    locking = make_bucket(s3)
    rule = {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 1}}
    terms = {"ObjectLockEnabled": "Enabled", "Rule": rule}
    s3.put_object_lock_configuration(Bucket=locking, ObjectLockConfiguration=terms)
    change(settings, "spool", bucket_name=locking)
    assert ids(bucket_checks.check_buckets()) == ["ingestion.E086"]


def test_a_bucket_without_credentials_is_told_apart(monkeypatch, settings):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    change(settings, "archive")
    change(settings, "spool")
    assert ids(bucket_checks.check_buckets()) == ["ingestion.E087", "ingestion.E087"]


def test_a_bucket_that_is_not_there_and_one_that_does_not_answer_are_told_apart(settings):
    change(settings, "archive", bucket_name="nowhere")
    change(settings, "spool", endpoint_url=f"http://127.0.0.1:{free_port()}")
    assert ids(bucket_checks.check_buckets()) == ["ingestion.E088", "ingestion.W080"]


def test_folders_are_not_asked(settings):
    settings.STORAGES = settings.STORAGES | {
        "archive": {"BACKEND": "ingestion.storage.archive.FolderArchive"},
        "spool": {"BACKEND": "ingestion.storage.spool.FolderSpool"},
    }
    assert ids(bucket_checks.check_settings()) == []
    assert ids(bucket_checks.check_buckets()) == []
