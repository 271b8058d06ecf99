import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ingestion.reading.images.binarise import flatten_background, is_blank
from ingestion.reading.images.marks import find_marks
from ingestion.reading.images.render import PageRaster
from ingestion.reading.results import Box, Word
from tests.ingestion.reading.documents import make_pdf, read, render, save

PAPER = (1100, 850)  # pixels of a letter page at 100 dpi


def plain(level=255):
    return np.full(PAPER, level, np.uint8)


def noisy(picture, seed=1):
    noise = np.random.default_rng(seed).normal(-8, 6, (picture.height, picture.width))
    pixels = np.clip(np.asarray(picture, np.float64) + noise, 0, 255)
    return Image.fromarray(pixels.astype(np.uint8))


def is_over_the_line(mark):
    return mark.top < 792 - 210 < mark.bottom + 8 and 60 < mark.left < mark.right < 330


def test_a_signature_is_a_mark_and_print_is_not(tmp_path):
    (mark,) = read(save(tmp_path, make_pdf(signed=True))).pages[0].marks
    assert is_over_the_line(mark)
    assert read(save(tmp_path, make_pdf())).pages[0].marks == ()


@pytest.mark.parametrize("confidence", [45, 77])
def test_a_signature_that_ocr_reads_as_a_word_is_a_mark(confidence):
    picture = PageRaster(np.asarray(render(make_pdf(signed=True), dpi=200)), 200)
    printed = [Word("print", Box(72 + 40 * n, 82, 108 + 40 * n, 92), 96) for n in range(5)]
    signature = Word("CHC", Box(85, 540, 220, 580), confidence)
    marks = find_marks(flatten_background(picture), [*printed, signature])
    assert any(is_over_the_line(mark) for mark in marks)


def test_a_large_heading_of_a_text_layer_is_not_a_mark():
    grey = plain()
    cv2.putText(grey, "PROTOCOL", (100, 200), cv2.FONT_HERSHEY_SIMPLEX, 2.0, 0, 4)
    heading = Word("PROTOCOL", Box(68, 108, 290, 148), 100.0)
    printed = [Word("print", Box(72 + 40 * n, 300, 108 + 40 * n, 308), 100.0) for n in range(5)]
    assert find_marks(flatten_background(PageRaster(grey, 100)), [*printed, heading]) == ()


@pytest.mark.slow
@pytest.mark.parametrize("askew", [-1.5, 0.7])
def test_a_signature_is_a_mark_on_a_scan_that_is_askew_and_noisy(tmp_path, askew):
    def scanned(**what):
        picture = render(make_pdf(**what)).rotate(askew, Image.Resampling.BICUBIC, fillcolor=255)
        path = tmp_path / "scan.jpg"
        noisy(picture).save(path, quality=70, dpi=(200, 200))
        return read(path).pages[0]

    assert [is_over_the_line(mark) for mark in scanned(signed=True).marks] == [True]
    assert scanned().marks == ()


def test_rules_and_boxes_are_not_marks():
    grey = plain()
    grey[300, 50:800] = grey[300:800, 400] = grey[500:502, 50:800] = 90
    assert find_marks(flatten_background(PageRaster(grey, 100)), ()) == ()


def test_a_pale_watermark_is_not_a_mark():
    grey = plain()
    grey[400:500, 200:600] = 225
    assert find_marks(flatten_background(PageRaster(grey, 100)), ()) == ()


def test_a_solid_block_is_not_a_mark():
    grey = plain()
    grey[400:440, 200:300] = 0
    assert find_marks(flatten_background(PageRaster(grey, 100)), ()) == ()


def test_a_signature_that_ocr_read_with_low_confidence_is_a_mark(tmp_path):
    picture = PageRaster(np.asarray(render(make_pdf(signed=True), dpi=100)), 100)
    printed = read(save(tmp_path, make_pdf())).pages[0].words
    misread = Word("lll", Box(88, 545, 215, 585), 31.0)
    (mark,) = find_marks(flatten_background(picture), (*printed, misread))
    assert is_over_the_line(mark)


def test_a_word_of_low_confidence_in_a_line_of_print_is_not_a_mark(tmp_path):
    picture = PageRaster(np.asarray(render(make_pdf(), dpi=100)), 100)
    words = read(save(tmp_path, make_pdf())).pages[0].words
    unsure = [Word(word.text, word.box, 30.0 if word.text == "agree" else 95.0) for word in words]
    assert find_marks(flatten_background(picture), unsure) == ()


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(235, 255))
def test_a_scanned_sheet_without_ink_is_blank(seed, level):
    noise = np.random.default_rng(seed).normal(0, 5, PAPER)
    assert is_blank(
        flatten_background(PageRaster(np.clip(level + noise, 0, 255).astype(np.uint8), 100))
    )


def test_a_page_with_punch_holes_and_the_scanners_edge_is_blank():
    grey = plain(245)
    grey[:, :15] = 20
    grey[300:325, 18:34] = 40
    assert is_blank(flatten_background(PageRaster(grey, 100)))


def test_one_line_of_print_is_not_blank():
    picture = render(make_pdf(lines=("Page intentionally left blank",)), dpi=100)
    assert not is_blank(flatten_background(PageRaster(np.asarray(picture), 100)))
