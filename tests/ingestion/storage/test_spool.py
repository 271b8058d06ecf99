"""Where bytes wait before they are archived."""

import hashlib
import uuid

import pytest

from ingestion.storage import spool


@pytest.fixture(autouse=True)
def _folder(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path


def test_an_upload_is_kept_whole_and_hashed_on_the_way():
    kept = spool.store_upload([b"one ", b"two"])
    assert spool.get_path(kept.key).read_bytes() == b"one two"
    assert (kept.sha256, kept.size) == (hashlib.sha256(b"one two").hexdigest(), 7)


def test_an_upload_that_breaks_off_leaves_nothing(tmp_path):
    def breaking():
        yield b"half of it"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        spool.store_upload(breaking())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_dropping_is_the_same_twice():
    kept = spool.store_upload([b"x"])
    spool.drop_upload(kept.key)
    spool.drop_upload(kept.key)
    assert not spool.get_path(kept.key).exists()


def test_a_lease_takes_its_folder_with_it():
    lease = uuid.uuid4()
    (spool.get_attempt_folder(lease) / "17.0").write_bytes(b"half a download")
    spool.drop_attempt(lease)
    assert not spool.get_path(f"attempts/{lease}").exists()
