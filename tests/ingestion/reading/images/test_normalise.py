"""Corrections of page images, and where the places of a corrected page are on the original."""

import io
import random

import cv2
import numpy as np
import pytest
from PIL import Image
from reportlab.lib.pagesizes import letter
from reportlab.pdfgen.canvas import Canvas

from bench.documents.scans import WHITE, curl_pages
from ingestion.reading.images.binarise import flatten_background
from ingestion.reading.images.coverage import find_letters
from ingestion.reading.images.normalise.line_shape import measure_line_shape
from ingestion.reading.images.normalise.picture import normalise_page
from ingestion.reading.images.render import PageRaster
from ingestion.reading.results import Box, CorrectionKind, PageReading, TextSource, Word
from samples.binders import place_four_on_a_sheet
from tests.ingestion.reading.documents import LINES, make_pdf, make_scan, read, render, save, skew

TEXT = (*LINES, *(f"{number}. {line}" for number, line in enumerate(LINES, start=1)))
DPI = 200
PAGE = PageReading(1, 612, 792, "", TextSource.NATIVE)


@pytest.fixture(scope="module")
def scan():
    return np.asarray(render(make_pdf(lines=TEXT, signed=True)))


def bent(grey, pixels=40):
    """Return a page whose lines are arches, and a rectangle of the original as it is there."""
    rows, columns = np.indices(grey.shape)
    down = np.round(pixels * np.sin(np.pi * columns / grey.shape[1])).astype(int)
    return grey[np.clip(rows - down, 0, grey.shape[0] - 1), columns]


def shaded(grey):
    return (grey * np.linspace(1, 0.4, grey.shape[1])).astype(np.uint8)


def grainy(grey):
    noise = np.random.default_rng(1).normal(0, 14, grey.shape)
    return np.clip(grey * 0.9 + noise, 0, 255).astype(np.uint8)


def list_corrections(grey):
    variant, _ = normalise_page(PageRaster(grey, DPI), PAGE)
    return [correction.kind for correction in variant.page.corrections]


def shape_of(grey):
    flat = flatten_background(PageRaster(grey, DPI))
    return measure_line_shape(flat, find_letters(flat))


def soft(grey):
    """Return a page as a scanner makes it: in many shades of grey."""
    return (grey.astype(np.float32) * 0.9 + 10).astype(np.uint8)


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (soft, []),
        (lambda grey: WHITE - soft(grey), [CorrectionKind.INVERTED]),
        (bent, [CorrectionKind.DESKEWED, CorrectionKind.STRAIGHTENED]),
        (shaded, [CorrectionKind.LIGHT, CorrectionKind.SHARPENED]),
        (grainy, [CorrectionKind.SMOOTHED, CorrectionKind.ENLARGED]),
        (lambda grey: np.where(grey < 128, 0, 255).astype(np.uint8), [CorrectionKind.SMOOTHED]),
    ],
    ids=["clean", "inverted", "bent", "shaded", "grainy", "fax"],
)
def test_a_page_gets_the_corrections_that_it_needs_and_no_other(scan, change, kinds):
    grey = change(scan) if change in {soft, shaded} else change(soft(scan))
    assert list_corrections(grey) == kinds


def test_a_blank_page_gets_no_correction():
    assert list_corrections(np.full((2200, 1700), 240, np.uint8)) == []


def test_the_lines_of_a_bent_page_are_level_after_the_correction(scan):
    assert shape_of(bent(scan)) is not None
    variant, _ = normalise_page(PageRaster(bent(soft(scan)), DPI), PAGE)
    assert shape_of(variant.raster.grey) is None


@pytest.mark.parametrize("turns", [1, 3])
def test_a_page_that_lies_on_its_side_has_no_shape(scan, turns):
    assert shape_of(np.ascontiguousarray(np.rot90(scan, turns))) is None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
@pytest.mark.parametrize("change", ["bent", "skewed"])
def test_the_places_of_a_corrected_page_are_known_on_the_original(change, turns):
    """A solid block stands in the same place of the corrected page and, mapped, of the original."""
    page = np.full((2200, 1700), 255, np.uint8)
    text = np.asarray(render(make_pdf(lines=TEXT)))
    page = np.minimum(page, text[:2200, :1700])
    page[1500:1560, 900:1300] = 0
    page = bent(page, 60) if change == "bent" else np.asarray(skew_grey(page, 6))
    variant, _ = normalise_page(PageRaster(page, DPI), PAGE)
    if turns:
        variant = variant.rotated(90 * turns)
    page = np.rot90(page, -turns)
    block = find_block(variant.raster.grey)
    page_map = variant.make_page_map()
    mapped = page_map.locate(block, variant.page.width, variant.page.height)
    assert mapped == pytest.approx(find_block(page), abs=4)
    assert (page_map.width, page_map.height) == pytest.approx(
        (page.shape[1] * 72 / DPI, page.shape[0] * 72 / DPI)
    )


def skew_grey(grey, degrees):
    return skew(Image.fromarray(grey), degrees)


def find_block(grey):
    """Return the box, in points, of the only large black area."""
    ink = (np.ascontiguousarray(grey) < 128).astype(np.uint8)
    solid = cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones((30, 30), np.uint8))
    left, top, width, height = (side * 72 / DPI for side in cv2.boundingRect(solid))
    return Box(left, top, left + width, top + height)


def test_a_word_of_the_text_layer_moves_with_straightened_lines(scan):
    grey = soft(scan)
    grey[1500:1540, 900:1100] = 0
    grey = bent(grey, 60)
    rows, columns = np.nonzero(grey[1400:1700, 880:1120] < 60)
    sides = (columns.min() + 880, rows.min() + 1400, columns.max() + 880, rows.max() + 1400)
    word = Word("RECEIVED", Box(*(side * 72 / DPI for side in sides)), 100.0)
    page = PageReading(1, 612, 792, "RECEIVED", TextSource.NATIVE, (word,))
    variant, _ = normalise_page(PageRaster(grey, DPI), page)
    assert variant.page.words[0].box.contains_centre_of(find_block(variant.raster.grey))


def test_nothing_is_cut_off_at_the_edges_of_a_bent_page(scan):
    grey = soft(scan)
    grey[:12, 800:900] = 0  # at the upper edge of the highest part of each line
    shape = shape_of(bent(scan))
    variant, _ = normalise_page(PageRaster(bent(grey), DPI), PAGE)
    assert shape.margins[0] + shape.margins[1] > 0
    assert np.count_nonzero(variant.raster.grey < 128) >= 0.97 * np.count_nonzero(bent(grey) < 128)


@pytest.mark.slow
def test_a_curled_page_is_read_and_its_words_are_on_the_original(tmp_path, scan):
    curled = curl_pages((soft(scan), soft(scan)), random.Random(3))[0]
    page = read(save(tmp_path, make_scan(Image.fromarray(curled)))).pages[0]
    assert {"SLX-301,", "Columbus,", "accordance", "Good"} < set(page.text.split())


def make_dotted_form(*, dots=True):
    """Return a form whose captions and values are connected by leaders, and a dotted table."""
    output = io.BytesIO()
    canvas = Canvas(output, letter, invariant=1)
    canvas.setFont("Helvetica", 11)
    for number, line in enumerate(LINES):
        y = 700 - 24 * number
        caption, value = line.split()[:2], line.split()[2:]
        canvas.drawString(60, y, " ".join(caption))
        canvas.drawRightString(560, y, " ".join(value))
        if dots:
            canvas.drawString(200, y, "." * 20)
    canvas.setDash(0.8, 1.8)
    for row in range(5):
        if dots:
            canvas.line(60, 500 - 22 * row, 540, 500 - 22 * row)
        for column, word in enumerate(("Cedar", "Ridge", "Columbus") if row < 4 else ()):
            canvas.drawString(66 + 160 * column, 484 - 22 * row, f"{word} {row + 1}0{column}")
    for column in range(4 if dots else 0):
        canvas.line(60 + 160 * column, 500, 60 + 160 * column, 412)
    canvas.save()
    return output.getvalue()


def test_the_dots_of_leaders_and_rules_are_removed_and_the_print_remains():
    dotted, plain = (np.asarray(render(make_dotted_form(dots=dots), 300)) for dots in (True, False))
    variant, _ = normalise_page(PageRaster(soft(dotted), 300), PAGE)
    assert CorrectionKind.DOTTED_LINES in [each.kind for each in variant.page.corrections]
    ink, print_only = variant.raster.grey < 128, soft(plain) < 128
    assert np.count_nonzero(ink & ~print_only) < 0.05 * np.count_nonzero(dotted != plain)
    assert np.count_nonzero(print_only & ~ink) < 0.01 * np.count_nonzero(print_only)


def test_the_dots_of_print_remain():
    lines = ["i. j. e. g. i.e. ... a.b.c.d.e.f.g.h. 1.2.3.4.5.6.7 : : ; ; iii xiii"] * 20
    grey = soft(np.asarray(render(make_pdf(lines=lines), 300)))
    assert CorrectionKind.DOTTED_LINES not in list_corrections(grey)


def test_no_letter_of_small_print_is_taken_for_a_dot():
    pages = [make_pdf(lines=TEXT * 2)] * 4
    grey = soft(np.asarray(render(place_four_on_a_sheet(pages), 300)))
    assert CorrectionKind.DOTTED_LINES not in list_corrections(grey)
