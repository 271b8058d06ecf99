"""Tests of parts of files: their identity, and the account of every page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.core.file_parts import (
    AccountFault,
    Division,
    DocumentPart,
    FilePart,
    PageExclusion,
    PageUse,
    find_account_faults,
)

LEFT, RIGHT = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)


def parts(*ranges):
    return [FilePart(*each) for each in ranges]


def test_the_doc_id_of_a_part_names_its_pages_and_its_region():
    assert FilePart(3, 5).suffix == "#3-5"
    assert FilePart(3, 3, LEFT).suffix == "#3-3@0,0,50,100"


@pytest.mark.parametrize("part", [FilePart(3, 5), FilePart(2, 2, (0.0, 0.25, 1.0, 0.3333))])
def test_a_part_is_read_from_its_columns(part):
    assert FilePart.parse(part.first, part.last, part.region_text) == part


@pytest.mark.parametrize(
    "arguments", [(0, 1), (3, 2), (1, 2, LEFT), (1, 1, (0.5, 0, 0.5, 1)), (1, 1, (0, 0, 1.2, 1))]
)
def test_what_is_no_part_of_a_file_is_refused(arguments):
    with pytest.raises(ValueError, match="no "):
        FilePart(*arguments)


def test_a_page_that_belongs_to_nothing_and_one_that_belongs_to_two_parts_are_faults():
    faults = find_account_faults(range(1, 7), parts((1, 2), (2, 3), (5, 5)), parts((7, 7)))
    missing = {4: True, 6: True}
    assert list(faults) == [AccountFault(page, missing.get(page, False)) for page in (2, 4, 6, 7)]


def test_the_regions_of_a_page_cover_it_and_do_not_overlap():
    half, other = FilePart(1, 1, LEFT), FilePart(1, 1, RIGHT)
    assert not list(find_account_faults([1], [half], [other]))
    assert list(find_account_faults([1], [half], [])) == [AccountFault(1, is_missing=True)]
    wide = FilePart(1, 1, (0.4, 0.0, 1.0, 1.0))
    assert list(find_account_faults([1], [half, wide], [])) == [AccountFault(1, is_missing=False)]
    whole = FilePart(1, 1)
    assert list(find_account_faults([1], [whole, half], [])) == [AccountFault(1, is_missing=False)]


def test_a_division_is_read_as_it_was_stored():
    division = Division(
        (DocumentPart(FilePart(1, 2), "cv"), DocumentPart(FilePart(4, 4, LEFT))),
        (
            PageExclusion(FilePart(3, 3), PageUse.SET_ASIDE, "a fax cover sheet"),
            PageExclusion(FilePart(4, 4, RIGHT), PageUse.BLANK),
        ),
    )
    assert Division.from_json(division.as_json()) == division
    assert division.find_faults(range(1, 5)) == []


@given(st.data())
def test_exactly_the_divisions_that_use_each_page_once_have_no_fault(data):
    """Each page of a file is used any number of times; the account says which are not used once."""
    count = data.draw(st.integers(1, 12))
    pages = st.integers(1, count)
    ranges = data.draw(st.lists(st.tuples(pages, pages).map(sorted), max_size=8))
    excluded = data.draw(st.lists(pages, max_size=4))
    used = [number for first, last in ranges for number in range(first, last + 1)] + excluded
    division = Division(
        tuple(DocumentPart(FilePart(first, last)) for first, last in ranges),
        tuple(PageExclusion(FilePart(page, page), PageUse.BLANK) for page in excluded),
    )
    expected = {page: used.count(page) for page in range(1, count + 1) if used.count(page) != 1}
    faults = {fault.page: fault.is_missing for fault in division.find_faults(range(1, count + 1))}
    assert faults == {page: uses == 0 for page, uses in expected.items()}
