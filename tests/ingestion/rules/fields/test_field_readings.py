from datetime import date

import pytest

from ingestion.reading.results import Box, TextSource, Word
from ingestion.rules.checks.check_input import SiteFacts
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.extraction import find_month_first, read_fields
from ingestion.rules.fields.persons.person_names import find_name_line, trim
from tests.ingestion.rules.documents import make_document
from tests.ingestion.rules.pages import checked, codes, make_page, make_reading

HEAD = ["Northfield University", "Research Ethics Committee", ""]


def read(slug, *lines, month_first=None, **page):
    reading = make_reading(make_page(*lines, **page))
    # By the rules alone, without suggestions of the model.
    values = read_fields(reading, TYPES[slug], month_first=month_first, model={})
    return {value.name: value for value in values}


# Letters of ethics committees


def test_the_period_of_an_approval_is_read_from_its_sentence():
    values = read(
        "irb-approval",
        *HEAD,
        "4 May 2026",
        "",
        "The approval period is from 4 May 2026 to 3 May 2027.",
    )
    assert values["approval_date"].day == date(2026, 5, 4)
    assert values["expiry_date"].day == date(2027, 5, 3)
    assert values["approval_date"].is_sure
    assert values["expiry_date"].is_sure  # a whole year after the beginning


def test_an_end_without_any_confirmation_is_not_sure():
    values = read("irb-approval", *HEAD, "The study has been approved until 17 August 2027.")
    assert values["expiry_date"].day == date(2027, 8, 17)
    assert values["expiry_date"].is_unconfirmed


def test_the_date_of_a_letter_is_proposed_as_the_approval_date_and_is_not_sure():
    values = read("irb-approval", *HEAD, "4 May 2026", "Dear Dr Brandt,", "has been approved")
    assert (values["approval_date"].day, values["approval_date"].is_sure) == (
        date(2026, 5, 4),
        False,
    )
    assert values["document_date"].is_sure


def test_the_full_name_of_an_addressee_is_confirmed_by_the_salutation():
    values = read(
        "irb-approval",
        *HEAD,
        "4 May 2026",
        "",
        "Dr. Helena Brandt",
        "Department of Physiology",
        "",
        "Dear Dr. Brandt:",
    )
    assert (values["investigator"].value, values["investigator"].is_sure) == (
        "Dr. Helena Brandt",
        True,
    )


def test_a_first_name_in_the_salutation_confirms_the_researcher():
    values = read("irb-approval", *HEAD, "Dear Helena,", "", "Researcher(s): Helena Brandt")
    assert values["investigator"].value == "Helena Brandt"


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("IRB#: E20417", "E20417"),
        ("Ref. No.: NUREC/2026/044 (7)", "NUREC/2026/044 (7)"),
        ("Your approval code is: NUREC 118 - 2026", "NUREC 118 - 2026"),
        ("RE: Project #208841", "208841"),
        ("Re: [2204417-2] Sleep and memory", "2204417-2"),
        ("Ethics ID: REB26-0417", "REB26-0417"),
        ("File: 26-318", "26-318"),
        ("Approval Code: PS20417 Approved on: 04.05.26", "PS20417"),
    ],
)
def test_the_reference_number_of_a_decision_is_read(line, number):
    assert read("irb-approval", *HEAD, line)["protocol_number"].value == number


def test_the_reference_of_a_committee_is_no_other_protocol():
    reading = make_document("irb-approval", {"Protocol Number: SLX-301": "IRB#: E20417"})
    assert "PROTOCOL_MISMATCH" not in codes(checked(reading))


@pytest.mark.parametrize(
    ("line", "is_sure"),
    [
        ("IRB number: 2024-117", False),
        ("Our ref: 2024-117", True),  # of the letter
        ("Participants: 2024", True),
    ],
)
def test_the_number_of_a_protocol_is_in_doubt_beside_that_of_the_committee(line, is_sure):
    values = read("irb-approval", *HEAD, "Sponsor protocol number: LMV-CL-0207", line)
    number = values["protocol_number"]
    assert (number.value, number.is_sure) == ("LMV-CL-0207", is_sure)
    assert not number.readings  # the committee's own number is no other protocol


@pytest.mark.parametrize("line", ["Tel: 650-288-4417", "Phone (902) 555-0147", "Room 2026"])
def test_a_telephone_number_is_no_reference_number(line):
    assert "protocol_number" not in read("irb-approval", *HEAD, f"Study contact {line}")


def test_a_date_of_two_digits_for_the_year_is_read_at_its_caption():
    values = read("irb-approval", *HEAD, "Approved on: 04.05.26   Approval Expiry: 04.05.31")
    assert values["approval_date"].day == date(2026, 5, 4)
    assert values["expiry_date"].day == date(2031, 5, 4)


def test_a_date_in_a_reminder_is_not_the_approval_date():
    values = read(
        "irb-approval", *HEAD, "REMINDER - Effective January 12, 2026, masks are required"
    )
    assert "approval_date" not in values


def test_a_committee_is_named_with_its_institution():
    sentence = "The Northfield University IRB has reviewed and approved your project."
    assert read("irb-approval", "", "", sentence)["irb_name"].value == "Northfield University IRB"


def test_a_title_continues_on_the_next_line_and_ends_before_the_next_caption():
    values = read(
        "irb-approval",
        *HEAD,
        "Study Title: Effects of a Short Nap on the Recall of Words in Older",
        "Adults",
        "Sponsor: none",
    )
    assert values["title"].value == (
        "Effects of a Short Nap on the Recall of Words in Older Adults"
    )


# Certificates


def large(text, top, size=22.0, left=120.0):
    words, at = [], left
    for word in text.split():
        words.append(Word(word, Box(at, top, at + 11 * len(word), top + size), 100.0))
        at += 11 * len(word) + 9
    return words


def certificate(name, *lines):
    page = make_page("CERTIFICATE", "", *lines)
    words = (*page.words, *large(name, 300.0))
    text = f"{page.text}\n{name}"
    return make_reading(
        make_page("CERTIFICATE", "", *lines).__class__(
            1, 612.0, 792.0, text, TextSource.NATIVE, words=words
        )
    )


@pytest.mark.parametrize("caption", ["This is to certify that:", "awarded to", "Presented to"])
def test_a_name_in_large_type_is_read_well_below_its_caption(caption):
    lines = [*[""] * 12, f"                   {caption}"]
    reading = certificate("Helena Brandt", *lines)
    values = {v.name: v for v in read_fields(reading, TYPES["gcp-certificate"])}
    assert (values["person"].value, values["person"].is_sure) == ("Helena Brandt", True)


def test_two_holders_of_a_certificate_are_a_doubt_with_both_names():
    values = read(
        "gcp-certificate",
        "This is to certify that",
        "Helena Brandt",
        "",
        "This is to certify that",
        "Daniel Okafor",
    )
    assert values["person"].readings == ("Helena Brandt", "Daniel Okafor")
    assert not values["person"].is_sure


def test_captions_in_brackets_have_their_text_above_them():
    values = read(
        "human-subjects-certificate",
        "Human Research",
        "(Curriculum Group)",
        "Biomedical Investigators",
        "(Course Learner Group)",
    )
    course = values["course"]
    assert course.value == "Human Research / Biomedical Investigators"
    assert not course.is_sure  # it is printed nowhere as a whole


def test_a_course_between_quotation_marks_is_read_without_them():
    values = read(
        "human-subjects-certificate", "Course: the training \u201cProtecting Participants\u201d."
    )
    assert values["course"].value == "Protecting Participants"


# Consent forms


@pytest.mark.parametrize(
    "line",
    [
        "Lead researcher: Helena Brandt (h.brandt@example.org)",
        "Helena Brandt is conducting a study of sleep.",
        "This study is being conducted by Helena Brandt, professor of physiology",
        "Helena Brandt (Responsible Researcher)",
        "Principal Investigator: Helena Brandt, Assistant Professor",
    ],
)
def test_the_investigator_of_a_consent_form_is_read(line):
    values = read("informed-consent-form", "Consent form", "", line)
    assert values["investigator"].value == "Helena Brandt"


# Names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Helena Brandt, Assistant Professor", "Helena Brandt"),
        ("Helena Brandt, PhD. Physiology", "Helena Brandt, PhD."),
        ("Prof. Brandt", "Prof. Brandt"),
        ("HELENA BRANDT, MD, MS", "HELENA BRANDT, MD, MS"),
        ("Brandt, Helena", "Brandt, Helena"),
        ("Helena Brandt IRB Determination", "Helena Brandt"),
    ],
)
def test_a_name_ends_where_something_else_begins(text, name):
    assert trim(text) == name


@pytest.mark.parametrize("text", ["Informed Consent Form", "Certificate of Completion", "Helena"])
def test_a_title_or_a_single_word_is_no_name(text):
    assert find_name_line(text) == ""


# The order of day and month


def order(slug, *lines, country=""):
    reading = make_reading(make_page(*lines))
    return find_month_first(reading, TYPES[slug], SiteFacts("1", country=country).month_first)


def test_a_definite_date_shows_the_order_of_the_others():
    assert order("cv", "25/03/2026") is False
    assert order("cv", "03/25/2026") is True
    assert order("cv", "03/04/2026") is None


def test_the_country_decides_only_where_the_document_does_not():
    assert order("cv", "03/04/2026", country="United States") is True
    assert order("cv", "03/04/2026", country="Germany") is False
    assert order("cv", "25/03/2026", country="United States") is False
    assert order("cv", "03/04/2026", country="Canada") is None
    assert order("cv", "25/03/2026 and 03/25/2026", country="Germany") is None


def test_an_ambiguous_date_has_both_readings():
    values = read("gcp-certificate", "Completion Date: 02/06/2011")
    assert values["completion_date"].readings == ("2011-06-02", "2011-02-06")
    assert values["completion_date"].day is None
    british = read("gcp-certificate", "Completion Date: 02/06/2011", month_first=False)
    assert british["completion_date"].day == date(2011, 6, 2)


# Numbers and titles within other texts


def test_a_number_with_a_caption_comes_before_one_in_a_list_of_documents():
    values = read(
        "irb-approval",
        "IRB ID: STUDY00001234",
        "Documents Reviewed: Consent form HRP-502; Protocol HRP-503, Category: IRB Protocol",
    )
    assert values["protocol_number"].value == "STUDY00001234"


def test_a_line_with_a_small_letter_continues_a_title_behind_a_short_line():
    values = read(
        "irb-approval",
        "Title: Early exercise for the prevention of",
        "falls in older adults",
        "with impaired vision",
        "",
        "Dear Doctor,",
    )
    title = "Early exercise for the prevention of falls in older adults with impaired vision"
    assert values["title"].value == title


def test_a_verb_with_a_small_letter_does_not_continue_a_title():
    values = read("irb-approval", "Study title:", "Exercise for older adults", "was approved.")
    assert values["title"].value == "Exercise for older adults"


def test_a_number_behind_refer_to_is_a_reference():
    values = read(
        "informed-consent-form",
        "Consent form",
        "Please contact the Office for Research and refer to IRB #22190.",
    )
    assert values["protocol_number"].value == "22190"


def test_a_registration_number_that_begins_like_a_telephone_number_is_read():
    values = read("medical-licence", "Registration No.: 108-44716", "Valid to: 31 December 2026")
    assert values["licence_number"].value == "108-44716"


def test_approved_to_leads_to_the_end_of_an_approval():
    values = read(
        "irb-amendment-approval", "Approved: 15/11/2025", "Project approved to: 31/12/2026"
    )
    assert values["approval_date"].day == date(2025, 11, 15)
    assert values["expiry_date"].day == date(2026, 12, 31)


def test_the_end_of_a_data_collection_is_not_the_date_of_a_letter():
    values = read("irb-approval", "Approved: 06/02/2025", "", "Data collection ends", "30/09/2025")
    assert "document_date" not in values
