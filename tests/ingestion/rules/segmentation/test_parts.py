"""Tests of the division of a file: every page is accounted for, and every part has its verdict."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.reading.pdf.lazy import LazyMarks, LazySquares
from ingestion.reading.results import Box, SignatureResult
from ingestion.rules.checks.check_input import SenderFacts
from ingestion.rules.checks.submission import SCHEMA_VERSIONS
from ingestion.rules.checks.verdict import check_file, check_part
from ingestion.rules.segmentation.page_regions import cut_out
from ingestion.rules.segmentation.parts import PagePart, ProposedCut, propose_cut, select_pages
from ingestion.rules.segmentation.separators import Separator
from tests.ingestion.rules.documents import COMPLETE, make_document, make_signature
from tests.ingestion.rules.pages import SITE, make_page, make_reading

TODAY = date(2026, 11, 20)
SENT = SenderFacts(SCHEMA_VERSIONS[-1], person="")
SLUGS = sorted(COMPLETE)


def page_of(slug, number, **more):
    lines, caption = COMPLETE[slug]
    return make_page(*lines, signed=caption, number=number, **more)


def any_page(number):
    return st.one_of(
        st.sampled_from(SLUGS).map(lambda slug: page_of(slug, number)),
        st.just(make_page(number=number, is_blank=True)),
        st.just(make_page("It continues here, as before.", number=number)),
        st.tuples(st.integers(1, 3), st.integers(1, 3)).map(
            lambda of: make_page("Findings", f"Page {of[0]} of {of[1]}", number=number)
        ),
    )


@st.composite
def files(draw):
    count = draw(st.integers(0, 7))
    return make_reading(*(draw(any_page(number)) for number in range(1, count + 1)))


@given(files())
def test_each_page_is_in_one_part_or_is_a_separator_or_blank(reading):
    cut = propose_cut(reading)
    whole_pages = [*cut.separators, *cut.blanks]
    regions = {}
    for part in cut.parts:
        if part.region is None:
            whole_pages += range(part.first, part.last + 1)
        else:
            assert part.first == part.last
            left, top, right, bottom = part.region
            area = (right - left) * (bottom - top)
            regions[part.first] = regions.get(part.first, 0.0) + area
    assert sorted([*whole_pages, *regions]) == [page.number for page in reading.pages]
    assert all(area == pytest.approx(1.0) for area in regions.values())


@given(files())
def test_the_division_is_the_same_each_time(reading):
    assert propose_cut(reading) == propose_cut(reading)


@pytest.mark.parametrize("slug", SLUGS)
def test_a_part_has_the_verdict_of_the_same_document_in_a_file_of_its_own(slug):
    alone = check_file(make_document(slug), SENT, site=SITE, today=TODAY)
    before = page_of("cv" if slug != "cv" else "medical-licence", 1)
    reading = make_reading(before, page_of(slug, 2))
    verdict = check_part(reading, PagePart(2, 2), SENT, site=SITE, today=TODAY)
    assert verdict.state == alone.verdict.state
    assert [finding.code for finding in verdict.findings] == [
        finding.code for finding in alone.verdict.findings
    ]
    assert {each.name: each.value for each in verdict.fields} == {
        each.name: each.value for each in alone.verdict.fields
    }
    assert {each.page for each in verdict.fields if each.page} <= {2}


def test_a_file_with_one_document_is_certainly_one():
    checked = check_file(make_document("medical-licence"), SENT, site=SITE, today=TODAY)
    assert checked.cut.is_one_document
    assert checked.cut.is_certain


def test_the_verdict_on_each_part_of_a_file_names_pages_of_the_file():
    reading = make_reading(page_of("irb-approval", 1), page_of("medical-licence", 2))
    checked = check_file(reading, SENT, site=SITE, today=TODAY)
    assert [(part.first, part.last) for part in checked.cut.parts] == [(1, 1), (2, 2)]
    first, second = (
        check_part(reading, part, SENT, site=SITE, today=TODAY) for part in checked.cut.parts
    )
    assert (first.document_type, second.document_type) == ("irb-approval", "medical-licence")
    assert {value.page for value in second.fields} == {2}
    assert checked.verdict.state == "IN_REVIEW"


def test_a_digitally_signed_file_is_never_cut():
    pages = page_of("irb-approval", 1), page_of("medical-licence", 2)
    signature = make_signature(SignatureResult.TRUSTED)
    reading = make_reading(*pages, flags=["digital-signature"], signatures=[signature])
    cut = propose_cut(reading)
    assert [(part.first, part.last) for part in cut.parts] == [(1, 2)]
    assert not cut.is_certain
    assert cut.reasons == ("signed-file",)
    assert check_file(reading, SENT, site=SITE, today=TODAY).verdict.state == "IN_REVIEW"


def test_only_a_sheet_before_each_part_makes_a_confirmation_unnecessary():
    sheets = Separator("1001", "cv"), Separator("1001", "medical-licence")
    first, second = (PagePart(page, page, separator=each) for page, each in enumerate(sheets, 1))
    assert ProposedCut((first, second)).needs_no_confirmation
    assert not ProposedCut((first, second), is_certain=False).needs_no_confirmation
    assert not ProposedCut((first, PagePart(2, 2))).needs_no_confirmation
    assert not ProposedCut((PagePart(1, 1), PagePart(2, 2))).needs_no_confirmation
    assert not ProposedCut((PagePart(1, 2),)).needs_no_confirmation


def test_values_of_a_form_are_not_given_to_a_part():
    reading = make_reading(page_of("cv", 1), page_of("gcp-certificate", 2), fields={"name": "X"})
    assert select_pages(reading, PagePart(1, 1)).fields == {}
    assert select_pages(reading, PagePart(1, 2)).fields == {"name": "X"}


def test_positions_of_a_part_on_a_shared_sheet_are_those_on_the_sheet():
    lines = COMPLETE["medical-licence"][0]
    sheet = make_page(*[""] * 26, *lines)
    part = PagePart(1, 1, (0.0, 0.5, 1.0, 1.0))
    verdict = check_part(make_reading(sheet), part, SENT, site=SITE, today=TODAY)
    number = next(value for value in verdict.fields if value.name == "licence_number")
    words = [word.box for word in sheet.words if word.text == number.value]
    assert words
    assert number.box.top == pytest.approx(words[0].top)


def test_the_marks_of_half_a_sheet_are_searched_only_when_they_are_used():
    upper, lower = Box(50, 100, 90, 120), Box(50, 600, 90, 620)
    searched = []

    def search(found):
        searched.append(found)
        return found

    sheet = make_page(
        "Two pages on one sheet",
        marks=LazyMarks(lambda: [upper, lower], lambda area: search([area])),
        empty_squares=LazySquares(lambda: search([lower])),
    )
    half = cut_out(sheet, (0.0, 0.5, 1.0, 1.0))
    assert not searched
    moved = Box(50, 600 - sheet.height / 2, 90, 620 - sheet.height / 2)
    assert half.marks == (moved,)
    assert list(half.marks.near(moved)) == [moved]
    assert half.empty_squares == (moved,)
    assert len(searched) == 3
