"""Tests of the search of scanned pages for strike-outs."""

import io
from datetime import date

import cv2
import numpy as np
import pypdfium2
import pytest
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from ingestion.reading.images.binarise import flatten_background
from ingestion.reading.images.render import PageRaster
from ingestion.reading.images.strike_outs import find_strike_outs
from ingestion.reading.results import AddedMarkKind, Box, Word
from samples.documents import make_sample
from samples.ink import draw_signature
from samples.people_and_sites import SITES
from samples.scanned_marks import DPI, Scanner, print_pages, scan_pages, strike_by_hand
from tests.ingestion.reading.documents import read, save

WIDTH, HEIGHT = 612, 792
LEFT, BASELINE, SIZE = 100, 500, 11
LINES = (
    "The investigator keeps the log of the study",
    "Every page of the log is signed and dated",
    "Nobody else may change what is written here",
)
END = LEFT + stringWidth(LINES[1], "Helvetica", SIZE)
PEN = 1.3  # points


def level(share):
    """Return the height of a line at a share of the height of small letters."""
    return BASELINE + share * 0.52 * SIZE


def drawn(draw):
    """Return the places of strike-outs on a page with three lines of text, and what is drawn."""
    output = io.BytesIO()
    canvas = Canvas(output, (WIDTH, HEIGHT), invariant=1)
    canvas.setFont("Helvetica", SIZE)
    words = []
    for row, line in enumerate(LINES, -1):
        baseline = BASELINE - 16 * row
        canvas.drawString(LEFT, baseline, line)
        for start, word in places_of_words(line):
            right = start + stringWidth(word, "Helvetica", SIZE)
            top = HEIGHT - baseline - 0.72 * SIZE
            words.append(Word(word, Box(start, top, right, top + 0.95 * SIZE), 95.0))
    draw(canvas)
    canvas.save()
    grey = cv2.cvtColor(np.ascontiguousarray(print_pages(output.getvalue())[0]), cv2.COLOR_RGB2GRAY)
    raster = PageRaster(cv2.GaussianBlur(grey, (0, 0), 0.6), DPI)
    return find_strike_outs(raster, flatten_background(raster), words)


def places_of_words(line):
    at = 0
    for word in line.split():
        at = line.index(word, at)
        yield LEFT + stringWidth(line[:at], "Helvetica", SIZE), word
        at += len(word)


def line_at(height, start=LEFT, end=END, width=PEN):
    def draw(canvas):
        canvas.setLineWidth(width)
        canvas.line(start, height, end, height)

    return draw


@pytest.mark.parametrize("share", [0.4, 0.5, 0.6])
def test_a_line_through_the_middle_of_words_is_found_at_its_place(share):
    (found,) = drawn(line_at(level(share)))
    assert found.left == pytest.approx(LEFT, abs=4)
    assert found.right == pytest.approx(END, abs=4)
    assert found.top < HEIGHT - level(share) < found.bottom


def test_a_line_through_a_part_of_a_line_is_found():
    (found,) = drawn(line_at(level(0.5), LEFT + 40, LEFT + 140))
    assert found.left > LEFT + 30
    assert found.right < LEFT + 150


def test_text_without_a_line_has_no_strike_out():
    assert drawn(lambda canvas: None) == []


@pytest.mark.parametrize("share", [0.0, -0.2, -0.4])
@pytest.mark.parametrize("width", [0.6, PEN])
def test_a_line_under_words_is_no_strike_out(share, width):
    assert drawn(line_at(level(share) - width / 2, width=width)) == []


def test_a_rule_that_goes_on_beyond_the_words_is_no_strike_out():
    assert drawn(line_at(level(0.5), 20, WIDTH - 20)) == []


@pytest.mark.parametrize("height", [BASELINE - 6, BASELINE + 11])
def test_a_rule_between_lines_is_no_strike_out(height):
    assert drawn(line_at(height)) == []


def test_a_signature_is_no_strike_out():
    def draw(canvas):
        for row, name in enumerate(("Ann Smith", "J. T. Boudreaux", "Maria Ruiz", "W. Okafor")):
            draw_signature(canvas, name, (LEFT, 400 - 60 * row, 120, 30), name)

    assert drawn(draw) == []


def test_a_page_that_was_read_badly_is_not_searched():
    raster = PageRaster(np.full((2200, 1700), 255, np.uint8), DPI)
    words = [Word("a", Box(10, 10, 20, 20), 30.0)]
    assert find_strike_outs(raster, flatten_background(raster), words) == []


@pytest.mark.slow
def test_a_strike_out_on_a_scan_is_an_added_mark(tmp_path):
    content = make_sample("irb-approval", today=date(2026, 11, 1), site=SITES[0], seed=3)
    page = print_pages(content)[0]
    assert [
        mark for mark in marks_of(tmp_path, page) if mark.kind is AddedMarkKind.STRUCK_OUT
    ] == []
    struck = strike_by_hand(page, longest_text(content), seed="3")
    (mark,) = marks_of(tmp_path, struck)
    assert mark.kind is AddedMarkKind.STRUCK_OUT


def marks_of(tmp_path, page):
    path = save(tmp_path, scan_pages([page], Scanner.OFFICE_COLOUR, seed="3"))
    return read(path).pages[0].added_marks


def longest_text(content):
    """Return the place of the longest run of text in the body of page 1, shortened."""
    with pypdfium2.PdfDocument(content) as pdf:
        text = pdf[0].get_textpage()
        places = [text.get_rect(number) for number in range(text.count_rects())]
    left, bottom, right, top = max(places, key=lambda place: place[2] - place[0])
    return left, bottom, min(right, left + 150), top
