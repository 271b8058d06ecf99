"""Tests of separator sheets: the text of their codes, and the division of a file at the sheets."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.rules.checks.check_input import SenderFacts
from ingestion.rules.checks.submission import SCHEMA_VERSIONS
from ingestion.rules.checks.verdict import check_file
from ingestion.rules.segmentation.parts import propose_cut
from ingestion.rules.segmentation.separators import (
    MARKER,
    MAX_SHEET_WORDS,
    Separator,
    parse_separator,
)
from tests.ingestion.rules.documents import COMPLETE, make_signature
from tests.ingestion.rules.pages import SITE, TODAY, make_page, make_reading

CV = Separator(SITE.site_id, "cv", "Elena Márquez")
LICENCE = Separator(SITE.site_id, "medical-licence")
LETTER = Separator(SITE.site_id, "irb-approval")


@given(
    st.builds(
        Separator,
        st.text(min_size=1, max_size=12),
        st.from_regex(r"[a-z0-9-]{1,40}", fullmatch=True),
        st.text(max_size=40),
    )
)
def test_a_code_announces_what_was_put_into_it(separator):
    assert parse_separator(separator.payload) == separator


@given(st.integers(0, len(CV.payload) - 1), st.sampled_from("ab:19%x"))
def test_a_damaged_code_announces_nothing(place, letter):
    damaged = CV.payload[:place] + letter + CV.payload[place + 1 :]
    assert damaged == CV.payload or parse_separator(damaged) is None


def page_of(slug, number):
    lines, caption = COMPLETE[slug]
    return make_page(*lines, signed=caption, number=number)


def continued(number):
    return make_page("as it was described before.", number=number)


def blank(number):
    return make_page(number=number, is_blank=True)


def sheet(separator, number):
    codes = (separator.payload,) if separator else ()
    return make_page(MARKER, "The next document is", number=number, separator_codes=codes)


def cut_of(*pages, site_id=SITE.site_id, **facts):
    return propose_cut(make_reading(*pages, **facts), site_id=site_id)


def test_each_document_begins_after_its_sheet_and_has_the_type_of_the_sheet():
    cut = cut_of(
        sheet(CV, 1),
        page_of("cv", 2),
        continued(3),
        sheet(LICENCE, 4),
        page_of("medical-licence", 5),
    )
    assert [(part.first, part.last, part.separator) for part in cut.parts] == [
        (2, 3, CV),
        (5, 5, LICENCE),
    ]
    assert (cut.separators, cut.blanks, cut.is_certain) == ((1, 4), (), True)
    assert cut.has_sheet_for_each_part


def test_blank_backs_of_sheets_and_of_last_pages_are_in_no_document():
    cut = cut_of(
        sheet(CV, 1),
        blank(2),
        page_of("cv", 3),
        blank(4),
        continued(5),
        blank(6),
        sheet(LICENCE, 7),
        page_of("medical-licence", 8),
    )
    assert [(part.first, part.last) for part in cut.parts] == [(3, 5), (8, 8)]
    assert (cut.blanks, cut.is_certain) == ((2, 6), True)


ONE_CV = (sheet(CV, 1), page_of("cv", 2))


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        ((*ONE_CV, sheet(None, 3), page_of("medical-licence", 4)), "unread-separator"),
        ((*ONE_CV, sheet(CV, 3), page_of("cv", 4)), "repeated-separator"),
        (
            (*ONE_CV, sheet(replace(LICENCE, site_id="9999"), 3), page_of("medical-licence", 4)),
            "other-site",
        ),
        ((*ONE_CV, sheet(replace(CV, type="a-letter"), 3), page_of("cv", 4)), "unknown-type"),
        ((page_of("irb-approval", 1), sheet(CV, 2), page_of("cv", 3)), "pages-before-separator"),
        ((*ONE_CV, sheet(LICENCE, 3)), "empty-separator"),
        ((sheet(CV, 1), sheet(LICENCE, 2), page_of("medical-licence", 3)), "empty-separator"),
        ((*ONE_CV, page_of("irb-approval", 3)), "separator-missing"),
        ((sheet(CV, 1),), "empty-separator"),
    ],
)
def test_a_person_confirms_sheets_that_something_contradicts(pages, reason):
    cut = cut_of(*pages)
    assert (cut.is_certain, cut.reasons) == (False, (reason,))


def test_two_codes_on_one_sheet_announce_nothing():
    both = replace(sheet(CV, 1), separator_codes=(CV.payload, LICENCE.payload))
    assert cut_of(both, page_of("cv", 2)).reasons == ("unread-separator",)


def test_a_missing_sheet_does_not_hide_the_second_document():
    cut = cut_of(*ONE_CV, page_of("irb-approval", 3))
    assert [(part.first, part.last, bool(part.separator)) for part in cut.parts] == [
        (2, 2, True),
        (3, 3, False),
    ]
    assert not cut.has_sheet_for_each_part


def test_sheets_of_a_site_that_is_not_known_are_not_compared():
    assert cut_of(*ONE_CV, site_id="").is_certain


def test_a_page_of_text_that_shows_a_code_is_a_document():
    guide = make_page(
        *["word " * 20] * (MAX_SHEET_WORDS // 20 + 1), number=1, separator_codes=(CV.payload,)
    )
    assert cut_of(guide).separators == ()


def test_a_digitally_signed_file_is_not_divided_at_sheets():
    cut = cut_of(*ONE_CV, signatures=[make_signature()], flags=["digital-signature"])
    assert (cut.separators, cut.is_certain, cut.reasons) == ((), False, ("signed-file",))


def test_a_file_with_sheets_that_a_person_confirms_names_its_documents():
    reading = make_reading(page_of("irb-approval", 1), sheet(CV, 2), page_of("cv", 3))
    sent = SenderFacts(SCHEMA_VERSIONS[-1])
    verdict = check_file(reading, sent, site=SITE, today=TODAY).verdict
    assert (verdict.state, verdict.primary.code) == ("IN_REVIEW", "MULTIPLE_DOCUMENTS")
    assert verdict.primary.facts == {"documents": ":1-1 cv:3-3"}
