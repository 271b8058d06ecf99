"""Tests of the printed rows of a page, which tell whether a document begins with it."""

from dataclasses import replace

import pytest

from ingestion.reading.results import Box, TextSource
from ingestion.rules.segmentation.page_comparison import compare_pages
from ingestion.rules.segmentation.page_evidence import collect_evidence
from ingestion.rules.segmentation.page_regions import WordPlaces
from ingestion.rules.segmentation.print_rows import (
    HEAD_ROWS,
    describe_head,
    describe_rows,
    find_rows,
)
from tests.ingestion.rules.pages import make_page

PROSE = tuple(
    f"The samples of visit {week} are stored at the site until they are collected"
    for week in range(30)
)
TABLE = (
    "Document                          Version        Date",
    "Synopsis of the study             1.0            31 March 2026",
    "Diary of the participant          2.0            12 April 2026",
)


def described(*lines):
    return describe(make_page(*lines))


def describe(page):
    rows, width = list(find_rows(page)), WordPlaces(page.words).character_width
    return {**describe_head(page, rows[:HEAD_ROWS], width), **describe_rows(rows, width)}


def compare(page, other):
    return compare_pages(collect_evidence(page), [collect_evidence(other)], length=1, blanks=0)


def widened(page, row, factor):
    """Return the page with the characters of one row this much wider."""
    top = list(find_rows(page))[row].words[0].box.top
    words = tuple(
        word._replace(box=word.box._replace(right=word.box.left + factor * _width(word)))
        if word.box.top == top
        else word
        for word in page.words
    )
    return replace(page, words=words)


def _width(word):
    return word.box.right - word.box.left


def test_rows_are_found_from_top_to_bottom_and_read_from_left_to_right():
    page = make_page(*TABLE)
    columns = replace(page, words=tuple(sorted(page.words, key=lambda word: word.box.left)))
    assert [row.text for row in find_rows(columns)] == [" ".join(row.split()) for row in TABLE]


def test_the_rows_of_a_skewed_scan_stay_apart():
    page = make_page(*PROSE, source=TextSource.OCR)
    slope = 0.03  # the right end of a row is lower than the left end of the next one
    skewed = tuple(
        word._replace(
            box=Box(
                word.box.left,
                word.box.top + slope * word.box.left,
                word.box.right,
                word.box.bottom + slope * word.box.right,
            )
        )
        for word in page.words
    )
    rows = list(find_rows(replace(page, words=skewed)))
    assert [row.text for row in rows] == list(PROSE)


def test_a_page_without_words_has_no_rows():
    features = described()
    assert features["first row width"] == features["table rows"] == 0


@pytest.mark.parametrize(("row", "expected"), [(0, 2.0), (3, 2.0), (4, 1.0)])
def test_wide_characters_are_looked_for_in_the_first_rows(row, expected):
    page = widened(make_page(*PROSE), row, 2.0)
    features = describe(page)
    assert features["wide head"] == pytest.approx(expected, abs=0.05)


def test_rows_in_the_middle_of_the_page_are_centred():
    title = "CERTIFICATE OF REGISTRATION"
    assert described(title, *PROSE)["centred head"] == 0
    assert described(38 * " " + title, *PROSE)["centred head"] == 1


def test_a_table_is_recognised_by_the_gaps_between_its_columns():
    features = described(*TABLE)
    assert (features["first gaps"], features["last gaps"], features["table rows"]) == (2, 2, 1)
    features = described(*PROSE)
    assert (features["first gaps"], features["last gaps"], features["table rows"]) == (0, 0, 0)


def test_white_space_below_a_title_is_compared_with_that_between_all_rows():
    assert described(*PROSE)["head space"] == pytest.approx(1.0)
    assert described("LEASE", "", *PROSE)["head space"] == pytest.approx(2.0)


def test_rows_of_the_first_page_are_recognised_if_they_are_repeated_and_misread():
    first = make_page("Delegation Log", "Principal Investigator: Ann Example", *TABLE)
    misread = make_page("Delegation Lag", *TABLE, number=2)
    assert compare(misread, first)["repeated rows"] == 1
    assert compare(misread, first)["head rows of first"] == 4
    assert compare(make_page(*PROSE, number=2), first)["repeated rows"] == 0


def test_references_that_the_document_does_not_have_yet_are_counted():
    first = make_page("Certificate A-2107", "Licence 12345")
    features = compare(make_page("Certificate A-2107", "Licence 98765", number=2), first)
    assert (features["new references"], features["known references"]) == (1, 0.5)


def test_a_row_that_every_page_of_a_file_has_is_left_out():
    notice = "Printed by the document system"
    page = make_page(notice, *TABLE)
    evidence = collect_evidence(page, frozenset({"printedbythedocumentsystem"}))
    assert "printedbythedocumentsystem" not in evidence.rows
    assert evidence.features["first gaps"] == 2


def test_a_line_that_introduces_a_list_is_no_title():
    features = collect_evidence(make_page("The following documents were considered:", *TABLE))
    assert features.features["introduces"] == 1
    assert collect_evidence(make_page("Residential lease", *PROSE)).features["introduces"] == 0
