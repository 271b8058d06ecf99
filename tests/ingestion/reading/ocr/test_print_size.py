from dataclasses import replace

import numpy as np
import pytest

from ingestion.reading.images.render import PageRaster
from ingestion.reading.ocr.engines import SegmentationMode, get_engine
from ingestion.reading.ocr.page import read_page_image
from ingestion.reading.results import PageReading, TextSource
from samples.binders import place_four_on_a_sheet
from tests.ingestion.reading.documents import LINES, make_pdf, render, skew


class ListingEngine:
    """An engine that lists the resolution and the width of each image that it reads."""

    version = "listing"

    def __init__(self):
        self._engine = get_engine("pytesseract", "eng")
        self.read = []

    def recognise(self, grey, dpi, seconds, mode=SegmentationMode.AUTO):
        if mode is SegmentationMode.AUTO:
            self.read.append((dpi, grey.shape[1]))
        return self._engine.recognise(grey, dpi, seconds, mode)


def page_of(picture, dpi=200):
    raster = PageRaster(np.asarray(picture), dpi)
    return PageReading(1, raster.width, raster.height, "", TextSource.NATIVE), raster


def four_pages():
    other = ("Meeting of 12 May 2026", *LINES[1:])
    papers = [make_pdf(lines=lines) for lines in (LINES, other, other, LINES)]
    return place_four_on_a_sheet(papers)


@pytest.mark.slow
def test_the_pages_on_a_sheet_are_enlarged_and_read_one_by_one():
    page, raster = page_of(render(four_pages()))
    engine = ListingEngine()
    read = read_page_image(raster, page, engine, 30.0)
    assert [dpi for dpi, _ in engine.read] == [400] * 4
    lines = read.text.splitlines()
    assert [lines.count(line) for line in (LINES[1], LINES[-1])] == [4, 4]
    assert (read.dpi, round(read.width)) == (200, round(raster.width))
    meetings = [word.box for word in read.words if word.text == "Meeting"]
    assert [side for box in meetings for side in (box.left, box.bottom)] == pytest.approx(
        [342, 48, 36, 444], abs=2
    )


@pytest.mark.slow
def test_the_pages_on_a_sheet_that_is_askew_are_read_one_by_one():
    page, raster = page_of(skew(render(four_pages()), 1.0))
    engine = ListingEngine()
    lines = read_page_image(raster, page, engine, 30.0).text.splitlines()
    assert [dpi for dpi, _ in engine.read] == [400] * 4
    assert [lines.count(line) for line in (LINES[1], LINES[-1])] == [4, 4]


@pytest.mark.parametrize(
    ("scanned", "read_at", "size"),
    [(300, 200, 12), (200, 200, 12), (300, 233, 8), (300, 300, 7)],
)
def test_a_page_is_read_at_the_resolution_that_its_letters_need(scanned, read_at, size):
    page, raster = page_of(render(make_pdf(size=size), dpi=scanned), scanned)
    engine = ListingEngine()
    read_page_image(raster, page, engine, 30.0)
    (read,) = engine.read
    assert read == (read_at, pytest.approx(raster.grey.shape[1] * read_at / scanned, abs=3))


def test_a_faint_page_is_read_at_its_own_resolution():
    dark = np.asarray(render(make_pdf(), dpi=300))
    page, raster = page_of(255 - (255 - dark) // 5, 300)
    engine = ListingEngine()
    read_page_image(raster, page, engine, 30.0)
    assert [dpi for dpi, _ in engine.read] == [300]


def test_a_page_that_is_read_badly_at_a_lower_resolution_is_read_at_its_own():
    class EngineForLargeImages(ListingEngine):
        def recognise(self, grey, dpi, seconds, mode=SegmentationMode.AUTO):
            words = super().recognise(grey, dpi, seconds, mode)
            return words if dpi == 300 else [replace(word, confidence=40.0) for word in words]

    page, raster = page_of(render(make_pdf(), dpi=300), 300)
    engine = EngineForLargeImages()
    read = read_page_image(raster, page, engine, 30.0)
    assert [dpi for dpi, _ in engine.read] == [200, 300]
    assert read.text.splitlines()[:3] == list(LINES[:3])


def test_words_that_were_read_at_a_lower_resolution_are_at_their_places():
    read = {}
    for dpi in (200, 300):
        page, raster = page_of(render(make_pdf(), dpi=dpi), dpi)
        read[dpi] = read_page_image(raster, page, get_engine("pytesseract", "eng"), 30.0)
    pairs = list(zip(read[200].words, read[300].words, strict=True))
    assert all(low.text == high.text for low, high in pairs)
    assert all(high.box.contains_centre_of(low.box) for low, high in pairs)
    assert (read[200].dpi, read[300].dpi) == (200, 300)  # of the scans


@pytest.mark.slow
def test_the_pages_on_a_sheet_are_in_order_if_the_bands_between_them_are_not_level():
    picture = np.asarray(render(four_pages()))
    half = picture.shape[1] // 2
    shifted = np.hstack(
        [np.roll(picture[:, :half], 245, axis=0), np.roll(picture[:, half:], -110, axis=0)]
    )
    page, raster = page_of(shifted)
    engine = ListingEngine()
    read_page_image(raster, page, engine, 300.0)
    assert [dpi for dpi, _ in engine.read] == [400] * 4
