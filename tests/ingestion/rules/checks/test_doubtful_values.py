from dataclasses import replace

import pytest

from ingestion.reading.results import TextSource
from ingestion.rules.checks.identity import is_nearly_same_name, is_nearly_same_number
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import format_sentences
from tests.ingestion.rules.documents import make_document
from tests.ingestion.rules.pages import SITE, checked, codes


def finding(verdict, code):
    return next(each for each in verdict.findings if each.code == code)


def what(verdict, code, slug):
    facts = finding(verdict, code).facts
    return format_sentences(code, facts, type_name=TYPES[slug].name).what


AMBIGUOUS = {"Approval Date: 14 Aug 2026": "Approval Date: 02/06/2026"}


def read_by_two(document, text, other):
    """Return a document in which another engine read a word differently."""
    page = document.pages[0]
    words = tuple(
        word._replace(other=other, confidence=60.0) if word.text == text else word
        for word in page.words
    )
    assert words != page.words
    return replace(document, pages=(replace(page, words=words), *document.pages[1:]))


@pytest.mark.parametrize(
    ("text", "other", "question"),
    [
        ("14", "19", "dates: 14 August 2026 or 19 August 2026 (approval date)."),
        ("SLX-301", "SLX-801", "values: SLX-301 or SLX-801 (protocol or reference number)."),
    ],
)
def test_a_value_that_two_engines_read_differently_is_a_question_with_both(text, other, question):
    document = make_document("irb-approval", source=TextSource.OCR)
    verdict = checked(read_by_two(document, text, other), declared="irb-approval")
    assert verdict.state == "IN_REVIEW"
    assert what(verdict, "VALUE_IN_DOUBT", "irb-approval") == f"We read two possible {question}"


def test_a_date_with_two_readings_is_a_question_with_both():
    verdict = checked(make_document("irb-approval", AMBIGUOUS), declared="irb-approval")
    assert verdict.state == "IN_REVIEW"
    assert what(verdict, "VALUE_IN_DOUBT", "irb-approval") == (
        "We read two possible dates: 2 June 2026 or 6 February 2026 (approval date)."
    )


def test_the_country_of_the_site_settles_an_ambiguous_date():
    for country, day in (("United Kingdom", "2026-06-02"), ("United States", "2026-02-06")):
        verdict = checked(
            make_document("irb-approval", AMBIGUOUS), site=replace(SITE, country=country)
        )
        assert "VALUE_IN_DOUBT" not in codes(verdict)
        assert next(f.value for f in verdict.fields if f.name == "approval_date") == day


def test_a_document_that_is_expired_by_one_reading_only_is_not_rejected():
    line = {"Expiration Date: 12 Aug 2027": "Expiration Date: 02/06/2026"}
    verdict = checked(make_document("irb-approval", line), declared="irb-approval")
    assert verdict.state == "IN_REVIEW"
    assert "EXPIRED_DOCUMENT" not in codes(verdict)


def test_a_name_that_differs_in_a_letter_is_a_question_with_both_names():
    reading = make_document("cv", {"Name: Margaret Whitfield": "Name: Margret Whitfield"})
    verdict = checked(reading, person="Margaret Whitfield")
    assert verdict.state == "IN_REVIEW"
    sentence = what(verdict, "VALUE_NEARLY_MATCHES", "cv")
    assert "Margret Whitfield" in sentence
    assert "Margaret Whitfield" in sentence


def test_a_misread_protocol_number_on_a_scan_is_a_question_and_not_another_protocol():
    change = {"Protocol Number: SLX-301": "Protocol Number: SLX-307"}
    scan = make_document("irb-approval", change, source=TextSource.OCR, confidence=95.0)
    assert "VALUE_NEARLY_MATCHES" in codes(checked(scan))
    assert "PROTOCOL_MISMATCH" in codes(checked(make_document("irb-approval", change)))


@pytest.mark.parametrize(
    ("one", "other", "is_near"),
    [
        ("Margret Whitfield", "Margaret Whitfield", True),
        ("M. Whitfeld", "Margaret Whitfield", True),
        ("Margaret Whitfield, MD", "Margaret Whitfield", False),  # the same
        ("Jane Smith", "John Smith", False),
        ("Anna Lee", "Anna Li", False),
        ("Whitfield", "Whitfeld", False),
    ],
)
def test_names_are_near_if_one_or_two_letters_of_a_long_word_differ(one, other, is_near):
    assert is_nearly_same_name(one, other) == is_near


def test_short_numbers_are_never_near():
    assert not is_nearly_same_number("1001", "1002")
    assert is_nearly_same_number("SLX-307", "SLX-301")
    assert not is_nearly_same_number("SLX-301", "SLX-301")


def test_a_date_in_doubt_of_a_digital_page_is_one_question_and_asks_for_no_sharper_scan():
    lapsed = {"Expiration Date: 12 Aug 2027": "The study has been approved until 17 Aug 2020."}
    verdict = checked(make_document("irb-approval", lapsed))
    assert codes(verdict) == ["VALUE_IN_DOUBT"]
    assert what(verdict, "VALUE_IN_DOUBT", "irb-approval") == (
        "We read 17 August 2020 as the expiry date, and found nothing that confirms it."
    )
