"""Tests of the archive in a folder."""

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


def test_a_stored_file_can_be_read(tmp_path, source):
    archive = FolderArchive(tmp_path / "archive")
    archive.put(source, SHA256)
    with archive.open(SHA256) as file:
        assert file.read() == BYTES


def test_the_same_bytes_are_stored_once_in_a_read_only_file(tmp_path, source):
    archive = FolderArchive(tmp_path / "archive")
    archive.put(source, SHA256)
    archive.put(source, SHA256)
    files = [path for path in (tmp_path / "archive").rglob("*") if path.is_file()]
    assert files == [archive.path_of(SHA256)]
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o444


def test_an_unusable_folder_raises_storage_unavailable_and_leaves_no_partial_file(tmp_path, source):
    (tmp_path / "archive").write_text("a file stands where the folder should be")
    with pytest.raises(StorageUnavailable, match="the archive refused"):
        FolderArchive(tmp_path / "archive").put(source, SHA256)


def test_a_source_that_vanishes_leaves_no_file(tmp_path):
    archive = FolderArchive(tmp_path / "archive")
    with pytest.raises(StorageUnavailable):
        archive.put(tmp_path / "missing", SHA256)
    assert not [path for path in (tmp_path / "archive").rglob("*") if path.is_file()]


@pytest.mark.parametrize("exists_before", [False, True], ids=["new", "already stored"])
def test_a_file_that_changed_after_it_was_hashed_is_not_stored(tmp_path, source, exists_before):
    archive = FolderArchive(tmp_path / "archive")
    if exists_before:
        archive.put(source, SHA256)
    source.write_bytes(BYTES.replace(b"signed", b"sighed"))
    with pytest.raises(StorageUnavailable, match="changed on our disk"):
        archive.put(source, SHA256)
    files = [path for path in (tmp_path / "archive").rglob("*") if path.is_file()]
    assert [file.read_bytes() for file in files] == [BYTES] * exists_before
