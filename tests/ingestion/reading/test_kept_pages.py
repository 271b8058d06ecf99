"""Tests of pages that are kept after OCR, so that a document is continued after a crash."""

import os
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ingestion.reading import kept_pages, tasks
from ingestion.reading.kept_pages import KeptPage
from ingestion.reading.merge import ProbedDocument
from ingestion.reading.reading_stages import Stage
from ingestion.reading.results import (
    AddedMark,
    AddedMarkKind,
    Box,
    Correction,
    CorrectionKind,
    MeasuredBox,
    PageMap,
    PageReading,
    RegisteredPage,
    TextSource,
    Word,
)
from tests.ingestion.hosts import eventually
from tests.ingestion.reading.documents import LIMITS, concatenate, make_pdf, make_scan, render, save

SHA256 = "ab" * 32
BOX = Box(1.5, 2.0, 3.25, 4.0)
WORD = Word("Doe", BOX, 93.5, "tesseract", "D0e")
FULL_PAGE = PageReading(
    3,
    612.0,
    792.0,
    "Jane Doe\nDublin",
    TextSource.OCR,
    words=(WORD, Word("Dublin", BOX, 90.0)),
    marks=(BOX,),
    empty_squares=(BOX,),
    confidence=91.5,
    uncovered=0.125,
    dpi=300,
    rotation=90,
    skew=2.5,
    corrections=(Correction(CorrectionKind.DESKEWED, 2.5), Correction(CorrectionKind.LIGHT)),
    page_map=PageMap(612.0, 792.0, (((0.0, 0.0), (612.0, 0.0)), ((0.0, 792.0), (612.0, 792.0)))),
    unfinished=(Stage.STAMPS,),
    added_marks=(AddedMark(AddedMarkKind.DRAFT, BOX, "DRAFT"),),
    forms=(RegisteredPage("form-fda-1572-2021", 1, 0.9, True, (MeasuredBox(4, BOX, (WORD,)),)),),
    language="eng",
    separator_codes=("siteledger:1",),
)


def as_tuples(page):
    points = tuple(tuple(map(tuple, row)) for row in page.page_map.points)
    return replace(page, page_map=page.page_map._replace(points=points))


def test_a_kept_page_is_loaded_as_it_was_read(tmp_path):
    folder = kept_pages.get_folder(tmp_path, SHA256, LIMITS, with_form=True)
    kept_pages.keep_page(folder, KeptPage(FULL_PAGE, "tesseract 5", "rapidocr 3"))
    loaded = kept_pages.load_page(folder, 3)
    assert (loaded.engine, loaded.note) == ("tesseract 5", "rapidocr 3")
    assert as_tuples(loaded.page) == FULL_PAGE
    assert [path.name for path in folder.iterdir()] == ["3"]
    assert kept_pages.load_page(folder, 4) is None


@pytest.mark.parametrize("damage", [b"", b"\0" * 200, None])
def test_a_damaged_file_counts_as_a_page_that_was_not_read(tmp_path, damage):
    kept_pages.keep_page(tmp_path, KeptPage(FULL_PAGE, ""))
    path = tmp_path / "3"
    content = path.read_bytes()
    path.write_bytes(content[:-1] if damage is None else damage)
    assert kept_pages.load_page(tmp_path, 3) is None


def test_a_folder_that_cannot_be_written_does_not_stop_the_reading(tmp_path):
    (tmp_path / "file").write_text("")
    kept_pages.keep_page(tmp_path / "file", KeptPage(FULL_PAGE, ""))
    assert kept_pages.load_page(tmp_path / "file", 3) is None


def test_pages_of_other_bytes_code_settings_or_libraries_are_never_used(tmp_path, monkeypatch):
    def folder(sha256=SHA256, *, with_form=True, **changes):
        limits = replace(LIMITS, **changes)
        return kept_pages.get_folder(tmp_path, sha256, limits, with_form=with_form)

    usual = folder()
    assert folder(processes=7, tasks_per_process=2) == usual, "they change nothing that is read"
    others = [
        folder("cd" * 32),
        folder(with_form=False),
        folder(ocr_dpi=200),
        folder(languages="fra"),
    ]
    monkeypatch.setattr(kept_pages, "_digest_reading_code", lambda: "of another release")
    others.append(folder())
    monkeypatch.undo()
    monkeypatch.setattr(kept_pages, "_list_versions", lambda: "numpy 1")
    others.append(folder())
    assert usual not in others
    assert len(set(others)) == len(others)


def test_the_code_of_all_stages_of_reading_counts():
    names = {path.name for path in kept_pages._list_code()}
    assert {"tasks.py", "page.py", "binarise.py", "render.py", "results.py"} <= names


def test_a_kept_page_is_used_only_with_the_engine_that_read_it(tmp_path, monkeypatch):
    """The page itself cannot be rendered, so that a page that is read again has an error."""
    from ingestion.reading.ocr.page_language import get_language_engines  # noqa: PLC0415

    version = get_language_engines(LIMITS.engine, LIMITS.languages).version
    probed = PageReading(3, 612.0, 792.0, "", TextSource.OCR)
    part = ProbedDocument("application/pdf", tmp_path / "gone.pdf", (probed,), kept=tmp_path)
    part = replace(part, media_type=tasks.MediaType.PDF)
    (tmp_path / "gone.pdf").write_bytes(b"%PDF-")
    kept_pages.keep_page(tmp_path, KeptPage(FULL_PAGE, version, "rapidocr 3"))
    read = tasks.read_scans(part, LIMITS)
    assert (read.pages[0].text, read.engine) == (FULL_PAGE.text, f"{version}; rapidocr 3")
    kept_pages.keep_page(tmp_path, KeptPage(FULL_PAGE, "tesseract 4"))
    assert tasks.read_scans(part, LIMITS).pages[0].error
    assert kept_pages.load_page(tmp_path, 3).engine == "tesseract 4", "a failed page is not kept"


READING_PROCESS = """
    import asyncio, sys
    from pathlib import Path
    from ingestion.reading.limits import ReadingLimits
    from ingestion.reading.processes.pool import Reader

    async def read(path, sha256, kept):
        limits = ReadingLimits(processes=2, page_seconds=300.0, first_look_seconds=300.0)
        async with Reader(limits, kept_pages=Path(kept)) as reader:
            reading = await reader.read(Path(path), sha256)
        print(len(reading.pages), sum("sheet" in page.text for page in reading.pages))

    if __name__ == "__main__":
        asyncio.run(read(*sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_killed_scan_of_200_pages_repeats_at_most_two_per_cent_of_them(tmp_path):
    """The process of the worker is killed at a third; its parser processes die with it."""
    scan = make_scan(render(make_pdf(lines=("This is a sheet of paper",)), dpi=150), dpi=150)
    path = save(tmp_path, concatenate([scan] * 200))
    script, kept, scratch = tmp_path / "read.py", tmp_path / "kept", tmp_path / "scratch"
    script.write_text(textwrap.dedent(READING_PROCESS))
    scratch.mkdir()
    command = [sys.executable, str(script), str(path), SHA256, str(kept)]
    environment = os.environ | {"TMPDIR": str(scratch), "PYTHONPATH": str(Path.cwd())}

    def list_finished():
        return {file.name: file.stat().st_mtime_ns for file in kept.glob("*/*") if not file.suffix}

    worker = subprocess.Popen(command, env=environment, start_new_session=True)
    _kill_when(lambda: len(list_finished()) >= 66, worker)
    notes = [file.read_text().split() for file in scratch.glob("*/work-of-*")]
    begun = {number for number, *stage in notes if stage == ["ocr"]}
    eventually(lambda: not _is_any_parser_alive(scratch))
    finished = list_finished()
    assert 66 <= len(finished) < 150
    restarted_at = time.time_ns()
    restarted = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert restarted.stdout.split() == ["200", "200"]
    read_again = {name for name, at in list_finished().items() if at > restarted_at}
    assert read_again == {str(number) for number in range(1, 201)} - set(finished)
    repeated = begun & read_again
    assert len(repeated) <= 4, "2 % of 200 pages"


def _kill_when(is_time, worker):
    try:
        eventually(lambda: worker.poll() is not None or is_time(), seconds=600)
        assert worker.poll() is None, "it has ended by itself"
    finally:
        worker.kill()
        worker.wait()


def _is_any_parser_alive(scratch):
    """Return whether a process that noted its work in the folder still runs."""
    for file in scratch.glob("*/work-of-*"):
        status = Path("/proc", file.name.removeprefix("work-of-"), "status")
        if status.exists() and "State:\tZ" not in status.read_text():
            return True
    return False
