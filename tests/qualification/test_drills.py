"""Drills hold here; what does not hold is told; and no drill works where work is done."""

import json

import pytest
from django.core.management import CommandError, call_command

from ingestion.models import Batch
from qualification.drills import rate_limit, reconstruction, replay
from qualification.drills.scene import DrillFailed
from qualification.sandbox import Sandbox
from samples import fixed_corpus
from tests.factories import make_batch


@pytest.fixture
def written(tmp_path):
    """Runs of a replay, of which each came to so much."""

    def written(*came_to, documents="ab"):
        folders = [tmp_path / str(number) for number in range(len(came_to))]
        for folder, each in zip(folders, came_to, strict=True):
            folder.mkdir()
            record = {"documents": documents, "came to": each}
            (folder / replay.RECORD).write_text(json.dumps(record))
        return folders

    return written


@pytest.mark.slow
@pytest.mark.storm
@pytest.mark.timeout(900)
@pytest.mark.parametrize("drill", ["backpressure", "rate-limit", "shutdown", "reconstruction"])
def test_what_is_promised_holds(drill, capsys):
    call_command("drill", drill)
    assert capsys.readouterr().out.splitlines()[-1] == f"{drill}: it holds."


@pytest.mark.slow
@pytest.mark.storm
@pytest.mark.timeout(900)
def test_the_same_documents_ingested_anew_come_to_the_same(capsys):
    call_command("drill", "replay", documents=5, times=2)
    *runs, last = capsys.readouterr().out.splitlines()
    assert runs[0] == runs[1]
    assert last == "replay: it holds."


@pytest.mark.django_db
@pytest.mark.parametrize("drill", ["replay", "backpressure", "shutdown"])
def test_a_drill_does_nothing_where_work_is_done(drill, tmp_path):
    make_batch()
    with pytest.raises(CommandError, match="nothing was done"):
        call_command("drill", drill, inside=tmp_path)
    assert Batch.objects.count() == 1


def test_the_programs_of_a_drill_know_nobody_outside(tmp_path, monkeypatch):
    monkeypatch.setenv("ARCHIVE_S3_BUCKET", "the-real-one")
    monkeypatch.setenv("SPOOL_DIR", "/srv/spool")
    told = Sandbox(tmp_path).environment
    assert told["ARCHIVE_S3_BUCKET"] == ""
    assert told["SPOOL_DIR"].startswith(str(tmp_path))


def test_runs_that_came_to_the_same_are_the_same(written):
    replay.compare(written({"1001/cv": ["ARCHIVED"]}, {"1001/cv": ["ARCHIVED"]}))


def test_what_came_to_something_else_is_named(written):
    folders = written({"1001/cv": ["ARCHIVED"]}, {"1001/cv": ["REJECTED"]})
    with pytest.raises(DrillFailed, match="run 2 came to something else than the first: 1001/cv"):
        replay.compare(folders)


def test_requests_beyond_the_rate_are_those_that_came_at_once():
    asked = rate_limit.LIMIT.rate_per_second
    assert rate_limit._most_beyond([0.0, 1 / asked, 2 / asked]) == pytest.approx(1.0)
    assert rate_limit._most_beyond([0.0, 0.0, 0.0, 0.0, 9.0]) == pytest.approx(4.0)


def test_the_last_entry_of_a_document_says_what_became_of_it(tmp_path):
    entries = [
        {"subject": "document:1", "to": "VALIDATING", "sha256": "ab"},
        {"subject": "document:1", "to": "ARCHIVED", "sha256": "ab"},
        {"subject": "document:1", "to": "", "sha256": "ab"},
        {"subject": "batch:1", "to": "COMPLETED", "sha256": ""},
    ]
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    (tmp_path / "entries.ndjson").write_text(lines)
    assert reconstruction.reconstructed(tmp_path) == {"document:1": ("ARCHIVED", "ab")}


def test_frozen_documents_are_the_same_each_time(tmp_path):
    one, other = (
        fixed_corpus.write_fixed_corpus(tmp_path / name, "http://127.0.0.1:1", documents=3)
        for name in ("a", "b")
    )
    assert one == other


@pytest.mark.slow
def test_the_frozen_documents_are_those_of_the_repository(tmp_path):
    assert (
        fixed_corpus.write_fixed_corpus(tmp_path, "http://127.0.0.1:1").sha256
        == fixed_corpus.SHA256
    )
