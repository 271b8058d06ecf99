"""Tests of separator sheets: their text, the printed sheet, and the division by them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.documents.separator_sheet import separator_sheet
from ingestion.rules.checks.check_input import SenderFacts
from ingestion.rules.checks.verdict import SCHEMA_VERSIONS, check_file
from ingestion.rules.segmentation.parts import propose_cut
from ingestion.rules.segmentation.separators import Separator, find_separator, parse_separator
from samples.binders import make_binder
from samples.renditions import make_scan
from tests.ingestion.reading.documents import read
from tests.ingestion.rules.documents import COMPLETE
from tests.ingestion.rules.pages import SITE, TODAY, make_page, make_reading
from tests.ingestion.rules.printed_documents import make_printed

CV = Separator("1001", "cv", "Elena Márquez")
LICENCE = Separator("1001", "medical-licence")


@given(
    st.builds(
        Separator,
        st.text(min_size=1, max_size=12),
        st.from_regex(r"[a-z0-9-]{1,40}", fullmatch=True),
        st.text(max_size=40),
    )
)
def test_a_text_says_what_was_put_into_it(separator):
    assert parse_separator(separator.payload) == separator


@given(st.integers(0, len(CV.payload) - 1), st.sampled_from("ab:19%x"))
def test_a_misread_text_says_nothing(place, letter):
    misread = CV.payload[:place] + letter + CV.payload[place + 1 :]
    assert misread == CV.payload or parse_separator(misread) is None


def page_of(slug, number):
    return make_page(*COMPLETE[slug][0], number=number)


def sheet(separator, number):
    return make_page("Separator sheet", separator.payload, number=number)


def test_a_document_follows_each_separator_sheet():
    reading = make_reading(
        sheet(CV, 1),
        page_of("cv", 2),
        make_page("as before", "Page 2 of 2", number=3),
        sheet(LICENCE, 4),
        page_of("medical-licence", 5),
    )
    cut = propose_cut(reading)
    assert [(part.first, part.last, part.type) for part in cut.parts] == [
        (2, 3, "cv"),
        (5, 5, "medical-licence"),
    ]
    assert cut.separators == (1, 4)


def test_a_separator_sheet_declares_the_type_of_the_next_document():
    reading = make_reading(sheet(LICENCE, 1), page_of("irb-approval", 2))
    sent = SenderFacts(SCHEMA_VERSIONS[-1])
    (part,) = check_file(reading, sent, site=SITE, today=TODAY).parts
    assert part.verdict.primary.code == "DOC_TYPE_CONFLICT"


def test_a_missing_separator_sheet_is_a_doubt():
    reading = make_reading(sheet(CV, 1), page_of("cv", 2), page_of("irb-approval", 3))
    cut = propose_cut(reading)
    assert not cut.is_certain
    assert "separator-missing" in cut.reasons


def test_a_separator_sheet_without_a_document_is_a_doubt():
    cut = propose_cut(make_reading(page_of("cv", 1), sheet(LICENCE, 2)))
    assert (cut.is_certain, cut.separators) == (False, (2,))


def test_a_page_of_text_that_quotes_a_code_is_no_separator_sheet():
    assert find_separator(make_page(*["word " * 20] * 10, CV.payload)) is None


@pytest.mark.parametrize("turned", [0, 180])
@pytest.mark.parametrize("is_scan", [False, True])
def test_a_printed_sheet_is_found_in_a_file(tmp_path, is_scan, turned):
    content = make_binder([separator_sheet([CV]), make_printed(*COMPLETE["cv"][0])])
    if is_scan:
        if turned:
            content = make_binder([content], turned=[1])
            content = make_binder([content], turned=[1])
        content = make_scan(content, seed="separator")
    elif turned:
        pytest.skip("the text layer of a turned page is the same")
    path = tmp_path / "file.pdf"
    path.write_bytes(content)
    reading = read(path)
    assert find_separator(reading.pages[0]) == CV
    cut = propose_cut(reading)
    assert (cut.separators, [part.type for part in cut.parts]) == ((1,), ["cv"])
