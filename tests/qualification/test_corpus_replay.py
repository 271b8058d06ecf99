"""The comparison of results of the same files."""

import json
from datetime import date

import pytest
from django.core.management import CommandError, call_command

from ingestion.reading.limits import ReadingLimits
from qualification import corpus_replay
from samples.corpus import write_corpus
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.people_and_sites import get_sample_site
from samples.renditions import Rendition

LIMITS = ReadingLimits()
SAMPLES = {
    "approval.pdf": ("irb-approval", Rendition.BORN_DIGITAL, None),
    "form.pdf": ("form-fda-1572", Rendition.FILLABLE_FORM, None),
    "scan.pdf": ("lab-certification", Rendition.SCAN, None),
    "unsigned.pdf": ("cv", Rendition.BORN_DIGITAL, DocumentFault.UNSIGNED),
    "locked.pdf": ("cv", Rendition.BORN_DIGITAL, DocumentFault.ENCRYPTED),
    "more/word.pdf": ("cv", Rendition.BORN_DIGITAL, DocumentFault.A_SPREADSHEET),
}


def make(kind, rendition=Rendition.BORN_DIGITAL, fault=None, site="1001"):
    options = {"rendition": rendition, "fault": fault, "site": get_sample_site(site)}
    return make_sample(kind, today=corpus_replay.DAY, **options)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "files"
    (folder / "more").mkdir(parents=True)
    for name, sample in SAMPLES.items():
        (folder / name).write_bytes(make(*sample))
    return folder


@pytest.fixture
def one_file(tmp_path):
    folder = tmp_path / "one-file"
    folder.mkdir()
    (folder / "cv.pdf").write_bytes(make("cv"))
    return folder


def run(folder, **options):
    return corpus_replay.replay_files(
        {path.name: path for path in folder.iterdir()}, LIMITS, **options
    )


@pytest.mark.slow
def test_equal_results_are_printed_with_a_line_for_each_file(folder, capsys):
    call_command("replay_corpus", folder)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert {name: (state, *codes) for _, state, name, *codes in lines} == {
        "approval.pdf": ("ARCHIVED",),
        "form.pdf": ("ARCHIVED", "FORM_EDITION_OUTDATED", "FORM_NOT_REGISTERED"),
        "locked.pdf": ("REJECTED", "ENCRYPTED_DOCUMENT"),
        "more/word.pdf": ("REJECTED", "UNSUPPORTED_TYPE"),
        "scan.pdf": ("ARCHIVED",),
        "unsigned.pdf": ("REJECTED", "SIGNATURE_MISSING"),
    }
    assert len({digest for digest, *_ in lines}) == len(lines)


@pytest.mark.slow
def test_two_runs_with_different_results_end_with_the_differences(one_file, monkeypatch):
    replay = corpus_replay.replay_files

    def run_and_change(files, limits, **options):
        found = replay(files, limits, **options)
        files["cv.pdf"].write_bytes(make("cv", site="1002"))
        return found

    monkeypatch.setattr(corpus_replay, "replay_files", run_and_change)
    with pytest.raises(CommandError) as differing:
        call_command("replay_corpus", one_file)
    assert "cv.pdf, run 2: the text differs on page 1, 2" in str(differing.value)
    assert 'site_number was ["1001"' in str(differing.value)
    assert differing.value.returncode == 1


@pytest.mark.slow
def test_a_record_is_compared_with_a_run_for_the_same_day(one_file, tmp_path, capsys):
    record = tmp_path / "record.json"
    day = date(2027, 1, 4)
    call_command("replay_corpus", one_file, times=1, day=day, write=record)
    assert corpus_replay.ReplayRun.from_json(record.read_text()).day == day
    before = capsys.readouterr().out
    call_command("replay_corpus", one_file, times=1, against=record)
    assert capsys.readouterr().out == before
    with pytest.raises(CommandError, match="leave out --day"):
        call_command("replay_corpus", one_file, times=1, against=record, day=date(2027, 1, 5))


@pytest.mark.slow
def test_a_changed_result_is_reported_with_the_version_of_the_rules(one_file, tmp_path):
    record = tmp_path / "record.json"
    call_command("replay_corpus", one_file, times=1, write=record)
    record_json = json.loads(record.read_text())
    record_json["rules"] = "2026.1.1"
    record_json["files"]["cv.pdf"] |= {"state": "REJECTED", "findings": [["STALE_DOCUMENT", 1, {}]]}
    record_json["files"]["deleted.pdf"] = record_json["files"]["cv.pdf"]
    record.write_text(json.dumps(record_json))
    with pytest.raises(CommandError) as differing:
        call_command("replay_corpus", one_file, times=1, against=record)
    assert str(differing.value).splitlines() == [
        "These results differ:",
        'cv.pdf, since rules 2026.1.1: findings was [["STALE_DOCUMENT",1,{}]], is []',
        'cv.pdf, since rules 2026.1.1: state was "REJECTED", is "ARCHIVED"',
        "deleted.pdf, since rules 2026.1.1: is not in both runs",
    ]


@pytest.mark.slow
def test_the_day_of_the_checks_decides_what_has_expired(one_file):
    today, in_years = run(one_file), run(one_file, day=date(2030, 1, 1))
    sentences = dict(corpus_replay.iter_file_differences(today, in_years))
    assert 'state was "ARCHIVED", is "REJECTED"' in sentences["cv.pdf"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"day": "soon", "files": {}, "rules": ""}'])
def test_a_file_that_is_not_a_record_is_refused(one_file, tmp_path, content):
    file = tmp_path / "record.json"
    file.write_text(content)
    with pytest.raises(CommandError, match="cannot be compared with"):
        call_command("replay_corpus", one_file, against=file)


def test_missing_files_and_invalid_options_are_refused_with_a_message(tmp_path):
    with pytest.raises(CommandError, match="there are no files"):
        call_command("replay_corpus", tmp_path)
    with pytest.raises(CommandError, match="at least 1"):
        call_command("replay_corpus", tmp_path, times=0)
    with pytest.raises(CommandError, match="cannot be compared with"):
        call_command("replay_corpus", tmp_path, against=tmp_path / "nowhere.json")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_packets_of_three_sample_sites_have_the_same_results_twice(tmp_path, capsys):
    packets = write_corpus(tmp_path, base_url="http://samples", today=corpus_replay.DAY, sites=3)
    call_command("replay_corpus", packets.files)
    assert len(capsys.readouterr().out.splitlines()) == packets.documents
