"""Pages of unusual tone: faint, inverted or on dark paper; and blank pages."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingestion.reading.images.normalise.tone import measure_tone, normalise_tone
from ingestion.reading.images.render import PageRaster
from ingestion.reading.ocr.engines import get_engine
from ingestion.reading.ocr.page import read_page_image
from ingestion.reading.results import Box, PageReading, TextSource
from tests.ingestion.reading.documents import LINES, make_pdf, read, render, save
from tests.marks import slower

DPI = 200
SIGNED_AT = Box(80, 535, 225, 585)  # points
HEIGHT, WIDTH = 2200, 1700  # pixels of a letter page


def with_contrast(share, paper=240):
    return lambda grey: paper - (255 - grey) / 255 * paper * share


def inverted(grey):
    return 255 - grey


def shaded(grey):
    """Return the page with half of the light on the right, as under a shadow."""
    return grey * np.linspace(1, 0.5, grey.shape[1])


TONES = {
    "28 % contrast": with_contrast(0.28),
    "20 % contrast": with_contrast(0.20),
    "inverted": inverted,
    "28 % contrast, inverted": lambda grey: inverted(with_contrast(0.28)(grey)),
    "28 % contrast on grey paper": with_contrast(0.28, paper=150),
    "28 % contrast under a shadow": lambda grey: shaded(with_contrast(0.28)(grey)),
    "dark photograph": lambda grey: grey * 0.35 + 8,
    "fax in negative": lambda grey: np.where(grey < 140, 255.0, 0.0),
}


def noisy(pixels, deviation=3.0):
    noise = np.random.default_rng(7).normal(0, deviation, pixels.shape)
    return np.clip(pixels + noise, 0, 255).astype(np.uint8)


def paper_of_tone(tone, **what):
    pixels = TONES[tone](np.asarray(render(make_pdf(**what), dpi=DPI), np.float64))
    return pixels.astype(np.uint8) if tone == "fax in negative" else noisy(pixels)


def read_pixels(pixels):
    picture = PageRaster(pixels, DPI)
    page = PageReading(1, picture.width, picture.height, "", TextSource.NATIVE)
    return read_page_image(picture, page, get_engine("auto", "eng"), 30.0)


QUICK_TONES = {"20 % contrast", "28 % contrast under a shadow", "inverted", "fax in negative"}
every_tone = pytest.mark.parametrize(
    "tone", [tone if tone in QUICK_TONES else slower(tone) for tone in TONES]
)


@pytest.mark.sampled(4)
@every_tone
def test_a_page_of_any_tone_is_read_and_its_signature_is_found(tone):
    page = read_pixels(paper_of_tone(tone, signed=True))
    assert not page.is_blank
    assert "Protocol number SLX-301, version 3.0 dated 12 August 2024" in page.text.splitlines()
    assert any(mark.intersects(SIGNED_AT) for mark in page.marks)


@pytest.mark.sampled(4)
@every_tone
def test_no_signature_is_found_on_an_unsigned_page_of_any_tone(tone):
    page = read_pixels(paper_of_tone(tone))
    assert "Site number 1001" in page.text
    assert not any(mark.intersects(SIGNED_AT) for mark in page.marks)


def with_hidden_text(picture):
    """Return a PDF of one image, with the text of another OCR engine in invisible mode."""
    output = io.BytesIO()
    canvas = Canvas(output, (612, 792))
    canvas.drawImage(ImageReader(picture), 0, 0, 612, 792)
    text = canvas.beginText(72, 700)
    text.setTextRenderMode(3)
    text.setFont("Helvetica", 12)
    text.setLeading(24)
    for line in LINES:
        text.textLine(line)
    canvas.drawText(text)
    canvas.save()
    return output.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("tone", ["28 % contrast", "inverted"])
def test_a_signature_is_found_on_a_scan_with_an_ocr_layer(tmp_path, tone):
    pages = [
        read(save(tmp_path, with_hidden_text(Image.fromarray(paper_of_tone(tone, signed=signed)))))
        for signed in (True, False)
    ]
    assert [page.pages[0].source for page in pages] == [TextSource.OCR_LAYER] * 2
    seen = [any(mark.intersects(SIGNED_AT) for mark in page.pages[0].marks) for page in pages]
    assert seen == [True, False]


def test_a_page_of_usual_tone_is_not_changed():
    picture = PageRaster(np.asarray(render(make_pdf(signed=True), dpi=DPI)), DPI)
    assert normalise_tone(picture, measure_tone(picture)) is picture


def sheet_of(level):
    return np.full((HEIGHT, WIDTH), level, np.float64)


def with_holes(pixels):
    for y in (0.3, 0.7):
        cv2.circle(pixels, (int(WIDTH * 0.03), int(HEIGHT * y)), 20, 30.0, -1)
    return pixels


def with_edge(pixels):
    pixels[:, -34:] = 60
    pixels[:33] = 90
    return pixels


def with_dust(pixels):
    places = np.random.default_rng(3).integers(0, (HEIGHT, WIDTH), (60, 2))
    for y, x in places:
        pixels[y : y + 3, x : x + 3] = 60
    return pixels


def shining_through(contrast):
    """Return a page with print that shines through from the back: blurred and mirrored."""
    printed = np.asarray(render(make_pdf(signed=True), dpi=DPI), np.float64)[:, ::-1]
    return cv2.GaussianBlur(with_contrast(contrast, paper=245)(printed), (0, 0), 2.2)


BLANK = {
    "white": sheet_of(255),
    "grain": sheet_of(245),
    "grey": sheet_of(145),
    "dark card": sheet_of(95),
    "holes": with_holes(sheet_of(245)),
    "edge": with_edge(sheet_of(245)),
    "dust": with_dust(sheet_of(245)),
    "shadow": shaded(sheet_of(245)),
    "other side": shining_through(0.08),
    "printed other side": shining_through(0.14),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", BLANK)
def test_a_page_without_ink_of_its_own_is_blank(kind):
    page = read_pixels(noisy(BLANK[kind], 4.0))
    assert (page.is_blank, page.text, page.source) == (True, "", TextSource.NATIVE)


@pytest.mark.parametrize("deviation", [8.0, slower(12.0)])
def test_a_page_with_coarse_grain_is_blank(deviation):
    assert read_pixels(noisy(sheet_of(230), deviation)).is_blank


def dark_cover():
    pixels = np.full((HEIGHT, WIDTH), 40, np.uint8)
    cv2.rectangle(pixels, (100, 1400), (1500, 1900), 210, -1)
    return pixels


def photograph():
    tiles = np.random.default_rng(5).integers(20, 150, (22, 17), np.uint8)
    return cv2.resize(tiles, (WIDTH, HEIGHT), interpolation=cv2.INTER_NEAREST)


def half_in_negative():
    pixels = np.full((HEIGHT, WIDTH), 245, np.uint8)
    pixels[: HEIGHT // 2] = 30
    cv2.putText(pixels, "white on black", (200, 500), cv2.FONT_HERSHEY_SIMPLEX, 4, 240, 9)
    return pixels


def footer_only():
    pixels = np.full((HEIGHT, WIDTH), 250, np.uint8)
    text = "A form of nine sections, page 11 of 11"
    cv2.putText(pixels, text, (400, HEIGHT - 40), cv2.FONT_HERSHEY_SIMPLEX, 0.9, 20, 2)
    return pixels


@pytest.mark.sampled(4)
@pytest.mark.parametrize("make", [dark_cover, photograph, half_in_negative, footer_only])
def test_a_page_that_shows_something_is_not_blank(make):
    assert not read_pixels(make()).is_blank
