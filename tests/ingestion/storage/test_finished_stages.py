"""Tests of what workers finished of documents that are not decided yet."""

import hashlib
import os

import pytest

from ingestion.core.ports import Fetched
from ingestion.storage import finished_stages, spool

BYTES = b"%PDF- the document"
SHA256 = hashlib.sha256(BYTES).hexdigest()
FACTS = {"certificate_sha256": "ab", "clock_skew_seconds": 61}


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    """Return the folder of the lease that a document is fetched under."""
    settings.SPOOL_DIR = tmp_path / "spool"
    folder = tmp_path / "spool" / "attempts" / "lease"
    folder.mkdir(parents=True)
    return folder


def fetch(folder, document=1, content=BYTES):
    path = folder / f"{document}"
    path.write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    fetched = Fetched(path, sha256, len(content), facts=FACTS, etag='"v1"')
    finished_stages.keep_fetched(document, fetched)
    return fetched


def list_kept():
    root = spool.get_path("finished")
    return sorted(path.name for path in root.rglob("*") if path.is_file())


def test_fetched_bytes_survive_the_folder_of_their_lease(folder, tmp_path):
    fetch(folder).path.unlink()
    opened = finished_stages.open_fetched(1, folder)
    assert (opened.sha256, opened.size, opened.facts, opened.etag) == (
        *(SHA256, len(BYTES), FACTS, '"v1"'),
    )
    assert opened.path.read_bytes() == BYTES
    assert opened.path.parent == folder
    assert finished_stages.open_fetched(2, folder) is None


def test_damaged_bytes_are_not_used(folder):
    fetch(folder).path.write_bytes(b"%PDF- something else")
    assert finished_stages.open_fetched(1, folder) is None


def test_a_decided_document_leaves_nothing(folder):
    fetch(folder)
    pages = finished_stages.get_pages_folder()
    (pages / f"{SHA256}-abc").mkdir(parents=True)
    (pages / f"{SHA256}-abc" / "1").write_bytes(b"page")
    finished_stages.drop(1, SHA256)
    assert list_kept() == []
    assert list(pages.iterdir()) == []


def test_old_stages_are_removed_and_others_stay(folder, monkeypatch):
    fetch(folder)
    assert finished_stages.prune() == 0
    monkeypatch.setattr(finished_stages, "MAX_AGE_SECONDS", -1.0)
    assert finished_stages.prune() == 2
    assert list_kept() == []


def test_the_oldest_stages_are_removed_if_they_take_too_much_space(folder, settings):
    settings.FINISHED_STAGES_MB = 1
    pages = finished_stages.get_pages_folder()
    for age, name in enumerate(("new", "older", "oldest")):
        (pages / name).mkdir(parents=True)
        (pages / name / "1").write_bytes(b"x" * 400_000)
        os.utime(pages / name, (2_000_000_000 - age, 2_000_000_000 - age))
    assert finished_stages.prune() == 1
    assert sorted(path.name for path in pages.iterdir()) == ["new", "older"]


def test_nothing_is_kept_if_the_space_is_zero(folder, settings):
    settings.FINISHED_STAGES_MB = 0
    fetch(folder)
    assert list_kept() == []
    assert finished_stages.get_pages_folder() is None
