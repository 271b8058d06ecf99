"""Print below coloured stamps, and the words of the stamps."""

import numpy as np
import pytest
from PIL import Image

from ingestion.reading.results import AddedMarkKind, CorrectionKind
from samples.scanned_marks import Frame, RubberStamp, press_stamp, print_pages
from tests.ingestion.reading.documents import LINES, make_pdf, make_scan, read, save

DPI = 200
RED, BLUE = (0.8, 0.1, 0.15), (0.12, 0.2, 0.66)


def stamped(colour, **options):
    """Return a scan of a page with a stamp across its lines."""
    stamp = RubberStamp(
        lines=("RECEIVED",),
        phrase="RECEIVED",
        colour=colour,
        frame=Frame.RECTANGLE,
        size=34,
        place=(0.4, 0.83),
        **options,
    )
    page, _ = press_stamp(print_pages(make_pdf(signed=True), DPI)[0], stamp, DPI)
    return make_scan(Image.fromarray(page), dpi=DPI)


def kinds_of(page):
    return [correction.kind for correction in page.corrections]


@pytest.mark.parametrize(
    ("colour", "degrees"),
    [
        pytest.param(BLUE, 9.0, id="blue"),
        pytest.param(RED, -14.0, id="red", marks=pytest.mark.slow),
    ],
)
def test_print_below_a_coloured_stamp_is_read_and_the_stamp_is_found(tmp_path, colour, degrees):
    page = read(save(tmp_path, stamped(colour, degrees=degrees))).pages[0]
    lines = page.text.replace("| agree", "I agree").splitlines()  # as Tesseract may read it
    assert lines[: len(LINES)] == list(LINES)
    assert CorrectionKind.COLOURED_INK in kinds_of(page)
    assert AddedMarkKind.RECEIVED in [mark.kind for mark in page.added_marks]
    protocol = next(word.box for word in page.words if word.text == "Protocol")
    assert protocol.left == pytest.approx(72, abs=2)
    assert protocol.bottom == pytest.approx(792 - 676, abs=5)


@pytest.mark.slow
def test_the_words_of_a_stamp_between_lines_remain(tmp_path):
    lines = (*LINES[:2], "", "", *LINES[2:])
    stamp = RubberStamp(
        lines=("APPROVED",), phrase="APPROVED", colour=RED, size=24, place=(0.5, 0.82)
    )
    page, _ = press_stamp(print_pages(make_pdf(lines=lines), DPI)[0], stamp, DPI)
    read_page = read(save(tmp_path, make_scan(Image.fromarray(page), dpi=DPI))).pages[0]
    assert "APPROVED" in read_page.text.split()


@pytest.mark.slow
def test_a_page_without_colour_is_read_as_it_is(tmp_path):
    grey = Image.fromarray(np.asarray(print_pages(make_pdf(), DPI)[0])).convert("L")
    page = read(save(tmp_path, make_scan(grey, dpi=DPI))).pages[0]
    assert CorrectionKind.COLOURED_INK not in kinds_of(page)
