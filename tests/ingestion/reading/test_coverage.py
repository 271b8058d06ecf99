"""Print that no word accounts for tells that OCR passed something over."""

import cv2
import numpy as np
import pytest

from ingestion.reading.images.binarise import flatten_background
from ingestion.reading.images.coverage import uncovered_share
from ingestion.reading.images.render import PageRaster
from ingestion.reading.ocr.page import MAX_UNCOVERED_SHARE
from ingestion.reading.results import Box, Word
from tests.ingestion.reading.documents import LINES, picture_of, pictured, read, save, shaded, typed

TEXT = (*LINES, *(f"{number}. {line}" for number, line in enumerate(LINES, start=1)))


def seen(picture, dpi=200):
    return flatten_background(PageRaster(np.asarray(picture), dpi))


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """Of the typed page: each where it is printed."""
    path = save(tmp_path_factory.mktemp("typed"), typed(lines=TEXT))
    return read(path).pages[0].words


@pytest.mark.parametrize("signed", [True, False])
def test_of_a_page_whose_words_are_known_nothing_is_uncovered(words, signed):
    assert uncovered_share(seen(picture_of(typed(lines=TEXT, signed=signed))), words) < 0.01


def test_what_no_word_stands_for_is_its_share_of_the_print(words):
    half = words[: len(words) // 2]
    assert 0.4 < uncovered_share(seen(picture_of(typed(lines=TEXT))), half) < 0.6
    assert uncovered_share(seen(picture_of(typed(lines=TEXT))), ()) == 1.0


def test_rules_boxes_blots_and_the_scanners_edge_are_no_letters(words):
    grey = np.array(picture_of(typed(lines=TEXT)))
    cv2.rectangle(grey, (120, 1200), (1580, 1700), 100, 2)
    for x in range(120, 1580, 120):
        cv2.line(grey, (x, 1200), (x, 1700), 100, 2)
    cv2.circle(grey, (800, 1900), 60, 60, -1)
    grey[:, :40] = 50
    assert uncovered_share(seen(grey), words) < 0.01


def test_on_a_page_with_hardly_any_print_one_word_is_no_share():
    page = seen(picture_of(typed(lines=("Divider",))))
    heading_only = Word("Divider", Box(60, 70, 130, 100), 96.0)
    rest = Word("Signature of Investigator", Box(60, 580, 240, 610), 96.0)
    assert uncovered_share(page, [rest]) < MAX_UNCOVERED_SHARE
    assert uncovered_share(page, [heading_only, rest]) == 0.0


def test_half_a_page_in_the_shade_is_read_after_all(tmp_path):
    picture = shaded(picture_of(typed(lines=TEXT, signed=True)))
    page = read(save(tmp_path, pictured(picture))).pages[0]
    assert "and with the principles of Good Clinical Practice." in page.text.splitlines()
    assert "SLX-301" in page.text
    assert page.uncovered < 0.02
