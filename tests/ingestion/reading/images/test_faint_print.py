"""Faint print beside dark print, which OCR omits."""

import numpy as np
import pytest

from ingestion.reading.images.render import PageRaster
from ingestion.reading.ocr.engines import get_engine
from ingestion.reading.ocr.page import read_page_image
from ingestion.reading.results import CorrectionKind, PageReading, TextSource
from tests.ingestion.reading.documents import LINES, make_pdf, render

DPI = 200
TEXT = LINES * 3


def page_with_a_dark_logo(contrast, *, grain=1.0):
    """Return a page whose print has this contrast to the paper, below a black bar."""
    grey = np.asarray(render(make_pdf(lines=TEXT), DPI)).astype(np.float32)
    faint = 250 - contrast * (255 - grey)
    faint[90:130, 150:600] = 20
    noise = np.random.default_rng(1).normal(0, grain, grey.shape)
    return np.clip(faint + noise, 0, 255).astype(np.uint8)


def read(grey):
    raster = PageRaster(grey, DPI)
    page = PageReading(1, raster.width, raster.height, "", TextSource.NATIVE)
    return read_page_image(raster, page, get_engine("auto", "eng"), 300.0)


@pytest.mark.parametrize(
    "contrast", [0.15, *(pytest.param(value, marks=pytest.mark.slow) for value in (0.1, 0.28))]
)
def test_faint_print_beside_dark_ink_is_read(contrast):
    page = read(page_with_a_dark_logo(contrast))
    assert not page.is_blank
    assert page.text.splitlines().count(LINES[1]) == 3
    assert CorrectionKind.CONTRAST in [correction.kind for correction in page.corrections]


@pytest.mark.slow
def test_print_that_shines_through_from_the_back_is_no_faint_print():
    front = np.asarray(render(make_pdf(lines=LINES), DPI)).astype(np.float32)
    back = np.asarray(render(make_pdf(lines=TEXT), DPI)).astype(np.float32)[:, ::-1]
    page = read(np.minimum(front, 255 - 0.1 * (255 - back)).astype(np.uint8))
    assert page.text.splitlines()[:3] == list(LINES[:3])
    assert len(page.text.split()) < 2 * sum(len(line.split()) for line in LINES)
