"""Time budgets: a page whose stage exceeds its time goes on with what is known."""

import os
import signal
import time
from dataclasses import replace
from datetime import date
from types import MappingProxyType

import pytest

from ingestion.reading import reading_stages, tasks
from ingestion.reading.merge import merge_pages
from ingestion.reading.ocr import page as ocr_page
from ingestion.reading.pdf import mark_search
from ingestion.reading.processes import pool
from ingestion.reading.processes.parser_processes import ProcessKilled
from ingestion.reading.provenance import describe_provenance
from ingestion.reading.reading_stages import (
    LeftOut,
    PageStage,
    PageStages,
    Stage,
    limit_stage,
    note_work,
)
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.verdict import check_or_reject
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.people_and_sites import get_sample_site
from samples.renditions import Rendition
from tests.ingestion.reading.documents import LIMITS, make_pdf, make_scan, render, save

# Only the stages that take too long here: others must not end on a busy machine.
SHORT = MappingProxyType(
    {
        **reading_stages.STAGE_SECONDS,
        **dict.fromkeys((Stage.PLACES, Stage.MARKS, Stage.STAMPS), 0.05),
    }
)


@pytest.fixture(autouse=True)
def short_stages(monkeypatch):
    monkeypatch.setattr(reading_stages, "STAGE_SECONDS", SHORT)


def calculate(seconds=30.0):
    """Use the processor, as a search that finds no end."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_a_stage_that_takes_too_long_is_left_out_and_the_others_are_not():
    page = PageStages(1)
    assert page.run(Stage.MARKS, calculate) is None
    assert page.run(Stage.STAMPS, lambda: ["VOID"]) == ["VOID"]
    assert page.unfinished == (Stage.MARKS,)


def test_a_stage_that_ended_its_process_before_is_not_begun():
    page = PageStages(2, {PageStage(2, Stage.FORM), PageStage(1, Stage.MARKS)})
    assert page.run(Stage.FORM, lambda: pytest.fail("it was begun")) is None
    assert page.run(Stage.MARKS, lambda: ["signature"]) == ["signature"]
    assert page.unfinished == (Stage.FORM,)


def test_the_time_of_a_stage_within_another_one_does_not_end_the_outer_one():
    with limit_stage(1, Stage.MARKS):
        with pytest.raises(reading_stages.StageOutOfTime), limit_stage(1, Stage.PLACES):
            calculate()
        calculate(0.01)
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stage_ends_although_its_time_was_over_in_a_finaliser():
    class Costly:
        def __del__(self):
            calculate(0.2)

    def search():
        costly = Costly()
        del costly
        calculate()
        return ["signature"]

    page = PageStages(1)
    assert page.run(Stage.MARKS, search) is None
    assert page.unfinished == (Stage.MARKS,)


def test_a_process_notes_what_it_works_on_until_that_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(reading_stages._WorkNote, "file", None)
    reading_stages.open_work_note(tmp_path)
    try:
        with note_work(12, Stage.OCR):
            with limit_stage(12, Stage.OMITTED_WORDS):
                noted = (tmp_path / f"work-of-{os.getpid()}").read_text().strip()
            assert noted == "12 omitted words"
            assert reading_stages.take_work_note(tmp_path, os.getpid()) == PageStage(12, Stage.OCR)
        assert reading_stages.take_work_note(tmp_path, os.getpid()) is None
    finally:
        os.close(reading_stages._WorkNote.file)


def test_a_born_digital_page_whose_marks_take_too_long_keeps_its_text(tmp_path, monkeypatch):
    monkeypatch.setattr(mark_search, "find_unaccounted_areas", lambda *_: calculate())
    path = save(tmp_path, make_pdf())
    found = tasks.probe_and_conclude(
        lambda reading: replace(reading, pages=tuple(map(tasks.evaluate, reading.pages))),
        path,
        tmp_path / "rewritten.pdf",
        LIMITS,
    )
    (page,) = found.result.pages
    assert "SLX-301" in page.text
    assert (page.marks, page.error, page.unfinished) == ((), "", (Stage.MARKS,))
    assert describe_provenance(found.result).pages[0]["unfinished"] == ["marks"]


# The time limit may end a callback of Hypothesis for the garbage collection, which says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_document_is_not_called_unsigned_if_its_marks_were_not_searched(tmp_path, monkeypatch):
    monkeypatch.setattr(mark_search, "find_unaccounted_areas", lambda *_: calculate())
    sent, today = SenderFacts("v2.1"), date(2026, 11, 20)
    unsigned = make_sample(
        "form-fda-1572",
        today=today,
        site=get_sample_site("1001"),
        rendition=Rendition.BORN_DIGITAL,
        fault=DocumentFault.UNSIGNED,
    )
    found = tasks.probe_and_conclude(
        lambda reading: check_or_reject(reading, sent, site=SiteFacts(""), today=today),
        save(tmp_path, unsigned),
        tmp_path / "rewritten.pdf",
        LIMITS,
    )
    verdict = found.result.verdict
    findings = [(each.code, each.facts.get("what")) for each in verdict.findings]
    assert ("OCR_LOW_CONFIDENCE", "the signatures and stamps") in findings
    assert "SIGNATURE_MISSING" not in dict(findings)
    assert verdict.state == "IN_REVIEW"


def test_a_scanned_page_whose_stamps_take_too_long_keeps_its_words(tmp_path, monkeypatch):
    monkeypatch.setattr(ocr_page, "find_scanned_stamps", lambda *_: calculate())
    scan = make_scan(render(make_pdf(), dpi=150), dpi=150)
    document = tasks.probe_document(save(tmp_path, scan), tmp_path / "rewritten.pdf", LIMITS)
    reading = merge_pages(document, [tasks.read_scans(document, LIMITS)])
    (page,) = reading.pages
    assert "SLX-301" in page.text
    assert Stage.STAMPS in page.unfinished


class KilledProcesses:
    """Parser processes that die at a stage unless it is left out."""

    def __init__(self, *deadly):
        self.deadly, self.calls = deadly, []

    async def run(self, task, *args, left_out=None, **_):
        left_out = left_out or next(each for each in args if isinstance(each, LeftOut))
        self.calls.append(left_out)
        for stage in self.deadly:
            if stage not in left_out.stages and not (stage.stage is Stage.LOOK and left_out.form):
                return ProcessKilled("it took too long", -signal.SIGPROF, stage)
        return tasks.Conclusion("read")


async def probe(processes, tmp_path):
    reader = pool.Reader(LIMITS)
    reader._processes = processes
    return await reader._probe(lambda _: None, tmp_path / "a.pdf", tmp_path / "b.pdf", None)


async def test_a_document_is_read_again_without_each_stage_that_ended_its_process(tmp_path):
    marks, content = PageStage(3, Stage.MARKS), PageStage(0, Stage.ACTIVE_CONTENT)
    processes = KilledProcesses(content, marks)
    assert (await probe(processes, tmp_path)).result == "read"
    assert processes.calls[-1] == LeftOut(stages=frozenset({marks, content}))


async def test_a_document_whose_page_takes_too_long_is_read_again_without_its_form(tmp_path):
    processes = KilledProcesses(PageStage(1, Stage.LOOK))
    assert (await probe(processes, tmp_path)).result == "read"
    assert processes.calls == [LeftOut(), LeftOut(form=True)]


async def test_a_document_that_ends_every_process_is_given_up(tmp_path):
    processes = KilledProcesses(*(PageStage(page, Stage.MARKS) for page in range(1, 9)))
    assert isinstance(await probe(processes, tmp_path), ProcessKilled)
    assert len(processes.calls) == pool.MAX_PROBES
