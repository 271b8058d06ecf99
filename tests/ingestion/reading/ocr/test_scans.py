import io
import multiprocessing
import os
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ingestion.core.states import DocumentState
from ingestion.reading.images.normalise.grain import is_bilevel, smooth
from ingestion.reading.images.render import PageRaster
from ingestion.reading.limits import ISOLATED, ReadingLimits
from ingestion.reading.merge import OcrPages, ProbedDocument, merge_pages
from ingestion.reading.ocr import engines
from ingestion.reading.ocr.engines import (
    OcrFailed,
    OcrTimeout,
    OcrWord,
    SegmentationMode,
    Tesserocr,
    choose_engine,
    get_engine,
    parse_tsv,
)
from ingestion.reading.ocr.page import read_page_image
from ingestion.reading.ocr.second_pass import MAX_AREAS_PER_PAGE
from ingestion.reading.results import (
    Box,
    MediaType,
    PageReading,
    TextSource,
    Unreadable,
)
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.verdict import check
from tests.ingestion.reading.documents import (
    HEADING,
    LABEL,
    LIMITS,
    LINES,
    make_form_with_small_print,
    make_pdf,
    make_scan,
    read,
    render,
    save,
)
from tests.marks import slower

ENGINES = ("pytesseract", "tesserocr")
each_engine = pytest.mark.parametrize("name", ENGINES)
COLUMNS = (
    "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
)


@pytest.fixture(scope="module")
def scan():
    return render(make_pdf(signed=True))


def as_file(picture, kind, **options):
    output = io.BytesIO()
    picture.save(output, kind, **options)
    return output.getvalue()


def test_a_scan_is_read_with_the_places_of_its_words(tmp_path, scan):
    reading = read(save(tmp_path, make_scan(scan)))
    page = reading.pages[0]
    assert "Protocol number SLX-301, version 3.0 dated 12 August 2024" in page.text.splitlines()
    assert (page.source, page.dpi, page.rotation) == (TextSource.OCR, 200, 0)
    assert page.confidence > 80
    box = next(word.box for word in page.words if word.text == "Signature")
    assert box.left == pytest.approx(LABEL[0], abs=2)
    assert box.bottom == pytest.approx(792 - LABEL[1], abs=5)
    assert reading.engine.endswith("eng")


class OmittingEngine:
    """An engine that omits every line with a certain word, unless it gets lines by themselves."""

    version = "omitting"

    def __init__(self, word):
        self._word, self._engine = word, get_engine("pytesseract", "eng")
        self.second_passes = 0

    def recognise(self, grey, dpi, seconds, mode=SegmentationMode.AUTO):
        # Areas that may be stamps are read as a column.
        alone = mode not in {SegmentationMode.AUTO, SegmentationMode.SINGLE_COLUMN}
        self.second_passes += alone
        tokens = self._engine.recognise(grey, dpi, seconds, mode)
        passed_over = {token.line for token in tokens if token.text == self._word}
        return [token for token in tokens if alone or token.line not in passed_over]


def page_of(picture, dpi=200):
    wide, high = picture.width * 72 / dpi, picture.height * 72 / dpi
    return PageReading(1, wide, high, "", TextSource.NATIVE), PageRaster(np.asarray(picture), dpi)


@pytest.mark.parametrize("turn", [0, slower(180)])
def test_a_short_line_that_the_engine_omits_is_read_again_by_itself(turn):
    page, picture = page_of(render(make_pdf(lines=[*LINES, "12 Oct 2026"]), turn=turn))
    omitting = OmittingEngine("2026")
    read = read_page_image(picture, page, omitting, 30.0)
    assert "12 Oct 2026" in read.text.splitlines()
    year = next(word for word in read.words if word.text == "2026")
    (line,) = [mark for mark in read.marks if mark.intersects(year.box)]  # it may be handwriting
    assert line.left - 2 < year.box.left < year.box.right < line.right + 2
    assert year.box.top == pytest.approx(line.top, abs=4)


@pytest.mark.slow
def test_a_signature_is_not_taken_for_a_line_and_read_again(scan):
    page, picture = page_of(scan)
    omitting = OmittingEngine("nowhere")
    assert read_page_image(picture, page, omitting, 30.0).marks
    assert omitting.second_passes == 0


@pytest.mark.slow
def test_each_omitted_line_is_read_again_by_itself():
    days = ["12 Oct 2026", "3 Nov 2026", "28 Feb 2026"]
    page, picture = page_of(render(make_pdf(lines=[*LINES, *days])))
    omitting = OmittingEngine("2026")
    read = read_page_image(picture, page, omitting, 30.0)
    assert read.text.splitlines()[-len(days) :] == days
    assert omitting.second_passes == len(days)


@pytest.mark.slow
def test_the_number_of_lines_that_are_read_again_is_limited():
    page, picture = page_of(render(make_pdf(lines=["12 Oct 2026"] * 18)))
    omitting = OmittingEngine("2026")
    read = read_page_image(picture, page, omitting, 30.0)
    assert (omitting.second_passes, read.text.count("2026")) == (
        MAX_AREAS_PER_PAGE,
        MAX_AREAS_PER_PAGE,
    )


SMALL = ("Form Approved: OMB No. 0910-0014", "Expiration Date: March 31, 2022")


@pytest.mark.slow
def test_misread_small_print_beside_a_heading_is_replaced_in_its_place():
    page, picture = page_of(render(make_form_with_small_print(small=SMALL), dpi=300), dpi=300)
    omitting = OmittingEngine("nowhere")
    garbage = {
        token.text
        for token in omitting.recognise(picture.grey, 300, 30.0)
        if Box(390, 50, 540, 80).contains_centre_of(token.to_word(300).box)
    }
    read = read_page_image(picture, page, omitting, 30.0)
    above, below = HEADING
    assert read.text.splitlines()[:4] == [above, *SMALL, below]
    assert garbage
    assert not garbage & set(read.text.split())
    small = [word for word in read.words if word.text in {"OMB", "2022"}]
    assert all(word.box.left > 390 for word in small)
    assert omitting.second_passes == 1


SIGNATURE = Box(80, 535, 225, 585)


class MisreadingEngine:
    """An engine that reads four words of low confidence in place of the signature."""

    version = "misreading"

    def __init__(self):
        self._engine = get_engine("pytesseract", "eng")
        self.second_passes = 0

    def recognise(self, grey, dpi, seconds, mode=SegmentationMode.AUTO):
        tokens = self._engine.recognise(grey, dpi, seconds, mode)
        if mode is SegmentationMode.SINGLE_BLOCK:
            self.second_passes += 1
            return tokens
        printed = [
            token for token in tokens if not SIGNATURE.contains_centre_of(token.to_word(dpi).box)
        ]
        misread = [OcrWord("pee", 20, 255 + 80 * n, 1510, 70, 100, (9, 1, 1)) for n in range(4)]
        return [*printed, *misread]


def test_a_signature_that_was_misread_remains_a_mark(scan):
    page, picture = page_of(scan)
    misreading = MisreadingEngine()
    read = read_page_image(picture, page, misreading, 30.0)
    assert misreading.second_passes == 1
    assert any(mark.intersects(SIGNATURE) for mark in read.marks)
    assert read.text.count("pee") == 4  # nothing better was found


@pytest.mark.parametrize("turn", [90, slower(180), slower(270)])
def test_a_page_that_was_scanned_rotated_is_read_upright(tmp_path, turn):
    page = read(save(tmp_path, make_scan(render(make_pdf(signed=True), turn=turn)))).pages[0]
    assert page.rotation == turn
    assert page.text.startswith("INVESTIGATOR AGREEMENT")
    assert (round(page.width), round(page.height)) == (612, 792)
    label = next(word.box for word in page.words if word.text == "Signature")
    assert page.marks[0].top < label.top < page.marks[0].bottom + 30


def test_a_stamp_on_a_scan_does_not_hide_the_scan(tmp_path, scan):
    page = read(save(tmp_path, make_scan(scan, stamp="RECEIVED 12 MAR 2026"))).pages[0]
    assert page.text.startswith("RECEIVED 12 MAR 2026\n")
    assert page.text.count("RECEIVED") == 1
    assert "Good Clinical Practice" in page.text


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "media_type"),
    [("JPEG", MediaType.JPEG), ("PNG", MediaType.PNG), ("TIFF", MediaType.TIFF)],
)
def test_an_image_file_is_read_as_a_scan(tmp_path, scan, kind, media_type):
    reading = read(save(tmp_path, as_file(scan, kind, dpi=(200, 200))))
    assert reading.media_type is media_type
    assert "SLX-301" in reading.text
    assert round(reading.pages[0].width) == 612


def test_a_blank_page_is_not_read_by_ocr(tmp_path):
    reading = read(save(tmp_path, make_scan(Image.new("L", (1700, 2200), 250))))
    assert (reading.pages[0].is_blank, reading.used_ocr, reading.engine) == (True, False, "")


@pytest.mark.slow
def test_every_page_of_a_fax_is_read(tmp_path, scan):
    more = {"save_all": True, "append_images": [Image.new("1", scan.size, 1)]}
    fax = as_file(scan.convert("1"), "TIFF", compression="group4", **more)
    reading = read(save(tmp_path, fax))
    assert [page.is_blank for page in reading.pages] == [False, True]
    assert "SLX-301" in reading.pages[0].text


def test_a_photograph_is_rotated_by_its_exif_orientation(tmp_path, scan):
    turned = Image.Exif()
    turned[0x0112] = 6
    photo = as_file(scan.rotate(90, expand=True), "JPEG", exif=turned)
    page = read(save(tmp_path, photo)).pages[0]
    assert "SLX-301" in page.text
    assert page.rotation == 0


def test_a_truncated_image_file_is_corrupt(tmp_path, scan):
    content = as_file(scan, "PNG")
    reading = read(save(tmp_path, content[: len(content) // 2]))
    assert reading == Unreadable("CORRUPT_DOCUMENT")


def test_an_image_file_with_too_many_pixels_is_not_read(tmp_path, scan):
    reading = read(save(tmp_path, as_file(scan, "PNG")), ReadingLimits(max_image_pixels=1_000_000))
    assert reading == Unreadable("PARSER_FAILURE", {"reason": "the picture has 3 megapixels"})


class SlowEngine:
    """An engine that fails above a resolution: at everything if that is 0."""

    version = "slow"

    def __init__(self, dpi, error=None):
        self._dpi, self._error = dpi, error or OcrTimeout()
        self._engine = get_engine("pytesseract", "eng")

    def recognise(self, grey, dpi, seconds, mode=SegmentationMode.AUTO):
        if dpi > self._dpi:
            raise self._error
        return self._engine.recognise(grey, dpi, seconds, mode)


def test_a_page_that_takes_too_long_is_read_at_low_resolution(scan):
    page, picture = page_of(scan)
    read = read_page_image(picture, page, SlowEngine(150), 30.0)
    assert (read.dpi, read.error) == (150, "")
    assert "SLX-301," in read.text.split()
    assert (round(read.width), round(read.height)) == (612, 792)


@pytest.mark.parametrize("error", [OcrTimeout(), OcrFailed("OCR failed")], ids=str)
def test_a_page_on_which_ocr_fails_keeps_its_text_layer_and_all_its_ink_as_marks(scan, error):
    page, picture = page_of(scan)
    read = read_page_image(picture, replace(page, text="RECEIVED"), SlowEngine(0, error), 30.0)
    assert (read.text, read.error, read.dpi) == ("RECEIVED", str(error), 200)
    assert any(mark.intersects(Box(90, 540, 200, 580)) for mark in read.marks)  # the signature


def test_a_scan_on_which_ocr_failed_is_not_unreadable(scan):
    page, picture = page_of(scan)
    failed = read_page_image(picture, page, SlowEngine(0), 30.0)
    probe = ProbedDocument(MediaType.PDF, Path("scan.pdf"), (page,), scans=(1,))
    assert merge_pages(probe, [OcrPages((failed,), "slow")]).pages == (failed,)


def grainy(dpi=300):
    """Return a page full of black grains, in which Tesseract searches letters for minutes."""
    grains = np.random.default_rng(7).random((11 * dpi, 17 * dpi // 2)) < 0.1
    return np.where(grains, 0, 255).astype(np.uint8)


@pytest.mark.sampled(2)
@each_engine
def test_an_engine_reports_a_timeout(name):
    with pytest.raises(OcrFailed, match="OCR"):
        get_engine(name, "eng").recognise(grainy(60), 60, 0.01)


@each_engine
def test_a_language_that_is_not_installed_raises_lookup_error(name):
    with pytest.raises(LookupError, match="tlh"):
        get_engine(name, "eng+tlh")


RUSSIAN = "Главный исследователь подтверждает, что прочитал протокол и подписал этот документ"
DEJAVU = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


@pytest.mark.sampled(3)
@pytest.mark.skipif(not DEJAVU.exists(), reason="no font with Cyrillic letters (DejaVu) is here")
@pytest.mark.parametrize("dpi", [100, slower(144), slower(300)])
def test_a_scan_in_a_language_that_is_not_installed_is_held_and_not_blamed_on_its_site(
    tmp_path, dpi
):
    paper = Image.new("L", (17 * dpi // 2, 11 * dpi), 255)
    draw, font = ImageDraw.Draw(paper), ImageFont.truetype(DEJAVU, 11 * dpi // 72)
    for line in range(12):
        draw.text((dpi, dpi + line * dpi // 4), RUSSIAN, 0, font)
    reading = read(save(tmp_path, as_file(paper, "PNG", dpi=(dpi, dpi))))
    site, today = SiteFacts("1001"), date(2026, 11, 20)
    verdict = check(reading, SenderFacts("v2.1", "cv"), site=site, today=today)
    assert (verdict.state, verdict.primary.code) == (
        DocumentState.HELD,
        "LANGUAGE_NOT_INSTALLED",
    )
    assert "ILLEGIBLE_SCAN" not in {finding.code for finding in verdict.findings}


@pytest.mark.sampled(2)
@each_engine
def test_the_result_of_an_engine_does_not_depend_on_earlier_pages(name, scan):
    reader, grey = get_engine(name, "eng"), np.ascontiguousarray(np.asarray(scan)[:600])
    before = reader.recognise(grey, 200, 30)
    line = reader.recognise(
        np.ascontiguousarray(grey[215:275]), 200, 30, SegmentationMode.SINGLE_BLOCK
    )
    assert "INVESTIGATOR" in [token.text for token in line]
    assert reader.recognise(grey, 200, 30) == before


@pytest.mark.slow
def test_both_engines_read_the_same_words_in_the_same_places():
    """Compare print only. What is read in place of a signature depends on Tesseract's version."""
    grey = np.asarray(render(make_pdf()))
    one, other = (get_engine(name, "eng").recognise(grey, 200, 30) for name in ENGINES)
    assert [token.text for token in one] == [token.text for token in other]
    for mine, theirs in zip(one, other, strict=True):
        assert (mine.left, mine.top) == pytest.approx((theirs.left, theirs.top), abs=3)
        assert mine.confidence == pytest.approx(theirs.confidence, abs=5)


def test_the_program_reads_where_the_library_of_tesserocr_cannot_be_loaded(monkeypatch):
    assert choose_engine("auto") == "tesserocr"
    monkeypatch.setitem(sys.modules, "tesserocr", None)  # an import raises ImportError
    engines._is_library_loadable.cache_clear()
    try:
        assert choose_engine("auto") == "pytesseract"
    finally:
        engines._is_library_loadable.cache_clear()


def test_the_isolated_engine_is_the_program_if_it_is_installed(monkeypatch):
    assert choose_engine(ISOLATED) == "pytesseract"
    monkeypatch.setenv("PATH", "/nowhere")
    assert choose_engine(ISOLATED) == "tesserocr"


def test_tesserocr_uses_the_folder_that_the_environment_names(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    with pytest.raises(LookupError, match="eng"):
        Tesserocr("eng")


def test_the_words_of_tesseracts_table_are_parsed():
    word = '5\t1\t2\t1\t3\t1\t10\t20\t30\t8\t91.5\t"Site'
    line = "4\t1\t2\t1\t3\t0\t10\t20\t30\t8\t-1\t"
    nothing = "5\t1\t2\t1\t3\t2\t10\t20\t30\t8\t95\t "
    table = "\n".join([COLUMNS, line, word, nothing])
    assert list(parse_tsv(table)) == [OcrWord('"Site', 91.5, 10, 20, 30, 8, (2, 1, 3))]


def test_only_a_bilevel_page_is_smoothed():
    fax = np.full((100, 100), 255, np.uint8)
    fax[50:60, 10:90] = 0
    grey = np.full((100, 100), 240, np.uint8)
    assert is_bilevel(fax)
    assert not is_bilevel(grey)
    assert len(np.unique(smooth(PageRaster(fax, 100)).grey)) > 2


class OriginalsOnlyEngine:
    """An engine that reads an image only as it was scanned, and no corrected one."""

    version = "originals only"

    def __init__(self, original):
        self._original, self._engine = original, get_engine("auto", "eng")

    def recognise(self, grey, dpi, seconds, mode=SegmentationMode.AUTO):
        if not np.array_equal(grey, self._original):
            return []
        return self._engine.recognise(grey, dpi, seconds, mode)


def test_a_page_that_its_corrections_made_unreadable_is_read_as_it_was_scanned(scan):
    raster = PageRaster(np.asarray(scan), 200)
    page = PageReading(1, raster.width, raster.height, "", TextSource.NATIVE)
    corrected = read_page_image(raster, page, get_engine("auto", "eng"), 300.0)
    found = read_page_image(raster, page, OriginalsOnlyEngine(raster.grey), 300.0)
    assert corrected.corrections
    assert (found.corrections, found.text.splitlines()[:3]) == ((), list(LINES[:3]))


def test_a_faint_signature_is_found_on_a_page_that_is_read_as_it_was_scanned():
    dark = np.asarray(render(make_pdf(signed=True)))
    raster = PageRaster(np.asarray(255 - (255 - dark) // 5, np.uint8), 200)
    page = PageReading(1, raster.width, raster.height, "", TextSource.NATIVE)
    corrected = read_page_image(raster, page, get_engine("auto", "eng"), 300.0)
    found = read_page_image(raster, page, OriginalsOnlyEngine(raster.grey), 300.0)
    assert corrected.corrections
    assert (found.corrections, found.text.splitlines()[:3]) == ((), list(LINES[:3]))
    assert [mark for mark in found.marks if mark.intersects(corrected.marks[-1])]


@pytest.mark.slow
def test_a_page_is_read_as_well_on_a_busy_host_as_on_an_idle_one(tmp_path):
    path = save(tmp_path, make_scan(render(make_pdf(), dpi=300), dpi=300))
    limits = replace(LIMITS, engine_seconds=2.0)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        idle = processes.submit(read, path, limits).result()
        busy = processes.submit(read, path, limits)
        with suppress(ProcessLookupError):
            (pid,) = processes._processes
            while not busy.done():  # others have four fifths of the processor
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.2)
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.05)
        assert busy.result().pages == idle.pages
