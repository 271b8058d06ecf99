"""The archive's files are read again, and held against the documents."""

import json
from datetime import date, timedelta

import pytest

from audit import background_jobs
from audit.ledger import queries
from ingestion.storage import archive_verification
from ingestion.storage.archive import get_archive
from ingestion.storage.archive_verification import ArchiveFault, verify_parts
from tests.commands import run
from tests.ingestion.storage.conftest import stored

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.ARCHIVE_DIR = tmp_path / "archive"


def change(sha256, content=b"other"):
    path = get_archive().path_of(sha256)
    path.chmod(0o644)
    path.write_bytes(content)
    path.chmod(0o444)


def take():
    return verify_parts(asked_by="system:tests")


def verify_archive(capsys, *options):
    code, _ = run("verify_archive", *options)
    return code, capsys.readouterr().out


def test_an_untouched_archive_is_intact(filed):
    stock = take()
    assert (stock.intact, stock.files) == (True, 3)


def test_a_missing_file_is_named_and_entered_once(filed):
    get_archive().path_of(filed[1]).unlink()
    for _ in range(2):
        stock = take()
        assert (stock.intact, stock.named[ArchiveFault.MISSING]) == (False, [filed[1]])
    (entry,) = queries.timeline(f"file:{filed[1]}")
    assert (entry.event, entry.sha256) == ("archive.file_missing", filed[1])
    assert entry.detail == {"documents": ["1001/doc-1"]}


def test_a_changed_file_is_named_and_entered_once(filed):
    change(filed[2])
    for _ in range(2):
        assert take().named[ArchiveFault.CHANGED] == [filed[2]]
    assert [entry.event for entry in queries.timeline(f"file:{filed[2]}")] == [
        "archive.file_changed"
    ]


def test_a_file_that_somebody_may_write_to_is_named(filed):
    get_archive().path_of(filed[0]).chmod(0o644)
    stock = take()
    assert (stock.intact, stock.named[ArchiveFault.WRITABLE]) == (False, [filed[0]])


def test_a_file_of_no_document_is_told_and_breaks_nothing(filed, tmp_path):
    orphan = stored(tmp_path, b"left by a crash")
    stock = take()
    assert (stock.intact, stock.named[ArchiveFault.ORPHANED]) == (True, [orphan])


def test_a_file_that_is_being_written_is_left_alone(filed):
    (get_archive().path_of(filed[0]).parent / ".incoming-x").write_bytes(b"half")
    assert take().files == 3


def test_a_file_that_gives_an_error_is_named(filed):
    path = get_archive().path_of(filed[0])
    path.unlink()
    path.mkdir()
    path.chmod(0o555)
    assert take().named[ArchiveFault.UNREADABLE] == [filed[0]]


def test_of_many_some_are_named_and_the_rest_is_counted(filed, monkeypatch, capsys):
    monkeypatch.setattr(archive_verification, "MAX_NAMED_FILES", 1)
    for sha256 in filed[:2]:
        change(sha256)
    stock = take()
    assert (stock.counts[ArchiveFault.CHANGED], len(stock.named[ArchiveFault.CHANGED])) == (2, 1)
    assert "And 1 more that are changed." in verify_archive(capsys)[1]


def test_a_disk_that_is_not_mounted_has_lost_nothing(filed, settings, tmp_path, capsys):
    settings.ARCHIVE_DIR = tmp_path / "elsewhere"
    code, out = verify_archive(capsys, "--json")
    assert code == 2
    assert "is its disk mounted?" in json.loads(out)["error"]
    assert queries.timeline(f"file:{filed[0]}") == []


def test_a_month_of_nights_reads_every_part_once():
    first = date(2026, 8, 1)
    nights = [archive_verification.list_parts_of_day(first + timedelta(days=n)) for n in range(30)]
    assert sorted(part for night in nights for part in night) == list(archive_verification.PARTS)


def test_the_night_asks_for_its_part_by_a_job(filed):
    archive_verification.queue_nightly_verification()
    assert background_jobs.run_next_job()
    (job,) = background_jobs.AuditJob.objects.filter(kind="verify_archive")
    parts = archive_verification.list_parts_of_day()
    assert (job.state, job.done, job.total) == ("done", len(parts), len(parts))
    assert job.result["intact"]


def test_the_command_says_what_it_found(filed, capsys):
    code, out = verify_archive(capsys)
    assert code == 0
    assert out.startswith("The archive is intact: 3 files read")


def test_the_command_names_the_file_and_what_to_do(filed, capsys):
    change(filed[0])
    code, out = verify_archive(capsys)
    assert code == 1
    assert f"{filed[0]} CHANGED" in out
    assert "find out who could write to it" in out
    code, out = verify_archive(capsys, "--json")
    assert (code, json.loads(out)["changed"]) == (1, 1)
