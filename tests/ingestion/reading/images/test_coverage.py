"""Print outside of all words, which shows that OCR omitted something."""

import cv2
import numpy as np
import pytest

from ingestion.reading.images.binarise import flatten_background
from ingestion.reading.images.coverage import measure_uncovered_share
from ingestion.reading.images.render import PageRaster
from ingestion.reading.ocr.passes import MAX_UNCOVERED_SHARE
from ingestion.reading.results import Box, Word
from tests.ingestion.reading.documents import LINES, make_pdf, make_scan, read, render, save, shade

TEXT = (*LINES, *(f"{number}. {line}" for number, line in enumerate(LINES, start=1)))


def seen(picture, dpi=200):
    return flatten_background(PageRaster(np.asarray(picture), dpi))


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """Return the words of the born-digital page with their places."""
    path = save(tmp_path_factory.mktemp("typed"), make_pdf(lines=TEXT))
    return read(path).pages[0].words


@pytest.mark.parametrize("signed", [True, False])
def test_nothing_is_uncovered_on_a_page_whose_words_are_known(words, signed):
    assert measure_uncovered_share(seen(render(make_pdf(lines=TEXT, signed=signed))), words) < 0.01


def test_print_without_words_is_uncovered_in_proportion_to_its_ink(words):
    half = words[: len(words) // 2]
    assert 0.4 < measure_uncovered_share(seen(render(make_pdf(lines=TEXT))), half) < 0.6
    assert measure_uncovered_share(seen(render(make_pdf(lines=TEXT))), ()) == 1.0


def test_rules_boxes_blots_and_the_scanners_edge_are_not_letters(words):
    grey = np.array(render(make_pdf(lines=TEXT)))
    cv2.rectangle(grey, (120, 1200), (1580, 1700), 100, 2)
    for x in range(120, 1580, 120):
        cv2.line(grey, (x, 1200), (x, 1700), 100, 2)
    cv2.circle(grey, (800, 1900), 60, 60, -1)
    grey[:, :40] = 50
    assert measure_uncovered_share(seen(grey), words) < 0.01


def test_one_missing_word_on_a_page_with_little_print_is_a_small_share():
    page = seen(render(make_pdf(lines=("Divider",))))
    heading_only = Word("Divider", Box(60, 70, 130, 100), 96.0)
    rest = Word("Signature of Investigator", Box(60, 580, 240, 610), 96.0)
    assert measure_uncovered_share(page, [rest]) < MAX_UNCOVERED_SHARE
    assert measure_uncovered_share(page, [heading_only, rest]) == 0.0


@pytest.mark.slow
def test_a_page_whose_half_is_in_the_shade_is_read_completely(tmp_path):
    picture = shade(render(make_pdf(lines=TEXT, signed=True)))
    page = read(save(tmp_path, make_scan(picture))).pages[0]
    assert "and with the principles of Good Clinical Practice." in page.text.splitlines()
    assert "SLX-301" in page.text
    assert page.uncovered < 0.02
