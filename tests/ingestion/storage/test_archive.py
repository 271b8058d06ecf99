"""The write-once store."""

import hashlib
import stat

import pytest

from ingestion.core.errors import StorageUnavailable
from ingestion.storage.archive import FolderArchive

BYTES = b"%PDF-1.7 signed"
SHA256 = hashlib.sha256(BYTES).hexdigest()


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "incoming"
    path.write_bytes(BYTES)
    return path


def test_what_was_put_is_given_back(tmp_path, source):
    archive = FolderArchive(tmp_path / "archive")
    archive.put(source, SHA256)
    with archive.open(SHA256) as file:
        assert file.read() == BYTES


def test_the_same_bytes_twice_are_one_file_that_nobody_may_write(tmp_path, source):
    archive = FolderArchive(tmp_path / "archive")
    archive.put(source, SHA256)
    archive.put(source, SHA256)
    files = [path for path in (tmp_path / "archive").rglob("*") if path.is_file()]
    assert files == [archive.path_of(SHA256)]
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o444


def test_a_full_or_broken_disk_is_our_fault_and_leaves_nothing_half_written(tmp_path, source):
    (tmp_path / "archive").write_text("a file stands where the folder should be")
    with pytest.raises(StorageUnavailable, match="the archive refused"):
        FolderArchive(tmp_path / "archive").put(source, SHA256)


def test_bytes_that_vanish_while_they_are_stored_leave_no_trace(tmp_path):
    archive = FolderArchive(tmp_path / "archive")
    with pytest.raises(StorageUnavailable):
        archive.put(tmp_path / "gone", SHA256)
    assert not [path for path in (tmp_path / "archive").rglob("*") if path.is_file()]


@pytest.mark.parametrize("is_there", [False, True], ids=["new", "on file already"])
def test_a_file_that_changed_since_it_was_hashed_is_not_filed(tmp_path, source, is_there):
    archive = FolderArchive(tmp_path / "archive")
    if is_there:
        archive.put(source, SHA256)
    source.write_bytes(BYTES.replace(b"signed", b"sighed"))
    with pytest.raises(StorageUnavailable, match="changed on our disk"):
        archive.put(source, SHA256)
    files = [path for path in (tmp_path / "archive").rglob("*") if path.is_file()]
    assert [file.read_bytes() for file in files] == [BYTES] * is_there
