"""Tests the second OCR engine: its process, and how its words are combined with Tesseract's."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pypdfium2
import pytest
import reportlab
from PIL import Image, ImageDraw, ImageFont

from ingestion.reading.images.quality import is_degraded
from ingestion.reading.images.render import PageRaster
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.ocr.engines import MIN_WORD_CONFIDENCE, OcrFailed, OcrWord
from ingestion.reading.ocr.page import read_page_image
from ingestion.reading.ocr.second_engine.client import SecondEngine
from ingestion.reading.ocr.second_engine.combine import combine_pages
from ingestion.reading.ocr.second_engine.launch import (
    UnsafeFolder,
    start_if_needed,
    take_lock,
)
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import DocumentReading, PageReading, TextSource
from samples.layouts.translated import make_translated_specimen

FONT = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"
SENTENCES = (
    "The ethics committee approved protocol SLX-873 on 12 March 2026.",
    "Continuing review is due before 11 March 2027.",
)


def read_line(text, confidence, *, top=100, line=1, left=50):
    """Return the words of a line as an engine reads them, with 10 pixels for each character."""
    words, x = [], left
    for word in text.split():
        words.append(OcrWord(word, confidence, x, top, 10 * len(word), 20, (1, 1, line)))
        x += 10 * (len(word) + 1)
    return words


def texts(words):
    return " ".join(word.text for word in words)


def test_a_line_gets_the_text_of_the_surer_engine():
    first = read_line("Thc ethies committee", 75.0)
    second = read_line("The ethics committee", 99.0)
    assert texts(combine_pages(first, second)) == "The ethics committee"
    assert texts(combine_pages(read_line("The ethics", 96.0), read_line("Thc ethies", 70.0))) == (
        "The ethics"
    )


def test_blanks_that_the_second_engine_drops_are_kept():
    first = read_line("Continuing reviow is due", 80.0)
    second = [
        OcrWord("Continuingreview", 99.0, 50, 100, 170, 20, (1, 1, 1)),
        OcrWord("isdue", 99.0, 230, 100, 60, 20, (1, 1, 1)),
    ]
    assert texts(combine_pages(first, second)) == "Continuing review is due"


def test_dust_is_no_diacritic_if_tesseract_is_sure_of_the_letter():
    dusty = read_line("Enzymatiċ Deċember", 100.0)
    assert texts(combine_pages(read_line("Enzymatic December", 97.0), dusty)) == (
        "Enzymatic December"
    )
    spanish = read_line("rápido Muñoz", 100.0)
    assert texts(combine_pages(read_line("rapido Munoz", 97.0), spanish)) == "rápido Muñoz"
    polish = read_line("Wiśniewska", 100.0)
    assert texts(combine_pages(read_line("Wisniewska", 80.0), polish)) == "Wiśniewska"


def test_a_border_between_words_is_at_the_blank_of_the_second_engine():
    first = read_line("document tot system", 60.0)
    second = read_line("document for system", 99.0)
    assert [word.text for word in combine_pages(first, second)] == ["document", "for", "system"]
    first = read_line("valid tc rsystem", 60.0)
    second = read_line("valid to system", 99.0)
    assert [word.text for word in combine_pages(first, second)] == ["valid", "to", "system"]


def test_parts_of_a_word_between_which_letters_were_omitted_are_joined():
    first = read_line("Prin al reviewer", 70.0)
    first[1] = replace(first[1], left=first[0].left + first[0].width + 18)
    second = read_line("Principal reviewer", 99.0)
    assert [word.text for word in combine_pages(first, second)] == ["Principal", "reviewer"]
    apart = [first[0], replace(first[1], left=first[1].left + 60), first[2]]
    assert len(combine_pages(apart, second)) == 3


def test_a_number_that_the_engines_read_differently_is_in_doubt():
    first = read_line("due before 11 March 2027", 95.0)
    second = read_line("due before 11 March 2021", 99.0)
    words = combine_pages(first, second)
    in_doubt = [word for word in words if word.confidence < MIN_WORD_CONFIDENCE]
    assert [(word.text, word.other) for word in in_doubt] == [("2021", "2027")]


def test_a_number_that_both_read_is_not_in_doubt():
    words = combine_pages(read_line("on 12.03.2026", 65.0), read_line("on 12.03.2026.", 98.0))
    assert min(word.confidence for word in words) == 98.0


def test_a_line_that_tesseract_omitted_is_placed_below_the_line_above_it():
    first = [
        *read_line("first line", 95.0, line=1),
        *read_line("third line", 95.0, top=200, line=2),
    ]
    second = [
        *read_line("first line", 99.0, line=1),
        *read_line("second line", 99.0, top=150, line=2),
        *read_line("third line", 99.0, top=200, line=3),
    ]
    assert texts(combine_pages(first, second)) == "first line second line third line"


def test_columns_keep_the_order_in_which_tesseract_read_them():
    left = [*read_line("left one", 90.0, line=1), *read_line("left two", 90.0, top=150, line=2)]
    right = [
        *read_line("right one", 90.0, left=500, line=3),
        *read_line("right two", 90.0, top=150, left=500, line=4),
    ]
    second = [
        *read_line("left one", 99.0, line=1),
        *read_line("right one", 99.0, left=500, line=2),
        *read_line("left two", 99.0, top=150, line=3),
        *read_line("right two", 99.0, top=150, left=500, line=4),
    ]
    combined = combine_pages([*left, *right], second)
    assert texts(combined) == "left one left two right one right two"


def test_noise_that_only_tesseract_read_is_left_out_and_a_certain_word_is_kept():
    noise = read_line("| ~", 90.0, top=400, line=2) + read_line("oe", 30.0, top=500, line=3)
    certain = read_line("Approved", 93.0, top=600, line=4)
    first = [*read_line("The text", 95.0), *noise, *certain]
    assert texts(combine_pages(first, read_line("The text", 99.0))) == "The text Approved"


def make_page(grain=0.0, light=1.0, sentences=SENTENCES):
    """Return a page with a few lines, as an array of grey pixels."""
    image = Image.new("L", (1240, 600), 245)
    draw, font = ImageDraw.Draw(image), ImageFont.truetype(FONT, 30)
    for number, sentence in enumerate(sentences):
        draw.text((100, 120 + 120 * number), sentence, fill=20, font=font)
    pixels = np.asarray(image, np.float64) * np.linspace(light, 1.0, 1240)
    pixels += np.random.default_rng(7).normal(0, grain, pixels.shape)
    return np.asarray(pixels.clip(0, 255), np.uint8)


@pytest.mark.parametrize(
    ("page", "expected"),
    [({}, False), ({"grain": 1.0}, False), ({"grain": 10.0}, True), ({"light": 0.5}, True)],
    ids=["clean", "office", "grain", "lamp"],
)
def test_grain_and_uneven_light_show_that_a_page_was_degraded(page, expected):
    assert is_degraded(make_page(**page)) is expected


class FixedEngine:
    """Stands for an OCR engine that reads the same words from each page."""

    def __init__(self, words):
        self.words, self.note, self.is_asked = words, "", False

    def recognise(self, *_):
        return self.words

    def read_page(self, grey):
        self.is_asked = bool(grey.size)
        return self.words


def read_clean_page(printed, text, confidence=95.0):
    """Return what remains of `text`, which Tesseract read, and whether both engines read.

    Tesseract is sure of a second line, so that the page as a whole is certain.
    """
    font = ImageFont.truetype(FONT, 30)

    def locate(line, printed):
        left, top, right, bottom = (int(edge) for edge in font.getbbox(printed))
        top, height = 120 + 120 * line + top, bottom - top
        return OcrWord(printed, 95.0, 100 + left, top, right - left, height, (1, 1, line))

    name, sentence = locate(0, printed), locate(1, SENTENCES[0])
    second = FixedEngine([replace(name, confidence=90.0), sentence])
    raster = PageRaster(make_page(sentences=(printed, SENTENCES[0])), 150.0)
    page = PageReading(1, raster.width, raster.height, "", TextSource.NATIVE)
    first = FixedEngine([replace(name, text=text, confidence=confidence), sentence])
    found = read_page_image(raster, page, first, 60.0, second_engine=second)
    return found.text.splitlines()[0], second.is_asked


@pytest.mark.parametrize("confidence", [95.0, 30.0])
def test_the_second_engine_reads_a_clean_page_with_diacritics_that_were_omitted(confidence):
    assert read_clean_page("Jörg", "Jorg", confidence) == ("Jörg", True)


def test_the_second_engine_does_not_read_a_clean_page_whose_diacritics_were_read():
    assert read_clean_page("Jörg", "Jörg") == ("Jörg", False)


def test_a_folder_that_others_may_read_is_refused(tmp_path):
    tmp_path.chmod(0o755)
    with pytest.raises(UnsafeFolder, match="0700"):
        start_if_needed(tmp_path)


def test_no_second_process_is_started_while_one_holds_the_lock(tmp_path):
    tmp_path.chmod(0o700)
    with take_lock(tmp_path):
        start_if_needed(tmp_path)
    assert not (tmp_path / "engine.log").exists()


def test_an_engine_that_does_not_run_is_reported(tmp_path):
    engine = SecondEngine(tmp_path, seconds=0.2)
    with pytest.raises(OcrFailed, match="does not respond"):
        engine.read_page(make_page())
    assert engine.note.startswith("without the second engine")


@pytest.fixture
def limits(tmp_path_factory):
    """Return limits with a second engine, whose process ends with the test."""
    pytest.importorskip("rapidocr", reason="requirements-ocr.txt is not installed")
    folder = tmp_path_factory.mktemp("engine")
    yield ReadingLimits(processes=1, second_engine=folder, second_engine_seconds=200.0)
    kill_engine(folder)


def kill_engine(folder):
    """Kill the process of the engine, if it runs."""
    for process in Path("/proc").iterdir():
        try:
            command = (process / "cmdline").read_bytes()
        except (NotADirectoryError, FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if b"second_engine.process" in command and os.fsencode(folder) in command:
            os.kill(int(process.name), signal.SIGKILL)


async def read(reader, tmp_path, grain):
    path = tmp_path / "page.png"
    Image.fromarray(make_page(grain=grain)).save(path, dpi=(150, 150))
    reading = await reader.read(path, "0" * 64)
    assert isinstance(reading, DocumentReading)
    return reading


@pytest.mark.slow
async def test_a_page_with_much_grain_is_read_by_both_engines(limits, tmp_path):
    async with Reader(limits) as reader:
        reading = await read(reader, tmp_path, grain=35.0)
    assert "rapidocr" in reading.engine
    assert " ".join(reading.pages[0].text.split()) == " ".join(SENTENCES)


@pytest.mark.slow
async def test_a_page_without_text_has_no_words(limits, tmp_path):
    async with Reader(limits) as reader:
        await read(reader, tmp_path, grain=35.0)  # starts the engine
        engine = SecondEngine(limits.second_engine, limits.second_engine_seconds)
        assert engine.read_page(make_page(sentences=())) == []


@pytest.mark.slow
async def test_a_clean_page_is_read_by_tesseract_alone(limits, tmp_path):
    async with Reader(limits) as reader:
        reading = await read(reader, tmp_path, grain=0.0)
    assert "engine" not in reading.engine
    assert "rapidocr" not in reading.engine


@pytest.mark.slow
async def test_the_engine_is_started_again_after_it_was_killed(limits, tmp_path):
    async with Reader(limits) as reader:
        await read(reader, tmp_path, grain=35.0)
        kill_engine(limits.second_engine)
        wait_for_lock(limits.second_engine)
        reading = await read(reader, tmp_path, grain=35.0)
    assert "rapidocr" in reading.engine


@pytest.mark.slow
async def test_without_the_engine_a_page_is_read_by_tesseract_and_says_so(limits, tmp_path):
    folder = limits.second_engine
    with take_lock(folder):  # a process that holds the lock but does not respond
        async with Reader(replace(limits, second_engine_seconds=0.5)) as reader:
            reading = await read(reader, tmp_path, grain=20.0)
    assert "without the second engine" in reading.engine
    assert reading.pages[0].words


@pytest.mark.slow
async def test_characters_of_japanese_become_words_and_the_page_is_in_japanese(limits, tmp_path):
    """The first data that is tried for Han characters is that of Chinese, which has no kana."""
    licence = make_translated_specimen("jpn", "medical-licence", "plain", 3)
    path = tmp_path / "licence.png"
    with pypdfium2.PdfDocument(licence.content) as document:
        document[0].render(scale=200 / 72).to_pil().convert("L").save(path, dpi=(200, 200))
    async with Reader(replace(limits, languages="eng+jpn+chi_sim")) as reader:
        reading = await reader.read(path, "0" * 64)
    (page,) = reading.pages
    assert "rapidocr" in reading.engine
    assert page.language == "jpn"
    words = [word.text for word in page.words]
    assert any(licence.values["licence_number"] in word for word in words)
    name = licence.values["person"].replace(" ", "")
    assert any(name in word for word in words)


def wait_for_lock(folder):
    """Wait until no process holds the lock of the engine."""
    while (lock := take_lock(folder)) is None:
        time.sleep(0.05)
    lock.close()
