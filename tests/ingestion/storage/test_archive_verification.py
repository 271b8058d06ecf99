"""Tests of the verification of the archive, in a folder."""

import json
from datetime import date, timedelta

import pytest

from audit import background_jobs, job_runs
from audit.ledger import queries
from ingestion.storage import archive_verification
from ingestion.storage.archive import get_archive
from ingestion.storage.archive_verification import ArchiveFault, verify_parts
from tests.commands import run
from tests.ingestion.storage.conftest import store_file

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.ARCHIVE_DIR = tmp_path / "archive"


def change_file(sha256, content=b"other"):
    path = get_archive().path_of(sha256)
    path.chmod(0o644)
    path.write_bytes(content)
    path.chmod(0o444)


def verify():
    return verify_parts(asked_by="system:tests")


def verify_archive(capsys, *options):
    code, _ = run("verify_archive", *options)
    return code, capsys.readouterr().out


def test_an_untouched_archive_is_intact(filed):
    result = verify()
    assert (result.intact, result.files) == (True, 3)


def test_a_missing_file_is_named_and_recorded_once(filed):
    get_archive().path_of(filed[1]).unlink()
    for _ in range(2):
        result = verify()
        assert (result.intact, result.named[ArchiveFault.MISSING]) == (False, [filed[1]])
    (entry,) = queries.list_entries(f"file:{filed[1]}")
    assert (entry.event, entry.sha256) == ("archive.file_missing", filed[1])
    assert entry.detail == {"documents": ["1001/doc-1"]}


def test_a_changed_file_is_named_and_recorded_once(filed):
    change_file(filed[2])
    for _ in range(2):
        assert verify().named[ArchiveFault.CHANGED] == [filed[2]]
    assert [entry.event for entry in queries.list_entries(f"file:{filed[2]}")] == [
        "archive.file_changed"
    ]


def test_a_writable_file_is_named(filed):
    get_archive().path_of(filed[0]).chmod(0o644)
    result = verify()
    assert (result.intact, result.named[ArchiveFault.WRITABLE]) == (False, [filed[0]])


def test_a_file_without_a_document_is_named_and_is_no_damage(filed, tmp_path):
    orphan = store_file(tmp_path, b"left by a crash")
    result = verify()
    assert (result.intact, result.named[ArchiveFault.ORPHANED]) == (True, [orphan])


def test_an_incomplete_file_is_ignored(filed):
    (get_archive().path_of(filed[0]).parent / ".incoming-x").write_bytes(b"half")
    assert verify().files == 3


def test_an_unreadable_file_is_named(filed):
    path = get_archive().path_of(filed[0])
    path.unlink()
    path.mkdir()
    path.chmod(0o555)
    assert verify().named[ArchiveFault.UNREADABLE] == [filed[0]]


def test_files_over_the_limit_are_counted_and_not_named(filed, monkeypatch, capsys):
    monkeypatch.setattr(archive_verification, "MAX_NAMED_FILES", 1)
    for sha256 in filed[:2]:
        change_file(sha256)
    result = verify()
    assert (result.counts[ArchiveFault.CHANGED], len(result.named[ArchiveFault.CHANGED])) == (2, 1)
    assert "And 1 more that are changed." in verify_archive(capsys)[1]


def test_an_empty_archive_is_an_error_and_no_loss_is_recorded(filed, settings, tmp_path, capsys):
    settings.ARCHIVE_DIR = tmp_path / "elsewhere"
    code, out = verify_archive(capsys, "--json")
    assert code == 2
    assert "is its disk mounted?" in json.loads(out)["error"]
    assert queries.list_entries(f"file:{filed[0]}") == []


def test_thirty_nights_read_every_part_once():
    first = date(2026, 8, 1)
    nights = [archive_verification.list_parts_of_day(first + timedelta(days=n)) for n in range(30)]
    assert sorted(part for night in nights for part in night) == list(archive_verification.PARTS)


def test_the_nightly_job_verifies_the_parts_of_the_day(filed):
    archive_verification.queue_nightly_verification()
    assert job_runs.run_next_job()
    (job,) = background_jobs.AuditJob.objects.filter(kind="verify_archive")
    parts = archive_verification.list_parts_of_day()
    assert (job.state, job.done, job.total) == ("done", len(parts), len(parts))
    assert job.result["intact"]


def test_the_command_prints_a_summary(filed, capsys):
    code, out = verify_archive(capsys)
    assert code == 0
    assert out.startswith("The archive is intact: 3 files read")


def test_the_command_names_the_changed_file_and_what_to_do(filed, capsys):
    change_file(filed[0])
    code, out = verify_archive(capsys)
    assert code == 1
    assert f"{filed[0]} CHANGED" in out
    assert "find out who could write to it" in out
    code, out = verify_archive(capsys, "--json")
    assert (code, json.loads(out)["changed"]) == (1, 1)
