"""Values are read in wordings of institutions for which there is no phrase."""

from datetime import date

import pytest

from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.date_roles import find_roles
from ingestion.rules.fields.date_words import DateRole
from ingestion.rules.fields.extraction import read_fields
from ingestion.rules.fields.persons.person_roles import find_investigators
from ingestion.rules.fields.reference_numbers import find_numbers, find_references
from ingestion.rules.fields.titles.title_lines import continue_title
from ingestion.rules.fields.titles.title_texts import names_institution_only
from ingestion.rules.fields.titles.titles_in_text import (
    quoted_titles,
    titles_at_captions,
    titles_of_subjects,
)
from tests.ingestion.rules.pages import make_page, make_reading

HEAD = ["Northfield University", "Research Ethics Committee", ""]


def read(slug, *lines, **options):
    values = read_fields(make_reading(make_page(*lines)), TYPES[slug], **options)
    return {value.name: value for value in values}


# Dates


@pytest.mark.parametrize(
    ("text", "roles"),
    {
        "considered by the Board (Non-Medical) on 23 June 2026 and accepted": ["review"],
        "The approval period is 22nd August 2026 \u2013 21st August 2027.": ["approval", "end"],
        "Approval commences on 14 March 2026 and lapses on 14 March 2029": ["approval", "end"],
        "Approval of the project continues to 30 June 2027": ["end"],
        "On 2 June 2026, the Board reviewed the following": ["review"],
        "Next approval due before: 17 May 2027": ["end"],
        "Renewed: 12-Jan-2026\nApproval expiry date: 11-Jan-2027": ["approval", "end"],
        "course held on 21 October 2026 and passed.\nMunich, 25 October 2026": ["completion", None],
        "your application submitted on 3 May 2026 was approved on 5 May 2026": [
            "submission",
            "approval",
        ],
        "Date of receipt of valid application: 15 May 2026": ["submission"],
        "the information sheet dated 12 May 2026": ["version"],
        "From: Northfield University IRB\nDate: 19 July 2026": [None],
        "in its meeting held on 5 February 2026": ["review"],
    }.items(),
)
def test_the_words_around_a_date_show_its_role(text, roles):
    found = [each.role for each in find_roles(text, month_first=None)]
    assert found == [role and DateRole(role) for role in roles]


def test_the_column_of_a_table_decides_about_a_date_and_not_the_order_of_the_text():
    page = make_page("Date received      Review date", "22 June 2026      18 July 2026")
    values = read_fields(make_reading(page), TYPES["irb-acknowledgement"])
    assert [v.day for v in values if v.name == "decision_date"] == [date(2026, 7, 18)]


def test_a_numeric_date_that_is_also_written_in_words_shows_the_order_of_day_and_month():
    values = read(
        "irb-exemption",
        *HEAD,
        "June 2, 2026",
        "",
        "On 6/2/2026, the Board determined that the study is exempt.",
    )
    assert values["approval_date"].day == date(2026, 6, 2)


def test_two_days_with_the_same_role_are_in_doubt():
    values = read(
        "irb-approval",
        *HEAD,
        "The first study was approved on 4 May 2026.",
        "The second study was approved on 9 May 2026.",
    )
    assert not values["approval_date"].is_sure


def test_a_caption_is_not_put_together_from_a_heading_and_the_line_below_it():
    values = read(
        "irb-exemption", *HEAD, "Notice of Exempt Determination", "Date: 19 July 2026",
        "Determination date: 18 July 2026",
    )  # fmt: skip
    assert values["approval_date"].day == date(2026, 7, 18)


# Numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    {
        "Ref. No.: NUREC/2026/1006 (31)\nTo": ["NUREC/2026/1006 (31)"],
        "HHS IRB # 00007374\nFile: 26-277\n": ["26-277"],
        "Ethics ID: REB26-1640": ["REB26-1640"],
        "TEL: (310) 555-8398\nHSRC# 2026-08-5546": ["2026-08-5546"],
        "Subject: HUM00195512 Approved": ["HUM00195512"],
        "the College IRB (protocol 2026-55-NC).": ["2026-55-NC"],
        "The approval number of the board is ETH2526-0907.": ["ETH2526-0907"],
        "REB Number: Pro00088123": ["Pro00088123"],
        "Ref: NSREC 060 - 2026": ["NSREC 060 - 2026"],
        "45 CFR 46.104(d), category 2; Grant No. 445566; phone 030 1234567": [],
        "(DHHS Registration # IRB00000100)": [],
        "Version 3.0, 18 June 2026, page 12 of 14, room 1204": [],
    }.items(),
)
def test_a_reference_is_found_by_its_form_and_by_what_it_is_not(text, numbers):
    assert [each.text for each in find_references(text)] == numbers


def test_a_number_is_found_behind_a_caption_with_a_word_of_its_field():
    text = "Certification Number: 2871145. Certificate code: 7f3a-9921-bd. Score: 94"
    numbers = [each.text for each in find_numbers(text, ["certif", "credential"])]
    assert numbers == ["2871145", "7f3a-9921-bd"]


# Titles


@pytest.mark.parametrize(
    "line",
    [
        "TITLE OF RESEARCH: Sleep and shift work",
        "Title of the Research Study: Sleep and shift work",
        "IRB Protocol Title: Sleep and shift work",
        "PROJECT TITLE: [1867732-1] Sleep and shift work",
        "Name of the project: \u201cSleep and shift work\u201d",
        "3. Research topic \u2013 Sleep and shift work",
    ],
)
def test_a_title_is_behind_any_caption_with_the_head_word(line):
    assert list(titles_at_captions([line, "Investigator: Ann Smith"])) == ["Sleep and shift work"]


@pytest.mark.parametrize("line", ["Job title: Head of research", "Course title: Basics of GCP"])
def test_other_titles_are_not_titles_of_studies(line):
    assert list(titles_at_captions([line])) == []


@pytest.mark.parametrize(
    ("line", "titles"),
    {
        "Re: Sleep quality and shift work": ["Sleep quality and shift work"],
        'RE: APPROVAL OF RESEARCH PROPOSAL "SLEEP AND WORK"': ["SLEEP AND WORK"],
        "RE: IRB Protocol #26-0908A, Tipping in restaurants": ["Tipping in restaurants"],
        "Subject: Ethical clearance": [],
        "Subject: HUM00195512 Approved": [],
    }.items(),
)
def test_the_subject_of_a_letter_may_be_the_title(line, titles):
    assert [each for each in titles_of_subjects([line]) if len(each.split()) > 2] == [
        each for each in titles if len(each.split()) > 2
    ]


def test_a_quotation_is_a_title_only_beside_words_of_a_study():
    assert list(quoted_titles('your protocol 26-045, "Play and language", has')) == [
        "Play and language"
    ]
    assert list(quoted_titles('By clicking "I agree to take part" you')) == []


# People


@pytest.mark.parametrize(
    "text",
    [
        "This study is being conducted by Ann Smith, associate professor of biology.",
        "Dr. Ann Smith (Responsible Researcher)",
        "The principal investigator of this study is Ann Smith, a professor at the college.",
        "My name is Ann Smith and I am a doctoral candidate.",
        "Ann Smith, graduate student, and Bo Hall are conducting a research study.",
        "I am Ann Smith, a final-year student",
        "Ann Smith, MD\nSignature of Principal Investigator",
        "Researchers: Ann Smith, PhD",
        "between Calyx Ltd and Ann Smith of Bay Hospital (the \u201cInvestigator\u201d)",
    ],
)
def test_an_investigator_is_named_in_many_ways(text):
    first = next(iter(sorted(find_investigators(text), key=lambda each: each.rank)))
    assert first.name.removeprefix("Dr. ").startswith("Ann Smith")


@pytest.mark.parametrize(
    "text",
    ["Co-investigator: Ann Smith", "Ann Smith and I went home", "research assistant Bo Hall"],
)
def test_other_people_are_no_investigators(text):
    assert [each for each in find_investigators(text) if each.rank < 2] == []


def test_a_holder_is_read_from_a_line_of_a_certificate_without_a_caption():
    values = read("gcp-certificate", "Certificate", "", "Mr. Tobias Engel", "", "Oberwald")
    assert (values["person"].value, values["person"].is_sure) == ("Mr. Tobias Engel", False)


def test_an_acronym_in_the_next_line_belongs_to_the_title():
    first = "A randomised trial of early walking after surgery of the hip in adults"
    assert continue_title(first, ["(STRIDE)", "Sponsor:"]) == f"{first} (STRIDE)"
    assert continue_title(first, ["(NWT HIP.4)"]) == f"{first} (NWT HIP.4)"
    assert continue_title(first, ["STUDY TEAM"]) == first


@pytest.mark.parametrize(
    ("text", "is_institution"),
    [
        ("St Bride's Teaching Hospital", True),
        ("Larkfield Centre for Sleep and Memory", True),
        ("University of Larkfield", True),
        ("Hospital at Home", False),
        ("University Students and Sleep", False),
        ("Trust in Vaccines", False),
        ("Sleep and recovery in hospital", False),
    ],
)
def test_the_name_of_an_institution_is_told_from_a_title(text, is_institution):
    assert names_institution_only(text) is is_institution


def test_an_institution_behind_its_committee_is_no_title():
    values = read(
        "irb-approval",
        "Re: Walking after surgery of the hip: a study of recovery",
        "",
        "Dear Dr Brandt,",
        "The study is approved.",
        "The Research Ethics Committee, St Bride's Teaching Hospital, is recognised.",
        "It meets at St Bride's Teaching Hospital.",
    )
    assert values["title"].value == "Walking after surgery of the hip: a study of recovery"


def test_the_title_stands_below_the_heading_of_an_information_for_participants():
    values = read(
        "informed-consent-form",
        "Larkfield Centre for Sleep and Memory",
        "",
        "Volunteer information about participation in research",
        "",
        "The quiet night: sleep and the memory of pictures in adults",
        "",
        "Dear Sir/Madam,",
        "You are being asked to take part in a study of the",
        "Larkfield Centre for Sleep and Memory. Your consent is voluntary.",
    )
    assert values["title"].value == "The quiet night: sleep and the memory of pictures in adults"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Tamarack Women's Institutional Review Board", ""),
        ("St Bride's Research Ethics Committee", ""),
        ("Ashby College's Research Ethics Committee", "Ashby College Research Ethics Committee"),
        ("Executive of the Ashby Research Ethics Committee", "Ashby Research Ethics Committee"),
    ],
)
def test_a_possessive_that_belongs_to_the_name_of_a_committee_is_kept(text, name):
    values = read("irb-approval", "Approval of research", "", f"The {text} has approved the study.")
    assert values["irb_name"].value == (name or text)


@pytest.mark.parametrize(
    "name",
    [
        "Commissie Wetenschap en Ethiek (CWE)",
        "Comitato Etico Territoriale Valle Alta",
        "Komisja Bioetyczna Akademii Larkfield",
    ],
)
def test_the_heading_of_a_committee_in_another_language_is_in_doubt(name):
    values = read("irb-approval", "Larkfield University", name, "", "Dear Dr Brandt,")
    assert values["irb_name"].value == name
    assert not values["irb_name"].is_sure
