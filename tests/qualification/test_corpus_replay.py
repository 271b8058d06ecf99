"""Is it noticed when the same files come to something else?"""

import json
from datetime import date

import pytest
from django.core.management import CommandError, call_command

from ingestion.reading.limits import ReadingLimits
from qualification import corpus_replay
from samples.corpus import write_corpus
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.people_and_sites import sample_site
from samples.renditions import Rendition

LIMITS = ReadingLimits()
SAMPLES = {
    "approval.pdf": ("irb-approval", Rendition.BORN_DIGITAL, None),
    "form.pdf": ("form-fda-1572", Rendition.FILLABLE_FORM, None),
    "scan.pdf": ("lab-certification", Rendition.SCAN, None),
    "unsigned.pdf": ("cv", Rendition.BORN_DIGITAL, DocumentFault.UNSIGNED),
    "locked.pdf": ("cv", Rendition.BORN_DIGITAL, DocumentFault.ENCRYPTED),
    "more/word.pdf": ("cv", Rendition.BORN_DIGITAL, DocumentFault.A_WORD_FILE),
}


def make(kind, rendition=Rendition.BORN_DIGITAL, fault=None, where="1001"):
    content = {"rendition": rendition, "fault": fault, "site": sample_site(where)}
    return make_sample(kind, today=corpus_replay.DAY, **content)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "files"
    (folder / "more").mkdir(parents=True)
    for name, sample in SAMPLES.items():
        (folder / name).write_bytes(make(*sample))
    return folder


@pytest.fixture
def few(tmp_path):
    folder = tmp_path / "few"
    folder.mkdir()
    (folder / "cv.pdf").write_bytes(make("cv"))
    return folder


def run(folder, **how):
    return corpus_replay.replay_files({path.name: path for path in folder.iterdir()}, LIMITS, **how)


def test_the_same_files_come_to_the_same_and_each_has_its_line(folder, capsys):
    call_command("replay_corpus", folder)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert {name: (state, *codes) for _, state, name, *codes in lines} == {
        "approval.pdf": ("ARCHIVED",),
        "form.pdf": ("ARCHIVED", "FORM_EDITION_OUTDATED"),
        "locked.pdf": ("REJECTED", "ENCRYPTED_DOCUMENT"),
        "more/word.pdf": ("REJECTED", "UNSUPPORTED_TYPE"),
        "scan.pdf": ("ARCHIVED",),
        "unsigned.pdf": ("REJECTED", "SIGNATURE_MISSING"),
    }
    assert len({digest for digest, *_ in lines}) == len(lines)


def test_two_runs_that_differ_end_with_what_differs(few, monkeypatch):
    once = corpus_replay.replay_files

    def run_and_change(files, limits, **how):
        found = once(files, limits, **how)
        files["cv.pdf"].write_bytes(make("cv", where="1002"))
        return found

    monkeypatch.setattr(corpus_replay, "replay_files", run_and_change)
    with pytest.raises(CommandError) as differing:
        call_command("replay_corpus", few)
    assert "cv.pdf, run 2: the text of page 1, 2 reads otherwise" in str(differing.value)
    assert 'site_number was ["1001"' in str(differing.value)
    assert differing.value.returncode == 1


def test_what_was_recorded_is_compared_with_on_the_day_it_was_recorded_for(few, tmp_path, capsys):
    record = tmp_path / "record.json"
    day = date(2027, 1, 4)
    call_command("replay_corpus", few, times=1, day=day, write=record)
    assert corpus_replay.ReplayRun.from_json(record.read_text()).day == day
    before = capsys.readouterr().out
    call_command("replay_corpus", few, times=1, against=record)
    assert capsys.readouterr().out == before
    with pytest.raises(CommandError, match="leave out --day"):
        call_command("replay_corpus", few, times=1, against=record, day=date(2027, 1, 5))


def test_a_rule_that_came_to_something_else_is_shown_with_what_it_changes(few, tmp_path):
    record = tmp_path / "record.json"
    call_command("replay_corpus", few, times=1, write=record)
    told = json.loads(record.read_text())
    told["rules"] = "2026.1.1"
    told["files"]["cv.pdf"] |= {"state": "REJECTED", "findings": [["STALE_DOCUMENT", 1, {}]]}
    told["files"]["gone.pdf"] = told["files"]["cv.pdf"]
    record.write_text(json.dumps(told))
    with pytest.raises(CommandError) as differing:
        call_command("replay_corpus", few, times=1, against=record)
    assert str(differing.value).splitlines() == [
        "These differ:",
        'cv.pdf, since rules 2026.1.1: findings was [["STALE_DOCUMENT",1,{}]], is []',
        'cv.pdf, since rules 2026.1.1: state was "REJECTED", is "ARCHIVED"',
        "gone.pdf, since rules 2026.1.1: is not in both",
    ]


def test_the_day_decides_what_has_run_out(few):
    today, later = run(few), run(few, day=date(2030, 1, 1))
    said = dict(corpus_replay.differences(today, later))
    assert 'state was "ARCHIVED", is "REJECTED"' in said["cv.pdf"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"day": "soon", "files": {}, "rules": ""}'])
def test_what_was_never_recorded_cannot_be_compared_with(few, tmp_path, content):
    file = tmp_path / "record.json"
    file.write_text(content)
    with pytest.raises(CommandError, match="cannot be compared with"):
        call_command("replay_corpus", few, against=file)


def test_nothing_to_replay_is_a_sentence_and_no_traceback(tmp_path):
    with pytest.raises(CommandError, match="there are no files"):
        call_command("replay_corpus", tmp_path)
    with pytest.raises(CommandError, match="at least 1"):
        call_command("replay_corpus", tmp_path, times=0)
    with pytest.raises(CommandError, match="cannot be compared with"):
        call_command("replay_corpus", tmp_path, against=tmp_path / "nowhere.json")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_packets_of_three_sample_sites_come_to_the_same_twice(tmp_path, capsys):
    packets = write_corpus(tmp_path, base_url="http://samples", today=corpus_replay.DAY, sites=3)
    call_command("replay_corpus", packets.files)
    assert len(capsys.readouterr().out.splitlines()) == packets.documents
