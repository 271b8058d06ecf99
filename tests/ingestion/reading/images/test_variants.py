"""Variants of a page, and the places of words and marks in them."""

import numpy as np
import pytest

from ingestion.reading.images.binarise import flatten_background
from ingestion.reading.images.coverage import find_letters
from ingestion.reading.images.normalise.variants import MIN_SKEW_DEGREES, PageVariant, measure_skew
from ingestion.reading.images.render import PageRaster
from ingestion.reading.results import (
    Box,
    PageReading,
    TextSource,
    Word,
)
from ingestion.rules.checks.signature_areas import has_marks_in
from tests.ingestion.reading.documents import LINES, make_pdf, make_scan, read, render, save, skew

TEXT = (*LINES, *(f"{number}. {line}" for number, line in enumerate(LINES, start=1)))


@pytest.fixture(scope="module")
def scan():
    return render(make_pdf(lines=TEXT, signed=True))


def picture(image):
    return PageRaster(np.asarray(image), 200)


def measure(raster):
    return measure_skew(find_letters(flatten_background(raster)))


@pytest.mark.parametrize("degrees", [-14.0, -6.0, 2.5, 9.0])
def test_the_skew_of_a_page_is_measured(scan, degrees):
    assert measure(picture(skew(scan, degrees))) == pytest.approx(degrees, abs=0.3)


@pytest.mark.parametrize("degrees", [0.0, -1.5, MIN_SKEW_DEGREES - 0.5])
def test_a_small_skew_is_ignored(scan, degrees):
    assert measure(picture(skew(scan, degrees))) == 0.0


@pytest.mark.parametrize("turn", [90, 270])
def test_a_page_that_lies_on_its_side_has_no_skew(turn):
    assert measure(picture(render(make_pdf(lines=TEXT), turn=turn))) == 0.0


def test_a_page_without_lines_has_no_skew():
    assert measure(picture(render(make_pdf(lines=())))) == 0.0


def test_a_skewed_page_is_deskewed_and_read_with_the_places_of_words_and_marks(tmp_path, scan):
    page = read(save(tmp_path, make_scan(skew(scan, 10)))).pages[0]
    assert page.skew == pytest.approx(10, abs=0.3)
    assert {"SLX-301,", "Columbus,", "accordance", "Good"} < set(page.text.split())
    label = next(word.box for word in page.words if word.text == "Signature")
    assert label.bottom - label.top < 14  # level, as on the paper
    above = Box(label.left - 12, label.top - 50, label.left + 260, label.top)
    assert has_marks_in(page, above)
    assert all(mark.right < page.width and mark.bottom < page.height for mark in page.marks)


@pytest.mark.slow
def test_an_unsigned_skewed_page_has_no_marks_where_the_signature_would_be(tmp_path):
    unsigned = skew(render(make_pdf(lines=TEXT)), 10)
    page = read(save(tmp_path, make_scan(unsigned))).pages[0]
    label = next(word.box for word in page.words if word.text == "Signature")
    above = Box(label.left - 12, label.top - 50, label.left + 260, label.bottom + 34)
    assert page.skew
    assert not has_marks_in(page, above)


@pytest.mark.parametrize("change", ["rotated", "deskewed"])
def test_a_word_of_the_text_layer_moves_with_the_raster(change):
    """The box of the word remains around the only ink of the page."""
    grey = np.full((2200, 1700), 255, np.uint8)
    grey[400:440, 300:500] = 0
    box = Box(*(edge * 72 / 200 for edge in (300, 400, 500, 440)))
    page = PageReading(1, 612, 792, "RECEIVED", TextSource.NATIVE, (Word("RECEIVED", box, 100.0),))
    view = PageVariant.of(PageRaster(grey, 200), page)
    other = view.rotated(270) if change == "rotated" else view.deskewed(7.0)
    rows, columns = np.nonzero(other.raster.grey < 128)
    ink = [edge * 72 / 200 for edge in (columns.min(), rows.min(), columns.max(), rows.max())]
    assert other.page.words[0].box == pytest.approx(ink, abs=1)
    assert (other.page.width, other.page.height) == (other.raster.width, other.raster.height)
