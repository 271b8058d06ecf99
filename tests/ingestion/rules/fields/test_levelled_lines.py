"""Tests of slightly skewed scans, which give the same values as straight ones."""

from dataclasses import replace
from math import cos, radians, sin, tan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion.reading.results import Box, TextSource
from ingestion.rules.fields.levelled_lines import level_lines, measure_slope, measure_slopes
from tests.ingestion.rules.documents import COMPLETE, make_document
from tests.ingestion.rules.pages import checked, make_page, make_reading

LITTLE = st.floats(-2.0, 2.0)  # degrees clockwise
FORM = (
    "FINANCIAL DISCLOSURE FORM",
    "Certification of financial interests and arrangements of investigators (21 CFR Part 54)",
    "Name of investigator:                                                Margaret Whitfield, MD",
    "Role in the study:                                                   Principal Investigator",
    "Protocol number:                                                     SLX-301",
    "Site number:                                                         0203",
    "Institution:                                                         Cedar Ridge Center",
    "Sponsor:                                                             Selanex Therapeutics",
    "The answers cover you and your spouse and every child of yours for the period of the study",
)


def turned(page, degrees):
    """Rotate a page about its centre. The boxes around rotated words stay upright, as in OCR."""
    words = [word._replace(box=turned_box(word.box, page, degrees)) for word in page.words]
    marks = [turned_box(mark, page, degrees) for mark in page.marks]
    return replace(page, words=tuple(words), marks=tuple(marks), source=TextSource.OCR, dpi=200)


def turned_box(box, page, degrees):
    left, top, right, bottom = box
    across, down = page.width / 2, page.height / 2
    turn = radians(degrees)
    x, y = (left + right) / 2 - across, (top + bottom) / 2 - down
    x, y = across + x * cos(turn) - y * sin(turn), down + x * sin(turn) + y * cos(turn)
    wide, high = (right - left) / 2, (bottom - top) / 2 + abs(tan(turn)) * (right - left) / 2
    return Box(x - wide, y - high, x + wide, y + high)


def fields(reading, slug):
    verdict = checked(reading, declared=slug)
    return [(value.name, value.value, value.page) for value in verdict.fields]


def disclosure(degrees):
    verdict = checked(a_form(degrees), declared="financial-disclosure")
    return verdict.fields


def a_form(degrees):
    return make_reading(turned(make_page(*FORM), degrees))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("slug", sorted(COMPLETE))
@settings(max_examples=settings().max_examples // 5)  # for each of the types
@given(degrees=LITTLE)
def test_every_type_gives_the_same_fields_on_a_skewed_page(slug, degrees):
    document = make_document(slug)
    askew = replace(document, pages=tuple(turned(page, degrees) for page in document.pages))
    assert fields(askew, slug) == fields(document, slug)


@given(LITTLE)
def test_a_value_far_from_its_caption_is_found_on_a_skewed_page(degrees):
    read = {value.name: value.value for value in disclosure(degrees)}
    assert read["investigator"] == "Margaret Whitfield, MD"
    assert (read["protocol_number"], read["site_number"]) == ("SLX-301", "0203")


def test_the_position_of_a_value_is_that_on_the_skewed_page():
    (page,) = a_form(2.0).pages
    number = next(word.box for word in page.words if word.text == "SLX-301")
    value = next(value for value in disclosure(2.0) if value.name == "protocol_number")
    assert value.box == pytest.approx(number, abs=1.0)


@given(LITTLE)
def test_the_slope_of_a_page_is_measured_from_its_lines(degrees):
    (page,) = a_form(degrees).pages
    assert measure_slope(page) == pytest.approx(tan(radians(degrees)), abs=0.003)


def test_a_misread_line_does_not_change_the_slope():
    (page,) = a_form(0.0).pages
    words = list(page.words)
    words[-1] = words[-1]._replace(box=words[-1].box._replace(bottom=words[-1].box.bottom + 4))
    assert measure_slope(replace(page, words=tuple(words))) == 0.0


def test_a_page_with_a_text_layer_is_not_levelled():
    (page,) = a_form(2.0).pages
    reading = make_reading(replace(page, source=TextSource.NATIVE, dpi=0))
    assert level_lines(reading, measure_slopes(reading)) is reading


def test_a_few_words_are_not_enough_to_measure_the_slope():
    page = turned(make_page("Site number: 0203"), 2.0)
    assert measure_slope(page) == 0.0
