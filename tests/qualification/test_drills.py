"""The drills pass, report what differs, and never run in a real installation."""

import json
import re

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from bench import drills
from ingestion.models import Batch
from qualification.drills import rate_limit, reconstruction, redelivery, replay
from qualification.drills.setup import DrillFailed
from qualification.management.commands.drill import ALL_DRILLS
from qualification.sandbox import Sandbox
from samples import fixed_corpus
from tests.factories import make_batch


@pytest.fixture
def write_runs(tmp_path):
    """A function that writes the records of replay runs with these results."""

    def write(*runs):
        folders = [tmp_path / str(number) for number in range(len(runs))]
        for folder, results in zip(folders, runs, strict=True):
            folder.mkdir()
            record = {"documents": "ab", "results": results}
            (folder / replay.RECORD_FILE).write_text(json.dumps(record))
        return folders

    return write


@pytest.mark.slow
@pytest.mark.storm
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("drill", drills.DRILLS)
def test_the_drill_passes_at_full_size(drill):
    result = drills.run_drill(drill)
    assert result.has_passed, result.lines


def test_the_record_runs_every_drill():
    assert set(drills.DRILLS) == set(ALL_DRILLS)


def test_the_record_names_the_day_the_machine_and_what_each_drill_measured():
    results = [
        drills.DrillResult("memory", True, 61.4, ["50 documents passed."]),
        drills.DrillResult("shutdown", False, 9.0, ["CommandError: a lease is left"]),
    ]
    record = drills.format_record(results, day="2026-11-26", described_machine="2 cores")
    assert "Run on 2026-11-26, with 2 cores." in record
    assert "| [memory](#memory) | passed | 61 |\n| [shutdown](#shutdown) | FAILED | 9 |" in record
    assert "| replay | not run | |" in record
    assert "## memory\n\n- 50 documents passed.\n" in record
    assert "- CommandError: a lease is left\n" in record


def test_the_record_in_the_documentation_lists_every_drill_and_no_failure():
    record = (settings.BASE_DIR / "docs" / "drills.md").read_text()
    rows = dict(re.findall(r"^\| \[?([\w-]+)[^|]* \| ([\w ]+) \|", record, re.MULTILINE))
    assert rows.keys() - {"drill"} == set(drills.DRILLS)
    assert {result for drill, result in rows.items() if drill != "drill"} == {"passed"}


@pytest.mark.django_db
@pytest.mark.parametrize("drill", ["replay", "backpressure", "shutdown"])
def test_a_drill_refuses_to_run_in_a_real_installation(drill, tmp_path):
    make_batch()
    with pytest.raises(CommandError, match="nothing was done"):
        call_command("drill", drill, inside=tmp_path)
    assert Batch.objects.count() == 1


def test_the_environment_of_a_drill_names_no_external_services(tmp_path, monkeypatch):
    monkeypatch.setenv("ARCHIVE_S3_BUCKET", "the-real-one")
    monkeypatch.setenv("SPOOL_DIR", "/srv/spool")
    environment = Sandbox(tmp_path).environment
    assert environment["ARCHIVE_S3_BUCKET"] == ""
    assert environment["SPOOL_DIR"].startswith(str(tmp_path))


def test_runs_with_equal_results_do_not_differ(write_runs):
    replay.check_same_results(write_runs({"1001/cv": ["ARCHIVED"]}, {"1001/cv": ["ARCHIVED"]}))


def test_documents_with_other_results_are_named(write_runs):
    folders = write_runs({"1001/cv": ["ARCHIVED"]}, {"1001/cv": ["REJECTED"]})
    with pytest.raises(DrillFailed, match="run 2 has other results than the first run: 1001/cv"):
        replay.check_same_results(folders)


def test_a_repeated_delivery_finds_what_is_filed_and_repeats_other_outcomes():
    first = {"1001/cv": ("ARCHIVED", ""), "1001/irb": ("REJECTED", "EXPIRED")}
    second = {"1001/cv": ("DEDUPED", "DUPLICATE_CONTENT"), "1001/irb": ("REJECTED", "EXPIRED")}
    redelivery.check_outcomes([first, second])
    with pytest.raises(DrillFailed, match="delivery 3 has other outcomes: 1001/cv"):
        redelivery.check_outcomes([first, second, first])


def test_the_largest_burst_is_counted_beyond_the_rate():
    rate = rate_limit.LIMIT.rate_per_second
    assert rate_limit.find_largest_burst([0.0, 1 / rate, 2 / rate]) == pytest.approx(1.0)
    assert rate_limit.find_largest_burst([0.0, 0.0, 0.0, 0.0, 9.0]) == pytest.approx(4.0)


def test_the_state_is_reconstructed_from_the_last_entry_with_a_state(tmp_path):
    entries = [
        {"subject": "document:1", "to": "VALIDATING", "sha256": "ab"},
        {"subject": "document:1", "to": "ARCHIVED", "sha256": "ab"},
        {"subject": "document:1", "to": "", "sha256": "ab"},
        {"subject": "batch:1", "to": "COMPLETED", "sha256": ""},
    ]
    lines = "".join(json.dumps(entry) + "\n" for entry in entries)
    (tmp_path / "entries.ndjson").write_text(lines)
    assert reconstruction.reconstruct_states(tmp_path) == {"document:1": ("ARCHIVED", "ab")}


@pytest.mark.slow
def test_the_fixed_corpus_is_the_same_each_time(tmp_path):
    one, other = (
        fixed_corpus.write_fixed_corpus(tmp_path / name, "http://127.0.0.1:1", documents=3)
        for name in ("a", "b")
    )
    assert one == other


@pytest.mark.slow
def test_the_fixed_corpus_has_the_digest_in_the_code(tmp_path):
    assert (
        fixed_corpus.write_fixed_corpus(tmp_path, "http://127.0.0.1:1").sha256
        == fixed_corpus.SHA256
    )
