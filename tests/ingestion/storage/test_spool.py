"""Tests of the spool in a folder."""

import hashlib
import uuid

import pytest

from ingestion.storage import spool


@pytest.fixture(autouse=True)
def _folder(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def test_an_upload_is_stored_completely_and_hashed():
    upload = spool.store_upload([b"one ", b"two"])
    assert spool.get_path(upload.key).read_bytes() == b"one two"
    assert (upload.sha256, upload.size) == (hashlib.sha256(b"one two").hexdigest(), 7)


def test_an_interrupted_upload_leaves_no_file(tmp_path):
    def interrupted_chunks():
        yield b"half of it"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        spool.store_upload(interrupted_chunks())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_dropping_an_upload_twice_is_allowed():
    upload = spool.store_upload([b"x"])
    spool.drop_upload(upload.key)
    spool.drop_upload(upload.key)
    assert not spool.get_path(upload.key).exists()


def test_dropping_an_attempt_deletes_its_folder():
    lease = uuid.uuid4()
    (spool.get_attempt_folder(lease) / "17.0").write_bytes(b"half a download")
    spool.drop_attempt(lease)
    assert not spool.get_path(f"attempts/{lease}").exists()
