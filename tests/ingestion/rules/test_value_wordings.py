"""Values in the wordings and layouts of many institutions."""

from datetime import date

import pytest

from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.course_names import in_sentence
from ingestion.rules.fields.date_roles import DateRole, find_roles
from ingestion.rules.fields.extraction import read_fields
from ingestion.rules.fields.names import is_same_person
from ingestion.rules.fields.person_names import find_name_line
from tests.ingestion.rules.pages import make_page, make_reading

HEAD = ["Northfield University", "Research Ethics Committee", ""]


def read(slug, *lines):
    values = read_fields(make_reading(make_page(*lines)), TYPES[slug])
    return {value.name: value for value in values}


# Dates


def test_the_date_of_a_letter_below_its_heading_is_not_the_date_of_the_decision():
    values = read(
        "irb-approval",
        "Northfield University",
        "APPROVAL OF NEW STUDY",
        "June 21, 2026",
        "",
        "Dear Dr Brandt,",
        "On June 19, 2026, the IRB reviewed and approved the study.",
    )
    assert values["approval_date"].day == date(2026, 6, 19)


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Exempt\nTue, Sep 13, 2022 at 4:41 PM", None),
        ("9/14/2022 Northfield Mail - Exempt", None),
        ("No: NU/Approval/57 Date: 22-12-2020\nClearance", None),
        ("Action Date: 23 May 2023", DateRole.DECISION),
        ("held from 6th to 8th June, 2022", DateRole.COMPLETION),
        ("one year, up to 21 November 2022", DateRole.END),
        ("Signature ____ Date ____\nIRB approved 27 September 2021", DateRole.DECISION),
    ],
)
def test_the_role_of_a_date_is_that_of_its_own_line_and_clause(text, role):
    *_, found = find_roles(text, month_first=True)
    assert found.role is role


def test_the_clause_of_a_date_may_be_broken_into_lines_as_on_a_certificate():
    course = "an introduction to good clinical practice and to the quality of data of trials"
    (found,) = find_roles(f"has completed\n{course},\n{course}\non\n3 May 2021", month_first=None)
    assert found.role is DateRole.COMPLETION


# Numbers


def test_a_number_in_a_cell_belongs_to_the_caption_in_the_next_cell():
    values = read("irb-approval", *HEAD, "Our reference          METC 2021.0688")
    assert values["protocol_number"].value == "METC 2021.0688"


def test_a_number_that_is_part_of_a_longer_one_is_not_printed_twice():
    values = read("irb-approval", *HEAD, "Project ID: 5873", "Reference No: 52019587312841")
    assert not values["protocol_number"].is_sure


@pytest.mark.parametrize(
    "number",
    ["SMMC/IEC/2021/114", "NIMS/IHEC/Approval/57/2020-21", "2022-318-f-S", "HS-16-00482"],
)
def test_references_of_many_forms_are_read(number):
    values = read("irb-approval", *HEAD, f"Ref. No.: {number}")
    assert values["protocol_number"].value == number


def test_the_version_in_a_table_of_documents_is_no_number_of_a_study():
    assert "protocol_number" not in read("irb-approval", *HEAD, "Protocol       2.1     1 May 2026")


def test_the_registration_of_a_committee_is_no_number_of_a_study():
    values = read("irb-approval", *HEAD, "(Reg. No. ECR/0942/Inst/GJ/2017)")
    assert "protocol_number" not in values


# Titles


def test_a_title_in_a_cell_ends_where_the_next_row_begins():
    values = read(
        "irb-approval",
        *HEAD,
        "Study Title            Home monitoring of dialysis with a connected cycler",
        "Event                  Protocol deviation",
    )
    assert values["title"].value == "Home monitoring of dialysis with a connected cycler"


@pytest.mark.parametrize(
    "line",
    [
        "Re: Exempt - Initial - IRB-FY23-118 Sleep and learning in schools",
        "Subject: IRB Protocol 19-0226, Sleep and learning in schools",
        "Protocol title Sleep and learning in schools",
        "You are invited to a study titled Sleep and learning in schools. It is short.",
        'Project No. 900417: "Sleep and learning in schools"',
    ],
)
def test_a_title_is_read_behind_the_words_and_numbers_before_it(line):
    values = read("irb-approval", *HEAD, line, "", "Dear Dr Brandt,")
    assert values["title"].value == "Sleep and learning in schools"


def test_the_subject_of_a_letter_about_its_decision_is_no_title():
    assert "title" not in read("irb-approval", *HEAD, "Re: Outcome of the review of your study")


# Names


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Prof. dr. H.J. van der Meulen", "Prof. dr. H.J. van der Meulen"),
        ("A/Prof Imogen Tran", "A/Prof Imogen Tran"),
        ("Priv.-Doz. Dr. med. Karin Stelzer", "Priv.-Doz. Dr. med. Karin Stelzer"),
        ("Ms Thandeka Mbatha (219044871)", "Ms Thandeka Mbatha"),
        ("A Phase 2 Study", ""),
    ],
)
def test_a_line_with_titles_and_a_number_of_staff_is_a_name(line, name):
    assert find_name_line(line) == name


def test_an_associate_professor_is_the_same_person_without_the_title():
    assert is_same_person("A/Prof Imogen Tran", "Imogen Tran")
    assert is_same_person("Associate Professor Imogen Tran", "Imogen Tran")


def test_titles_to_choose_from_are_no_part_of_a_name():
    values = read(
        "gcp-certificate",
        "CERTIFICATE OF PARTICIPATION",
        "This is to certify that Dr./Mr./Ms. Shivani Deshpande of Nayan Institute has participated",
        "Dr. R. Hebbar",
    )
    assert values["person"].value == "Shivani Deshpande"


def test_a_person_who_gets_a_copy_is_not_the_investigator():
    values = read("irb-approval", *HEAD, "To: Xiaoyu Meng", "cc: Priscilla Huang, Investigator")
    assert values["investigator"].value == "Xiaoyu Meng"


def test_a_committee_whose_name_is_broken_over_two_lines_is_read_as_a_whole():
    values = read(
        "irb-approval",
        "I am pleased to advise that the project has been approved by the Southbay Health",
        "Human Research Ethics Committee. The Committee is constituted as the law demands.",
    )
    assert values["irb_name"].value == "Southbay Health Human Research Ethics Committee"


# Courses


@pytest.mark.parametrize(
    ("line", "course"),
    [
        ('certifies that A B completed "Good Clinical Practice."', "Good Clinical Practice"),
        ("For completing Introduction to Good Clinical Practice, an online course",
         "Introduction to Good Clinical Practice"),
        ("the course Good Clinical Practice of the Trials Network", "Good Clinical Practice"),
        ("has completed training in good clinical practice", ""),
        ("Good Clinical Practice", ""),
    ],
)  # fmt: skip
def test_the_name_of_a_course_is_read_out_of_a_sentence(line, course):
    words = make_page(line).words
    assert in_sentence(line, "good clinical practice", words) == course


def test_the_two_groups_of_a_course_are_joined():
    values = read(
        "human-subjects-certificate",
        "COMPLETION REPORT",
        "Curriculum Group:      Human Research",
        "Course Learner Group:  Biomedical Investigators",
    )
    assert values["course"].value == "Human Research / Biomedical Investigators"
