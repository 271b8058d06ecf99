from datetime import date

import pytest

from ingestion.reading.results import Box, SignatureResult, TextSource
from ingestion.rules.checks.signatures import SignatureState, find_signature
from ingestion.rules.document_types import TYPES
from tests.ingestion.rules.documents import CV, make_document, make_signature
from tests.ingestion.rules.pages import LETTER, make_page, make_reading

STAMP = Box(400.0, 60.0, 480.0, 110.0)


def signature(reading, slug="cv"):
    kind = TYPES[slug]
    return find_signature(reading, kind.signature, month_first=kind.us_dates)


def cv(*lines, **page):
    return make_reading(make_page("CURRICULUM VITAE", "", "", "", *lines, **page))


def test_ink_above_the_caption_is_a_signature_and_the_date_beside_it_is_read():
    found = signature(make_document("cv"))
    assert (found.state, found.page, found.date.day) == (
        SignatureState.SIGNED,
        1,
        date(2026, 10, 27),
    )


def test_ink_in_the_box_below_the_caption_is_a_signature():
    page = make_page("", "Signature:", marks=(Box(70.0, 88.0, 200.0, 105.0),))
    assert signature(make_reading(page)).state is SignatureState.SIGNED


def test_a_caption_without_ink_is_an_empty_signature_area():
    found = signature(make_document("cv", signed=False, number=2))
    assert (found.state, found.page) == (SignatureState.EMPTY, 2)


def test_a_stamp_elsewhere_on_the_page_does_not_sign_it():
    assert (
        signature(make_document("cv", signed=False, marks=(STAMP,))).state is SignatureState.EMPTY
    )


def test_a_mark_over_the_whole_page_is_not_a_signature():
    whole = Box(10.0, 10.0, 600.0, 780.0)
    assert (
        signature(make_document("cv", signed=False, marks=(whole,))).state is SignatureState.EMPTY
    )


def test_ink_without_a_caption_is_not_decided():
    assert signature(cv("Education", marks=(STAMP,))).state is SignatureState.UNSEEN


def test_a_page_without_caption_and_without_ink_is_unsigned():
    assert signature(cv("Education")).state is SignatureState.EMPTY


@pytest.mark.parametrize(
    "line",
    ["Protocol Signature Page", "the Signature of the person", "Signature Log", "a Signature"],
)
def test_a_heading_or_a_sentence_is_not_a_signature_caption(line):
    page = make_page("", "", line, signed="Signature")
    assert signature(make_reading(page)).state is SignatureState.UNSEEN


def test_table_headings_do_not_count_if_the_line_of_the_investigator_is_empty():
    page = make_page(
        "Name                 Signature            Initials",
        "",
        *[""] * 12,
        "Signature of Principal Investigator",
        marks=(Box(160.0, 75.0, 240.0, 90.0),),
    )
    assert signature(make_reading(page), "delegation-log").state is SignatureState.EMPTY


def test_a_digital_signature_in_its_area_counts():
    mine = make_signature()
    found = signature(make_document("cv", signed=False, signatures=[mine]))
    assert (found.state, found.digital, found.is_misplaced) == (SignatureState.SIGNED, mine, False)
    assert (found.page, found.area) == (1, mine.box)


def test_a_digital_signature_in_the_signature_field_of_the_form_counts():
    elsewhere = Box(400.0, 600.0, 500.0, 640.0)
    mine = make_signature(field="topmost.Signature_Of_Investigator", box=elsewhere)
    reading = make_document("form-fda-1572", signed=False, signatures=[mine])
    assert not signature(reading, "form-fda-1572").is_misplaced


@pytest.mark.parametrize(
    "place", [{"box": Box(400.0, 600.0, 500.0, 640.0)}, {"page": 0, "box": None}]
)
def test_a_digital_signature_elsewhere_on_the_page_or_nowhere_is_misplaced(place):
    reading = make_document("cv", signed=False, signatures=[make_signature(**place)])
    assert signature(reading).is_misplaced


def test_a_digital_signature_on_another_page_does_not_sign_this_one():
    reading = make_document("cv", signed=False, signatures=[make_signature(page=2)])
    assert signature(reading).state is SignatureState.EMPTY


def test_a_signature_field_without_a_signature_does_not_count():
    empty = make_signature(SignatureResult.EMPTY)
    assert (
        signature(make_document("cv", signed=False, signatures=[empty])).state
        is SignatureState.EMPTY
    )


def test_words_about_a_digital_signature_are_a_claim():
    found = signature(make_reading(make_page("NOTICE", "Digitally signed by Jane Doe")))
    assert (found.state, found.page) == (SignatureState.CLAIMED, 1)


def test_a_filled_signature_field_counts():
    fields = {"signature": "/s/ Margaret Whitfield", "date_text": "10/08/2026"}
    found = signature(make_document("form-fda-1572", signed=False, fields=fields), "form-fda-1572")
    assert (found.state, found.date.value, found.date.source) == (
        SignatureState.SIGNED,
        "2026-10-08",
        "acroform",
    )


@pytest.mark.parametrize(
    "line",
    ["Electronically signed by IRB Chair on 14 Aug 2026", "/s/ Harold Simmons   14 Aug 2026"],
)
def test_a_typed_signature_counts(line):
    found = signature(make_reading(make_page("NOTICE OF APPROVAL", line)), "irb-approval")
    assert (found.state, found.date.day) == (SignatureState.SIGNED, date(2026, 8, 14))


def test_printed_text_for_an_electronic_signature_without_a_name_does_not_count():
    page = make_page("NOTICE OF APPROVAL", "Electronically signed by: ________")
    assert signature(make_reading(page), "irb-approval").state is SignatureState.EMPTY


def test_a_date_above_its_caption_in_the_next_box_is_found():
    assert signature(make_document("form-fda-1572"), "form-fda-1572").date.value == "2026-10-08"


def test_an_expiry_date_nearby_is_not_the_date_of_the_signature():
    page = make_page("", "", "Signature:                Date:", "valid for 2 years", signed="Sign")
    assert signature(make_reading(page)).date is None


def test_a_handwritten_date_that_cannot_be_read_is_noticed():
    lines = [line.replace("27 Oct 2026", "") for line in CV]
    page = make_page(*lines, signed="Signature:", source=TextSource.OCR, confidence=90.0)
    caption = next(word.box for word in page.words if word.text == "Date:")
    ink = Box(caption.right + LETTER, caption.top - 8, caption.right + 60, caption.bottom)
    with_ink = make_page(*lines, marks=(*page.marks, ink), source=TextSource.OCR)
    assert signature(make_reading(with_ink)).may_be_dated
    assert not signature(make_reading(page)).may_be_dated


def test_a_digital_signature_of_the_whole_file_needs_no_caption():
    whole = make_signature(page=0, box=None)
    found = signature(make_reading(make_page("Education"), signatures=[whole]))
    assert (found.state, found.page, found.is_misplaced) == (SignatureState.SIGNED, 0, False)
    assert found.date.day == whole.signed_on


def test_a_date_beside_the_signature_counts_without_the_word_date():
    page = make_page("", "", "Signature:         27 Oct 2026", signed="Signature:")
    assert signature(make_reading(page)).date.day == date(2026, 10, 27)


def test_digits_after_the_word_date_may_be_a_date():
    page = make_page("", "", "Signature:        Date: 2?/1O", signed="Signature:")
    assert signature(make_reading(page)).may_be_dated
