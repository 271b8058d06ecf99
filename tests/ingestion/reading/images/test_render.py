"""Rasters of PDF pages, in grey and in colour, and measurements of their brightness."""

import io

import cv2
import numpy as np
import pypdfium2
import pytest
from PIL import ImageDraw
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingestion.reading.images.binarise import measure_percentile
from ingestion.reading.images.render import render_page
from ingestion.reading.limits import ReadingLimits
from tests.ingestion.reading.documents import make_pdf, make_scan, render

LIMITS = ReadingLimits()


@pytest.fixture(scope="module")
def picture():
    return render(make_pdf())


def raster_of(content, dpi=150):
    with pypdfium2.PdfDocument(content) as pdf:
        return render_page(pdf[0], dpi, LIMITS, in_colour=True)


def drawn_in_colour(content, dpi=150):
    """Return the grey pixels of a page that pdfium draws in colour."""
    with pypdfium2.PdfDocument(content) as pdf:
        pixels = pdf[0].render(scale=dpi / 72).to_numpy()
        return cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_BGR2GRAY)


@pytest.mark.parametrize("mode", ["L", "1"])
@pytest.mark.parametrize("dpi", [110, 150, 200])
def test_a_grey_scan_has_the_same_pixels_as_if_it_were_drawn_in_colour(picture, mode, dpi):
    output = io.BytesIO()
    picture.convert(mode).save(output, "PDF", resolution=200)  # as JPEG, or as a fax
    content = output.getvalue()
    raster = raster_of(content, dpi)
    assert raster.colour is None
    assert np.array_equal(raster.grey, drawn_in_colour(content, dpi))


def test_a_coloured_stamp_on_a_scan_keeps_its_colour(picture):
    coloured = picture.convert("RGB")
    ImageDraw.Draw(coloured).rectangle((300, 300, 600, 400), fill=(200, 20, 30))
    assert raster_of(make_scan(coloured)).colour is not None


def test_coloured_text_over_a_grey_scan_keeps_its_colour(picture):
    output = io.BytesIO()
    canvas = Canvas(output, (612, 792))
    canvas.drawImage(ImageReader(picture), 0, 0, 612, 792)
    canvas.setFillColorRGB(0.9, 0.1, 0.1)
    canvas.drawString(300, 400, "RECEIVED")
    canvas.save()
    assert raster_of(output.getvalue()).colour is not None


@pytest.mark.parametrize("percent", [50, 90])
def test_a_percentile_of_an_image_is_that_of_numpy(percent):
    generator = np.random.default_rng(1)
    for side in range(1, 40):
        grey = generator.integers(0, 6 * side, (side, side + 3), np.uint8)
        assert measure_percentile(grey, percent) == np.percentile(grey, percent)
