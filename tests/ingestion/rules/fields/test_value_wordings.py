"""Values in the wordings and layouts of many institutions."""

from dataclasses import replace
from datetime import date

import pytest

from ingestion.reading.results import TextSource
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.broken_words import join_broken_words
from ingestion.rules.fields.course_names import in_sentence
from ingestion.rules.fields.date_roles import find_roles
from ingestion.rules.fields.date_words import DateRole
from ingestion.rules.fields.dates import find_dates
from ingestion.rules.fields.extraction import read_fields
from ingestion.rules.fields.persons.names import is_same_person, may_be_institution
from ingestion.rules.fields.persons.person_names import find_name_line, trim
from ingestion.rules.fields.titles.title_lines import continue_title
from ingestion.rules.fields.titles.title_texts import clean
from ingestion.rules.fields.titles.titles_in_text import titles_in_sentences
from tests.ingestion.rules.pages import make_page, make_reading

HEAD = ["Northfield University", "Research Ethics Committee", ""]


def read(slug, *lines, **page):
    reading = make_reading(make_page(*lines, **page))
    values = read_fields(reading, TYPES[slug], model={})  # by the rules alone
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
        ("Date of the final test: 3 May 2021", DateRole.COMPLETION),
        ("Test date: 3 May 2021", DateRole.COMPLETION),
        ("Previous period of validity: from 3 May 2021", DateRole.OTHER),
        ("New period of validity: from 3 May 2021", DateRole.BEGINNING),
        ("in Clinical Research\na live webinar of 4 hours, on 3 May 2021", DateRole.COMPLETION),
        ("Research Integrity, a one-day course on 3 May 2021", DateRole.COMPLETION),
        ("Date of advice: 3 May 2021", DateRole.DECISION),
        ("The Board, in the session of 3 May 2021, gives a positive opinion", DateRole.DECISION),
        ("The Board, at its sitting on 3 May 2021, discussed the study", DateRole.REVIEW),
        ("took part in the session of 3 May 2021", DateRole.COMPLETION),
        ("Earlier renewals: 2020-05-03, 2021-05-03\nkeep to the approval", DateRole.EARLIER),
        ("First approved 3 May 2020 and 3 May 2021. The Board approved it", DateRole.EARLIER),
        ("9/14/2022 Northfield Mail - Exempt", None),
        ("No: NU/Approval/57 Date: 22-12-2020\nClearance", None),
        ("Action Date: 23 May 2023", DateRole.DECISION),
        ("held from 6th to 8th June, 2022", DateRole.COMPLETION),
        ("one year, up to 21 November 2022", DateRole.END),
        ("Signature ____ Date ____\nIRB approved 27 September 2021", DateRole.APPROVAL),
        ("The study was first approved on 3 May 2021", DateRole.EARLIER),
        ("Its approval would have\nended on 3 May 2021", DateRole.OTHER),
        (
            "The Committee has discussed it for a long time, and approval was\ngiven on 3 May 2021",
            DateRole.APPROVAL,
        ),
        ("Approval ceases on 3 May 2021", DateRole.END),
        ("Due 3 May 2021", DateRole.OTHER),
        ("IRB APPROVED\nFrom 3 May 2021", DateRole.APPROVAL),
        ("Your next review is scheduled for 3 May 2021", DateRole.OTHER),
        ("Effectivity of approval: 3 May 2021", DateRole.APPROVAL),
        ("Date of judgement: 3 May 2021", DateRole.DECISION),
        ("Records of a chart review from 3 May 2021", DateRole.BEGINNING),
        ("This will be brought to the meeting of 3 May 2021", DateRole.OTHER),
        ("Extract of the minutes of the meeting held on 3 May 2021", DateRole.DECISION),
        ("Parental permission 3 May 2021", None),
        ("Approval letter 2021-05-03_signed.pdf", DateRole.VERSION),
        ("Date of the meeting on renewal: 3 May 2021", DateRole.REVIEW),
        ("valid until the end date which you gave in the form (3 May 2021)", DateRole.END),
        ("Renewal due: 3 May 2021", DateRole.END),
        ("Retraining required by 3 May 2021", DateRole.END),
        ("If the survey is still open on 3 May 2021", DateRole.END),
        ("Void after 3 May 2021", DateRole.END),
        ("It lasts until the end date in your application, 3 May 2021", DateRole.END),
        ("The Board has, on 3 May 2021, granted permission", DateRole.APPROVAL),
        ("This vote was given on 3 May 2021", DateRole.DECISION),
        ("DALMOOR IRB - APPROVED\nDate: 3 May 2021", DateRole.APPROVAL),
        ("DALMOOR IRB - NOT APPROVED\nDate: 3 May 2021", None),
        ("Form 3.1 (Decision), Version 5, effective 3 May 2021", DateRole.OTHER),
        ("Template CV v3, 3 May 2021", DateRole.OTHER),
        ("Site form, based on Master ICF Version 3.0, 3 May 2021", DateRole.OTHER),
        ("Import Permission No.: CT/55/2021 dated 3 May 2021", DateRole.OTHER),
        ("Consent form version 2, 3 May 2021", DateRole.VERSION),
        ("Information for parents, rev. 3.5.2021", DateRole.VERSION),
        ("took part in the workshop\nGood Practice\non 2 and 3 May 2021", DateRole.COMPLETION),
        ("The Chair signed the approval on 3 May 2021", DateRole.APPROVAL),
        ("The study, which the Committee approved on 3 May 2021", DateRole.EARLIER),
        ("It was considered on 2 May 2021 and again on 3 May 2021", DateRole.REVIEW),
        (
            "considered on 2 May 2021 and again on 3 May 2021, when it decided not to approve it",
            DateRole.DECISION,
        ),
        ("If you wish to continue the study after 3 May 2021", DateRole.END),
        ("Modification request approved 3 May 2021", DateRole.APPROVAL),
        ("The ratifying meeting will be on 3 May 2021", DateRole.OTHER),
        ("This approval will be ratified at the meeting of 3 May 2021", DateRole.OTHER),
        ("The meeting of the Committee was held on 3 May 2021 at 3.00 p.m.", DateRole.REVIEW),
        ("At its meeting of 3 May 2021 the Panel decided to defer it.", DateRole.DECISION),
        ("Members who were present at the meeting on 3 May 2021", DateRole.OTHER),
    ],
)
def test_the_role_of_a_date_is_that_of_its_own_line_and_clause(text, role):
    *_, found = find_roles(text, month_first=True)
    assert found.role is role


def test_an_earlier_approval_is_not_that_of_an_amendment():
    values = read(
        "irb-amendment-approval",
        *HEAD,
        "Original approval date: 14 February 2019",
        "This modification approved: 29 November 2021",
        "Previous expiration date: 13 February 2021",
        "Approval ends: 13 February 2022",
    )
    assert values["approval_date"].day == date(2021, 11, 29)
    assert values["expiry_date"].day == date(2022, 2, 13)


def test_an_approval_long_before_the_meeting_on_an_amendment_is_not_its_approval():
    values = read(
        "irb-amendment-approval",
        *HEAD,
        "The amendment was reviewed at the meeting held on 13 January 2022.",
        "The study was given a favourable opinion on 4 May 2017.",
    )
    assert values["approval_date"].day == date(2022, 1, 13)
    assert not values["approval_date"].is_sure


def test_the_date_of_a_letter_is_in_doubt_if_the_committee_decided_on_another_day():
    values = read(
        "irb-changes-requested",
        *HEAD,
        "23 October 2020",
        "",
        "Dear Dr Brandt,",
        "At its meeting of 21 October 2020 the Committee decided to defer your application.",
    )
    assert values["decision_date"].day == date(2020, 10, 21)
    assert not values["decision_date"].is_sure


def test_a_meeting_is_in_doubt_if_a_validity_begins_on_another_day():
    values = read(
        "irb-approval", *HEAD, "Date of meeting: 14 March 2019", "", "Valid from: 25 March 2019"
    )
    assert not values["approval_date"].is_sure


@pytest.mark.parametrize("written", ["Sept. 4, 2020", "04SEP2020"])
def test_a_date_with_a_short_month_has_a_role(written):
    values = read("irb-approval", *HEAD, f"Your approval expires at midnight on {written}.")
    assert values["expiry_date"].day == date(2020, 9, 4)


def test_a_text_above_the_caption_of_a_date_in_another_column_does_not_change_it():
    values = read(
        "irb-approval",
        *HEAD,
        "Subject:            Approval",
        "Date:               30 March 2021",
        "",
        "The committee approved it on 25 March 2021.",
    )
    assert values["approval_date"].day == date(2021, 3, 25)


def test_the_end_of_a_training_is_not_the_end_of_an_approval():
    values = read(
        "irb-approval", *HEAD, "Your training of human subjects is valid until March 15, 2023."
    )
    assert "expiry_date" not in values


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


# Places of values


def test_the_day_of_a_meeting_is_not_preferred_to_the_day_of_the_approval():
    values = read(
        "irb-approval",
        *HEAD,
        "The project was considered by the Committee at its meeting held on 21 October 2020.",
        "I am pleased to advise that ethical approval was granted on 2 November 2020.",
    )
    assert values["approval_date"].day == date(2020, 11, 2)


def test_the_day_of_a_meeting_is_the_day_of_the_approval_if_no_other_is_printed():
    values = read("irb-approval", *HEAD, "The Committee discussed the study on 28 June 2022.")
    assert values["approval_date"].day == date(2022, 6, 28)


def test_an_application_that_was_reviewed_is_not_dated_by_the_review():
    *_, found = find_roles(
        "The Committee reviewed your application on 14 May 2021", month_first=None
    )
    assert found.role is DateRole.REVIEW
    *_, found = find_roles(
        "The Committee reviewed your application of 14 May 2021", month_first=None
    )
    assert found.role is DateRole.SUBMISSION


def test_a_title_below_the_salutation_needs_no_caption():
    values = read(
        "irb-approval",
        *HEAD,
        "Dear Dr Brandt,",
        "",
        "2020/ETH01933: Sleep and learning in schools",
        "",
        "Thank you for submitting the above research project for single ethical review.",
    )
    assert values["title"].value == "Sleep and learning in schools"
    assert not values["title"].is_sure


def test_a_sentence_below_the_salutation_is_no_title():
    lines = ["Dear Dr Brandt,", "", "Thank you for the response to our questions of 3 May", ""]
    assert "title" not in read("irb-approval", *HEAD, *lines)


def test_a_disease_with_a_number_stays_in_a_title():
    values = read("irb-approval", *HEAD, "Study title: COVID-19, sleep and learning in schools")
    assert values["title"].value == "COVID-19, sleep and learning in schools"


def test_the_number_of_a_public_register_is_no_other_reading():
    values = read("irb-approval", *HEAD, "Protocol number: ABX-101 (NCT01234567)")
    assert values["protocol_number"].is_sure


def test_the_reference_of_the_office_is_not_preferred_to_that_of_the_committee():
    values = read(
        "irb-approval", *HEAD, "Our Ref:     AK/em/2230", "HREC Reference number: HREC/18/QMUR/447"
    )
    assert values["protocol_number"].value == "HREC/18/QMUR/447"
    assert not values["protocol_number"].is_sure


def test_a_reference_alone_in_the_head_of_a_letter_is_proposed():
    values = read("irb-approval", *HEAD, "IHEC-I/0812/21          Date: 19.11.2021")
    assert values["protocol_number"].value == "IHEC-I/0812/21"


@pytest.mark.parametrize("caption", ["License number", "Licence no.", "License"])
def test_a_number_in_a_table_of_other_persons_is_not_that_of_the_record(caption):
    value = read(
        "medical-licence",
        "State Board of Medicine",
        "License verification",
        "",
        "Name                   Iduna Falkenrath",
        f"{caption}:           MD44821",
        "",
        "Assistants             License        Relation",
        "Bram Oyelaran          PA9077          Supervised",
    )["licence_number"]
    assert value.value == "MD44821"


def test_the_version_of_the_protocol_is_read_in_a_table_of_documents():
    values = read(
        "irb-approval",
        *HEAD,
        "Document                 Version      Date",
        "Information sheet        3            1 August 2022",
        "Protocol                 2.1          1 August 2022",
    )
    assert values["protocol_version"].value == "2.1"


def test_a_name_above_its_caption_is_proposed():
    values = read(
        "protocol-signature-page",
        "INVESTIGATOR'S AGREEMENT",
        "Ann Smith",
        "Name of Principal Investigator",
    )
    assert values["investigator"].value == "Ann Smith"
    assert not values["investigator"].is_sure


@pytest.mark.parametrize(
    "caption", ["Applicant (staff or student)", "Investigator / sub-investigator"]
)
def test_a_name_in_a_cell_belongs_to_the_caption_in_the_next_cell(caption):
    values = read("irb-approval", *HEAD, f"{caption}          Ann Smith")
    assert values["investigator"].value == "Ann Smith"


def test_a_name_that_is_broken_over_two_lines_is_read_as_a_whole():
    values = read(
        "informed-consent-form",
        "The person who is in charge and answers your questions is not paid. The principal"
        " investigator is Ann",
        "Smith. You can call her on weekdays.",
    )
    assert values["investigator"].value == "Ann Smith"


def test_a_given_name_behind_the_comma_belongs_to_the_name():
    values = read("irb-approval", *HEAD, "To: Dr CHAN Wing-Yan, Vivian (Department of Social Work)")
    assert values["investigator"].value == "Dr CHAN Wing-Yan, Vivian"


def test_a_number_is_no_name():
    assert find_name_line("Reference REC-21-0355") == ""


def test_a_committee_in_the_letterhead_is_a_part_of_its_whole_name():
    values = read(
        "irb-approval",
        "Ethics Committee Research",
        "The Ethics Committee Research of Ashby Hospitals discussed the file of the study.",
    )
    assert values["irb_name"].value == "Ethics Committee Research of Ashby Hospitals"


def test_a_laboratory_on_a_line_of_its_own_needs_no_caption():
    values = read(
        "lab-certification",
        "College of Laboratory Accreditation",
        "CERTIFICATE OF ACCREDITATION",
        "Ashby Hospital Pathology Laboratory",
        "Laboratory Director",
    )
    assert values["lab_name"].value == "Ashby Hospital Pathology Laboratory"
    assert not values["lab_name"].is_sure


def test_the_number_of_a_certificate_may_begin_with_letters_and_strokes():
    values = read("gcp-certificate", "CERTIFICATE", "Certificate ID: LCRT/GCP/2023/0457")
    assert values["certificate_number"].value == "LCRT/GCP/2023/0457"


def test_a_sign_in_the_cell_of_a_caption_belongs_to_the_caption():
    values = read("financial-disclosure", "Site #        1027", "1. Do you have an interest?")
    assert values["site_number"].value == "1027"


# Titles


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Title: Chart review of antibiotic timing", "Chart review of antibiotic timing"),
        ("Study title: FNX-0113 for the prevention of pain", "FNX-0113 for the prevention of pain"),
        ("Re: Review of the research study: Sleep of nurses", "Sleep of nurses"),
        ("RE: IRB Approval \u2013 Sleep of night nurses (NU-2022-118)", "Sleep of night nurses"),
        ("Title: Audit of ward rounds (2016\u20132019)", "Audit of ward rounds (2016\u20132019)"),
    ],
)
def test_only_the_words_of_the_letter_are_left_out_of_a_title(line, title):
    assert read("irb-approval", *HEAD, line)["title"].value == title


def test_a_title_may_stand_below_the_number_of_the_application():
    values = read(
        "irb-approval",
        *HEAD,
        "Dear Dr Brandt,",
        "",
        "HREC reference: NU/2018/ETH00931",
        "Oxygen during transport of children with bronchiolitis",
        "",
        "Thank you for your application.",
    )
    assert values["title"].value == "Oxygen during transport of children with bronchiolitis"


def test_a_title_does_not_go_on_in_a_much_longer_line():
    values = read(
        "irb-acknowledgement",
        *HEAD,
        "Title: Antibiotic prescribing in school clinics today",
        "The Northfield Research Ethics Committee acknowledges the report that you sent in May.",
    )
    assert values["title"].value == "Antibiotic prescribing in school clinics today"


@pytest.mark.parametrize(
    "title", ["antibiotic timing in wards, 2016", "Role", "Assistant Professor"]
)
def test_a_title_that_may_be_none_of_a_study_or_lack_words_is_in_doubt(title):
    assert not read("irb-approval", *HEAD, f"Study title: {title}")["title"].is_sure


@pytest.mark.parametrize(
    "lines",
    [
        ["Informed Consent", "Humor in online support groups"],
        ["Humor in online support groups", "Informed Consent"],
        ["Informed Consent", "9 May 2022", "Humor in online support groups"],
        ["Informed Consent", "Ann Smith, Principal Investigator", "Humor in online support groups"],
    ],
)
def test_the_title_of_a_consent_form_is_the_line_beside_its_heading(lines):
    text = [
        f"You are asked to take part in part {number} of a study of humor." for number in "123456"
    ]
    values = read("informed-consent-form", "Northfield University", "", *lines, *text)
    assert values["title"].value == "Humor in online support groups"


def test_a_title_may_stand_below_the_words_of_a_certificate():
    values = read(
        "irb-approval",
        *HEAD,
        "Hall Street 14",
        "Northfield NF 203",
        "",
        "This is to certify that the research project",
        "",
        "Shared reading with grandparents over calls",
        "",
        "has been approved.",
    )
    assert values["title"].value == "Shared reading with grandparents over calls"


# Persons


@pytest.mark.parametrize(
    ("slug", "text", "name"),
    [
        (
            "confidentiality-agreement",
            'Company and Josephine Cole-Park, MD ("Recipient") agree.',
            "Josephine Cole-Park, MD",
        ),
        (
            "confidentiality-agreement",
            'Lena Brandauer, Hospital of Ashby ("Investigator") agrees.',
            "Lena Brandauer",
        ),
        (
            "protocol-signature-page",
            "Name of Investigator (print): Yukari Takemoto, MD",
            "Yukari Takemoto, MD",
        ),
        (
            "confidentiality-agreement",
            'It is made by Ashby Immune Ltd and Anneke Visser of the Polder Clinic ("Physician").',
            "Anneke Visser",
        ),
        (
            "irb-approval",
            "You asked for an opinion, with Ulrike Mansfeld as principal investigator.",
            "Ulrike Mansfeld",
        ),
        ("informed-consent-form", "I\u2019m Imogen Castell, a doctoral student.", "Imogen Castell"),
        ("informed-consent-form", "Who runs the study? Torvald Ekblad.", "Torvald Ekblad"),
        (
            "irb-exemption",
            'The project "Attitudes of bank tellers" by Mr Wycliffe Otieno is exempted.',
            "Wycliffe Otieno",
        ),
    ],
)
def test_the_words_around_a_name_show_the_investigator(slug, text, name):
    assert is_same_person(read(slug, *HEAD, text)["investigator"].value, name)


def test_the_name_below_the_heading_of_the_investigator_is_not_that_of_the_sponsor():
    values = read(
        "protocol-signature-page",
        "Sponsor approval",
        "Name: Gretchen Halloway, PhD",
        "",
        "Investigator agreement",
        "Name: Malakai Tupou, MBChB",
    )
    assert values["investigator"].value == "Malakai Tupou, MBChB"


def test_the_full_name_in_the_address_is_better_than_the_short_name_of_the_salutation():
    values = read(
        "irb-changes-requested",
        *HEAD,
        "Lev Abram Soroka",
        "Biomedical Engineering",
        "",
        "Dear Lev Soroka:",
        "",
        "Investigator: Lev Soroka",
    )
    assert values["investigator"].value == "Lev Abram Soroka"


# Numbers


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Application FoS-REC 112 - 2019", "FoS-REC 112 - 2019"),
        ("Your ref: TR/221\nOur ref: HM/20/0119", "HM/20/0119"),
        ("Registered as IRB # IRB00004419\nRE: renewal, study 07-1163, sleep", "07-1163"),
    ],
)
def test_the_number_of_a_study_is_read_with_its_acronym_and_is_not_that_of_the_board(text, number):
    assert read("irb-approval", *HEAD, *text.split("\n"))["protocol_number"].value == number


@pytest.mark.parametrize(
    "text",
    [
        'Good news: "Playlist choice and study habits" is exempt.',
        "Application: NU-22-31, Playlist choice and study habits",
        "Title: Playlist choice and study habits, protocol no. NU-22-31",
        "Study NU-22-31, Playlist choice and study habits",
        "Your project, NU-22-31, Playlist choice and study habits, was reviewed by the Chair.",
    ],
)
def test_a_title_is_read_without_the_words_and_numbers_around_it(text):
    assert read("irb-exemption", *HEAD, text)["title"].value == "Playlist choice and study habits"


def test_the_number_of_a_study_stands_between_its_sponsor_and_its_title():
    values = read("irb-approval", "PROTOCOL: Example Pharma, Inc. - HLV-3310-302, A phase 3 study")
    assert values["protocol_number"].value == "HLV-3310-302"
    assert not values["protocol_number"].is_sure


@pytest.mark.parametrize(
    "number",
    [
        "QNT-88-IIa",
        "C.R.E.C. 0318-22",
        "2022 FULL 12688",
        "GP-REB-2020-77",
        "2022-044-BRANDENSTEIN-RETENTION",
    ],
)
def test_numbers_of_studies_are_read_whole(number):
    values = read("irb-approval", "Northfield University", f"Protocol number: {number}")
    assert values["protocol_number"].value == number


def test_a_date_behind_the_words_of_another_event_is_not_that_of_a_caption():
    values = read(
        "irb-amendment-approval",
        "The expiration date of the study, which was last renewed on December 1, 2020, is kept.",
    )
    assert "expiry_date" not in values


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Approved. It has the number 16-17/03.", "16-17/03"),
        ("For complaints, mention dossier CETH-7714.", "CETH-7714"),
        ("Reviewed by the Saltmarsh IRB, #1819-114.", "1819-114"),
        ("Contact the office, and refer to STUDY00004417.", "STUDY00004417"),
        ("No objections to the study (ref. LEK-2023-41-b).", "LEK-2023-41-b"),
        ("Ethics number: 0214-AKT\u00dc-2021", "0214-AKT\u00dc-2021"),
    ],
)
def test_numbers_in_sentences_are_read_whole(text, number):
    assert read("informed-consent-form", "CONSENT FORM", text)["protocol_number"].value == number


def test_the_number_of_a_public_register_is_not_without_doubt():
    values = read(
        "informed-consent-form", "CONSENT FORM", "EU CT number: 2023-505555-11-00", "", "Page 1",
        "EU CT number: 2023-505555-11-00",
    )  # fmt: skip
    assert not values["protocol_number"].is_sure


def test_the_date_of_a_version_in_a_table_is_not_the_number_of_the_study():
    values = read("irb-approval", *HEAD, "Protocol (v4, clean) 2022-Nov-10")
    assert "protocol_number" not in values


@pytest.mark.parametrize(
    ("text", "number"),
    [
        # Behind the sign of a register of letters
        ("Prot. n. 0044871/2021", "0044871/2021"),
        ("Prot. No. 771-CE", "771-CE"),
        ("Prot. 2210/2019 of 3 May 2019", "2210/2019"),
        ("having regard to Law n. 675/1996", None),
        ("under Regulation (EU) n. 536/2014", None),
        # Behind the acronym of a committee that is a part of the number
        ("Decision on the ethics application SEK-KW 2021-17", "SEK-KW 2021-17"),
        ("CONSENT (file HW-REB 20114)", "HW-REB 20114"),
        ("Opinion on the dossier CE-LET 2022-104.", "CE-LET 2022-104"),
        ("In the application ERASMUS 2023 you ask for it.", None),
        # Between the parts of a subject
        ("Re: Ethics Notification - 4000017731 - Talking to machines", "4000017731"),
        ("Subject: Low-risk project \u2013 20417 \u2013 Talking to machines", "20417"),
        ("RE: Ethics application - 40917", "40917"),
        ("Re: Ethics approval - 2019 - Talking to machines", None),
        ("Re: Grant proposal - 100500 - Talking to machines", None),
        ("Re: Ethics approval - 4000 participants", None),
        # With the surnames of the researchers
        ("Re: LS-21-08-OSullivan-Brandt: Talking to machines", "LS-21-08-OSullivan-Brandt"),
        ("Our reference: REC-2020-114-Brandt", "REC-2020-114-Brandt"),
        ("Study: COVID-19-Related worries", None),
        # Telephones and registers
        ("No. NUMH/EC/2021-22/0318\nE-mail: ec@num.example Ph: 0444-2655501",
         "NUMH/EC/2021-22/0318"),
        ("Office: 0444-2655501", None),
        ("Ph: 265550", None),
        ("WhatsApp no. 944826555", None),
        ("Ph.D. thesis, ref. 2021/033", "2021/033"),
        ("No. NUMH/EC/2021-22/0318\nTrial registry submission (draft)    REF/2021/11/044512",
         "NUMH/EC/2021-22/0318"),
        ("DHR registration EC/NEW/INST/2020/4449", None),
    ],
)  # fmt: skip
def test_references_are_read_in_the_forms_of_many_institutions(text, number):
    value = read("irb-approval", "Northfield University", "", *text.split("\n"))
    assert (value["protocol_number"].value if number else value.get("protocol_number")) == number


@pytest.mark.parametrize("line", ["- Protocol NTB-771", "3. Protocol NTB-771", "- Study NTB-771"])
def test_a_number_in_a_list_of_documents_is_not_that_of_the_study(line):
    values = read(
        "irb-approval",
        *HEAD,
        "STUDY ID: STU00044871",
        "",
        "Documents approved:",
        "- Consent form, clean.pdf",
        f"{line}, 10/09/2018",
    )
    assert values["protocol_number"].value == "STU00044871"


INFORMATION = ["Information for participants", *["You will press a key at each sound."] * 20, ""]


@pytest.mark.parametrize(
    ("statement", "version", "day"),
    [
        ("I have read and understood the information (version 1.4 of 21.11.2018).", "1.4", True),
        ("I have read this information sheet, v1.4, 21 November 2018.", "1.4", True),
        ("I have read the leaflet dated 21 November 2018.", None, True),
        ("I have read the participant information sheet (version 1.4).", "1.4", False),
        ("I have read the information. The protocol has version 1.4.", None, False),
        ("I have read the information above and the policy (version 1.4).", None, False),
    ],
)
def test_the_version_of_the_information_is_read_in_the_statement_below_it(statement, version, day):
    values = read("informed-consent-form", *INFORMATION, statement)
    assert (values["version"].value if version else values.get("version")) == version
    found = values.get("version_date")
    assert (found.day if found else None) == (date(2018, 11, 21) if day else None)


def test_the_version_in_the_statement_of_a_form_alone_is_that_of_another_document():
    statement = "I have read the information sheet (version 1.4 of 21.11.2018)."
    values = read("informed-consent-form", "CONSENT FORM", "", statement)
    assert "version" not in values
    assert "version_date" not in values


@pytest.mark.parametrize(
    ("site", "version"),
    [
        ("Local governance version 06/08/2018", "1.4"),
        ("Site version 6 August 2018", None),
        ("Site version 2.0", "2.0"),
    ],
)
def test_the_version_of_a_master_is_valid_at_a_site_that_repeats_its_date(site, version):
    master = "Master Participant Information Sheet/Consent Form 06/08/2018, Version 1.4"
    values = read("informed-consent-form", *INFORMATION, master, site)
    assert (values["version"].value if version else values.get("version")) == version


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("Amendment             A02", "A02"),
        ("Amendment ID:         A-014", "A-014"),
        ("Amendment             AMD 3", "AMD 3"),
        ("Amendment             A4 posters", None),
    ],
)
def test_the_number_of_an_amendment_may_begin_with_letters(line, number):
    values = read("irb-amendment-approval", *HEAD, line, "", "The amendment is approved.")
    value = values.get("amendment_number")
    assert (value.value if value else None) == number


TWO_PANELS = "IRB registration: Panel A IRB00044411, Panel B IRB00044412"


@pytest.mark.parametrize(
    ("lines", "is_sure", "number"),
    [
        (["Reviewed by Panel B.", TWO_PANELS], True, "IRB00044412"),
        ([TWO_PANELS, "", "The study was reviewed by Panel A."], True, "IRB00044411"),
        (
            ["From: IRB #2", "IRB #1 (IRB00044411), IRB #2 (IRB00044412)"],
            True,
            "IRB00044412",
        ),
        (
            ["Committee 1, registration no. IRB00044411", "", "Panel B", "IRB00044412"],
            False,
            "IRB00044411",
        ),
        (["Panel A sends it to Panel B.", TWO_PANELS], False, "IRB00044411"),
        (["The study is approved.", TWO_PANELS], False, "IRB00044411"),
        (["The study IRB00044413 is approved.", "IRB00044411", "", "IRB00044413"], False, ""),
        (["IRB00044411", "", "Registered as IRB 00044411"], True, "IRB00044411"),
    ],
)
def test_one_of_several_registrations_is_without_doubt_if_the_text_names_its_panel(
    lines, is_sure, number
):
    value = read("irb-approval", "Northfield University", "", *lines)["irb_registration"]
    assert value.is_sure is is_sure
    assert value.value.startswith(number)


@pytest.mark.parametrize("number", ["ECR/555/Inst/TN/2014/RR-20", "EC00555", "NHREC/12/03/2015B"])
def test_the_numbers_of_national_registers_are_those_of_the_committee(number):
    values = read("irb-approval", *HEAD, f"Registered, no. {number}", "The study is approved.")
    assert values["irb_registration"].value == number


# Months


@pytest.mark.parametrize("written", ["October 2023", "Oct. 2023", "10/2023"])
def test_a_cv_may_be_dated_by_its_month(written):
    value = read("cv", "Curriculum vitae", "Ann Brandt", "", f"Last updated: {written}")[
        "document_date"
    ]
    assert (value.value, value.day, value.is_sure) == ("2023-10", date(2023, 10, 1), False)


def test_the_month_of_a_publication_is_not_the_date_of_a_cv():
    values = read(
        "cv", "Curriculum vitae", "Ann Brandt", "Revised edition of the handbook of sleep, May 2020"
    )
    assert "document_date" not in values


# Periods and stamps


def test_a_consent_form_is_approved_from_the_first_day_of_its_validity():
    values = read(
        "informed-consent-form", "CONSENT FORM", "Valid from 11/15/2018 through 11/14/2019."
    )
    assert values["approval_date"].day == date(2018, 11, 15)


def test_a_licence_counts_from_the_first_day_of_its_period_and_not_from_its_signature():
    values = read(
        "medical-licence",
        "ANNUAL PRACTISING CERTIFICATE",
        "is authorised to practise for the period from 1st January 2020 to 31st December 2020.",
        "",
        "Dated this 19th day of December 2019.",
    )
    assert values["effective_date"].day == date(2020, 1, 1)


# Words around titles, names and courses


@pytest.mark.parametrize(
    "lines",
    [
        ("It is called How nurses sleep at home and is carried out by a student.",),
        ("A project by Ann Brandt called How nurses sleep at home.",),
        ("The research entitled:", "\u201eHow nurses sleep at home\u201c"),
    ],
)
def test_a_title_is_read_in_a_sentence(lines):
    values = read("informed-consent-form", "CONSENT FORM", *lines)
    assert values["title"].value == "How nurses sleep at home"


@pytest.mark.parametrize("heading", ["Online Survey Consent Form", "Focus group consent form"])
def test_the_way_of_asking_is_no_title(heading):
    assert "title" not in read("informed-consent-form", heading, "You are invited to take part.")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Responsible researcher: dr. E.J. (Esm\u00e9e) van Loosbroek", "van Loosbroek"),
        ("Responsible for the study\nAnn Brandt, RN", "Ann Brandt"),
        ("I work with Dr. Ann Brandt, who is a lecturer and who is in charge of this research.",
         "Ann Brandt"),
        ("If you have questions, write to Prof. Ann Brandt (ann@example.org).", "Ann Brandt"),
        ("Project leader is associate professor Ann Brandt.", "Ann Brandt"),
    ],
)  # fmt: skip
def test_the_words_beside_a_name_show_the_investigator(text, name):
    values = read("informed-consent-form", "CONSENT FORM", *text.split("\n"))
    assert name in values["investigator"].value


def test_executive_researchers_are_not_the_investigator():
    values = read(
        "informed-consent-form", "CONSENT FORM", "Responsible researcher: Dr. Ann Brandt",
        "Executive researchers: S. Postma",
    )  # fmt: skip
    assert is_same_person(values["investigator"].value, "Ann Brandt")


def test_a_letter_is_to_its_addressee_and_not_to_the_person_to_contact():
    values = read(
        "irb-changes-requested", *HEAD, "TO: Monique Dell", "",
        "If you have questions, contact Bernadette Kohl.",
    )  # fmt: skip
    assert values["investigator"].value == "Monique Dell"


def test_the_officer_before_a_committee_is_no_part_of_its_name():
    values = read(
        "irb-approval", "MEMORANDUM", "FROM: Ann Brandt, Chair, Northfield Ethics Committee"
    )
    assert values["irb_name"].value == "Northfield Ethics Committee"


def test_a_note_beside_a_course_is_not_its_name():
    values = read(
        "gcp-certificate", "Has completed the following course:",
        "Not valid for renewal of certification through CME.",
    )  # fmt: skip
    assert "course" not in values


def test_an_abbreviation_behind_a_degree_is_another_degree():
    assert is_same_person("Ann Dunstan", "Ann Dunstan RN, BN, GradCertClinRes")


def test_capital_letters_behind_a_degree_are_another_degree():
    assert is_same_person("Ann Brandt, MD, FPCP, FPSEDM", "Ann Brandt")
    assert not is_same_person("ANN BRANDT", "ANN KELLER")


@pytest.mark.parametrize("text", ["Site: 1001", "Study site: Room 5"])
def test_the_number_of_a_site_is_no_institution(text):
    assert "institution" not in read("informed-consent-form", "CONSENT FORM", text)


def test_the_site_of_a_trial_is_the_institution():
    values = read(
        "informed-consent-form", "CONSENT FORM", "SITE: Northfield Research, 12 Mill Street"
    )
    assert "Northfield Research" in values["institution"].value


def test_a_title_that_ends_with_a_preposition_does_not_go_on_with_the_next_caption():
    values = read("irb-approval", *HEAD, "Title: The sleep that nurses dream of",
                  "Principal Investigator: Ann Brandt")  # fmt: skip
    assert values["title"].value == "The sleep that nurses dream of"


# Numbers and dates that a narrow cell, a list or a pair of captions cuts


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        (["Protocol Number: DLM MA.58"], "DLM MA.58"),
        (
            ["Our Ref: DALM/REC/2024-061", "1. Study Protocol V1.4 dated 8 May 2024"],
            "DALM/REC/2024-061",
        ),
        (["Protocol/Promise #: 0715 / 0021"], "0715 / 0021"),
        (["No. DLM-HUM-23.09.17"], "DLM-HUM-23.09.17"),
    ],
)
def test_the_number_of_a_study_is_read_whole(lines, number):
    assert read("irb-approval", *HEAD, *lines)["protocol_number"].value == number


def test_a_number_in_two_parts_is_in_doubt():
    values = read("irb-approval", *HEAD, "Protocol/Promise #: 0715 / 0021")
    assert values["protocol_number"].is_unconfirmed


@pytest.mark.parametrize(
    ("upper", "lower", "joined"),
    [
        ("03/14/20", "24", "03/14/2024"),
        ("DLM-417", "-302", "DLM-417-302"),
        ("DLM-418-", "302", "DLM-418-302"),
        ("DLM-417", "302", None),
        ("12", "-302", None),
        ("03/14/20", "2024", None),
    ],
)
def test_the_parts_of_a_broken_number_are_joined(upper, lower, joined):
    page = make_page(upper, lower)
    left, top = page.words[0].box.left, page.words[0].box.bottom + 2
    below = page.words[1].box._replace(left=left, top=top, bottom=top + 8)
    page = replace(page, words=(page.words[0], page.words[1].moved_to(below)))
    words = join_broken_words(make_reading(page)).pages[0].words
    assert [word.text for word in words] == ([joined] if joined else [upper, lower])


def test_the_day_of_issue_is_not_that_of_the_course():
    values = read(
        "rcr-certificate",
        "Jonas Feldkamp",
        "took part in the two-day workshop",
        "Good Scientific Practice",
        "on 16 and 17 March 2022 (16 units, online).",
        "Dalmoor, 4 April 2022",
    )
    assert values["completion_date"].value == "2022-03-17"


def test_an_approval_from_the_date_of_the_letter_on_has_this_date():
    values = read(
        "irb-approval",
        *HEAD,
        "18 May 2023",
        "",
        "Dear Dr Brandt,",
        "The project was considered by the Committee at its meeting of 19 April 2023.",
        "Ethical approval is granted from the date of this letter for five years.",
    )
    assert values["approval_date"].value == "2023-05-18"


def test_a_numeric_date_of_two_readings_competes_with_the_date_of_the_letter():
    values = read(
        "irb-changes-requested",
        *HEAD,
        "Letter date: November 10, 2022",
        "Dear Dr Brandt,",
        "On 11/8/2022 the Board reviewed the new study and asks for changes.",
    )
    assert not values["decision_date"].is_sure


# Titles that are printed twice, and words that a scan cuts


def test_a_title_is_found_below_the_heading_of_a_form_that_was_printed_from_a_browser():
    values = read(
        "informed-consent-form",
        "Adult Consent Online",
        "",
        "NORTHFIELD UNIVERSITY",
        "",
        "Adult Consent Form (Online)",
        "Memory and Music in Children and Adults",
        "CPHS# 2026-08-5546",
        "",
        "You are being asked to participate in a research study.",
    )
    assert values["title"].value == "Memory and Music in Children and Adults"


def test_a_title_that_begins_with_a_quoted_name_is_read_up_to_its_end():
    title = 'The "Walk On" (WON) Trial: Exercise after a first stroke in rural regions of the north'
    values = read(
        "informed-consent-form",
        'Consent to participate: The "Walk On" (WON)',
        "Trial",
        "",
        f"Project Title: {title}",
        "Sponsor: Northfield University",
    )
    assert values["title"].value == title


def test_of_two_writings_on_a_scan_the_one_whose_last_word_is_whole_is_read():
    values = read(
        "irb-approval",
        "FAHS Research Ethics Committee, DI",
        "",
        "The FAHS Research Ethics Committee, DIU is pleased to inform you that it has approved",
        source=TextSource.OCR,
        confidence=95.0,
    )
    assert values["irb_name"].value == "FAHS Research Ethics Committee, DIU"
    assert not values["irb_name"].is_sure


# Names


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Investigator: Site File", None),
        ("Investigator: Item Entry", None),
        ("Investigator: Mark Price", "Mark Price"),
        ("Investigator: Dr. Long Day", "Dr. Long Day"),
    ],
)
def test_a_name_does_not_consist_of_ordinary_words_alone(line, name):
    found = read("financial-disclosure", "Financial Disclosure Form", "", line).get("investigator")
    assert (found and found.value) == name


def test_a_name_of_one_word_is_in_doubt():
    whole = read("delegation-log", "Delegation Log", "Principal Investigator: Dr. Aino Virtanen")
    part = read("delegation-log", "Delegation Log", "Principal Investigator: Dr. Aino")
    assert (whole["investigator"].is_sure, part["investigator"].is_sure) == (True, False)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Dr. Vikram A. Sethna, MD, DM (Neurology)", "Dr. Vikram A. Sethna, MD, DM"),
        ("Dr. Vikram A. Sethna", "Dr. Vikram A. Sethna"),
    ],
)
def test_the_speciality_of_a_degree_is_no_part_of_a_name(line, name):
    assert find_name_line(line) == name


def test_a_sentence_that_begins_with_i_is_no_initial():
    values = read("informed-consent-form", "Information Sheet", "", "My name is Ann Cole. I am a")
    assert trim("Ann Cole. I am a nurse") == "Ann Cole"
    assert "investigator" not in values or values["investigator"].value == "Ann Cole"


def test_a_given_name_behind_a_chinese_name_leaves_it_in_doubt():
    form = ["Consent Form", "", "Principal Investigator & Contact Details:"]
    part = read("informed-consent-form", *form[:2], f"{form[2]} Dr Tan Wei Jun, Clara, Professor")
    assert not part["investigator"].is_sure


# Versions and periods


@pytest.mark.parametrize(
    "footer",
    [
        ["Master Consent Form, version 2.0, 3 May 2021", "Site version 2.1, 8 June 2021"],
        ["Master ICF Version 2.0, 3 May 2021. Local ICF Version 2.1, 8 June 2021"],
    ],
)
def test_the_version_of_a_site_is_read_and_not_that_of_its_master(footer):
    values = read("informed-consent-form", "Participant Information and Consent", "", *footer)
    found = values["version"].value, values["version_date"].day
    assert found == ("2.1", date(2021, 6, 8))
    assert not values["version"].is_sure  # a person may mean that of the master


@pytest.mark.parametrize(
    "footer", ["Master Consent Form, version 2.0", "Site form, based on Master ICF Version 2.0"]
)
def test_the_version_of_a_master_is_read_if_the_site_has_none(footer):
    values = read("informed-consent-form", "Participant Information and Consent", "", footer)
    assert values["version"].value == "2.0"


def test_the_end_of_the_period_before_is_not_the_end_of_the_approval():
    values = read(
        "irb-continuing-review",
        *HEAD,
        "Continuing Review Approval",
        "Current approval ends on: 13 May 2021",
        "New period from: 14 May 2021",
        "to: 13 May 2022",
    )
    assert values["expiry_date"].day == date(2022, 5, 13)


# Committees


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Ethics Committee of Ashby College, 12 High Street, 97555 Ashby", "of Ashby College"),
        ("Research Compliance | Ashby College Ethics Committee", "Ashby College Ethics"),
        ("Ashby College Ethics Committee \u00b7 Campus Box 4410", "Ashby College Ethics"),
    ],
)
def test_an_address_or_a_unit_beside_a_committee_is_no_part_of_its_name(line, name):
    found = read("irb-approval", line, "", "Approval of the study")["irb_name"].value
    assert found in {f"Ethics Committee {name}", f"{name} Committee"}


@pytest.mark.parametrize("line", ["THIS STUDY IS EXEMPT FROM IRB", "WE CERTIFY THAT THIS IRB MET"])
def test_a_sentence_in_capital_letters_is_no_committee(line):
    assert "irb_name" not in read("irb-exemption", "Exemption", "", line)


def test_the_title_of_a_study_goes_on_with_a_preposition_and_capital_letters():
    values = read(
        "informed-consent-form",
        "RESEARCH CONSENT FORM",
        "Title of Study: Music and Sleep in Nurses",
        "With Tinnitus",
        "Principal Investigator: Ann Cole, PhD",
    )
    assert values["title"].value == "Music and Sleep in Nurses With Tinnitus"


def test_the_number_of_a_section_is_no_date():
    text = "exempt in line with sections 5.1.22 and 5.1.23 of the National Statement"
    assert not [*find_roles(text, month_first=False)]
    assert [*find_roles("approved on 5.1.22", month_first=False)]


def test_a_period_may_have_a_caption_at_each_end():
    roles = find_roles("Valid From: 15 June 2023     To: 14 June 2024", month_first=False)
    assert [each.role for each in roles] == [DateRole.BEGINNING, DateRole.END]


def test_a_committee_that_resolved_in_the_next_sentence_decided_at_its_meeting():
    text = "was reviewed at the meeting held on 17 May 2023. The committee resolved as follows"
    assert [each.role for each in find_roles(text, month_first=False)] == [DateRole.DECISION]


@pytest.mark.parametrize(
    ("line", "name", "number"),
    [
        ("IRB Registration: 00055348", "irb_registration", "IRB00055348"),
        ("Federal Wide Assurance Number: 00055847", "fwa_number", "FWA00055847"),
    ],
)
def test_a_number_without_its_letters_is_read_with_them_and_in_doubt(line, name, number):
    value = read("irb-approval", *HEAD, "Approval", line)[name]
    assert (value.value, value.is_sure) == (number, False)


def test_the_telephone_below_a_site_is_no_institution():
    lines = ["SITE: Ashby Lung Centre, 12 Mill Road", "STUDY-RELATED PHONE NUMBER(S): 555-0100"]
    values = read("informed-consent-form", "Consent Form", "", *lines)
    assert values["institution"].value.startswith("Ashby Lung Centre")


def test_a_title_in_a_cell_goes_on_behind_a_colon():
    values = read(
        "irb-approval",
        *HEAD,
        "Project title:           Closed-Loop Insulin Delivery for Inpatients with Cystic",
        "                         Fibrosis-Related Diabetes: A Crossover Trial",
        "Committee:               Northfield Research Ethics Committee",
    )
    title = "Closed-Loop Insulin Delivery for Inpatients with Cystic Fibrosis-Related Diabetes"
    assert values["title"].value == f"{title}: A Crossover Trial"


def test_the_name_of_a_course_goes_on_with_one_word():
    values = read(
        "social-behavioral-certificate",
        "awarded to",
        "Maurice Brooks",
        "for the completion of",
        "Social and Behavioral Research Ethics for Students and Faculty",
        "Advisors",
    )
    assert values["course"].value.endswith("Students and Faculty Advisors")


def test_the_name_of_a_site_behind_its_number_is_no_person():
    values = read(
        "financial-disclosure",
        "Financial Disclosure Form",
        "Site number / name: 118 / Front Range Skin Research, LLC",
        "Name of investigator: Leopold Castaneda, PA-C",
    )
    assert values["investigator"].value == "Leopold Castaneda, PA-C"


@pytest.mark.parametrize(
    "sentence",
    [
        "Approval needs to be renewed annually by 11 May 2023.",
        "The date on which the protocol must be renewed, which remains 11 May 2023, is kept.",
    ],
)
def test_the_day_by_which_an_approval_has_to_be_renewed_is_its_end(sentence):
    values = read("irb-approval", *HEAD, "Approved on 11 May 2022.", sentence)
    assert values["expiry_date"].day == date(2023, 5, 11)


def test_a_date_below_the_end_of_a_sentence_is_that_of_the_letter():
    values = read(
        "irb-approval",
        *HEAD,
        "Do not start your study until you receive the confirmation of each site.",
        "21 March 2024",
        "",
        "Dear Dr Brandt",
        "I am pleased to confirm a favourable ethical opinion.",
    )
    assert values["approval_date"].day == date(2024, 3, 21)
    assert "expiry_date" not in values


def test_the_day_of_an_approval_in_a_sentence_comes_before_that_of_the_meeting():
    values = read(
        "irb-approval",
        *HEAD,
        "Date of meeting:        26 April 2022",
        "Type of review:         Full committee",
        "The application was approved by the Committee on 11 May 2022 as resolved by its",
        "quorate meeting.",
    )
    assert values["approval_date"].day == date(2022, 5, 11)


def test_an_opinion_between_quotation_marks_is_no_title():
    values = read(
        "irb-disapproval",
        *HEAD,
        "Re: An open pilot study of repeated ketamine infusions for adolescents",
        'The decision is that the study is not approved ("unfavourable opinion").',
    )
    assert values["title"].value.startswith("An open pilot study")


def test_an_item_of_a_list_is_no_heading_above_the_names_of_members():
    values = read(
        "irb-approval",
        *HEAD,
        "To",
        "Dr. Meenakshi Thimmaiah, MD",
        "",
        "Dear Dr. Thimmaiah,",
        "",
        "e. Investigator's undertaking and CV",
        "The following members were present:",
        "No.    Name                       Role",
        "1      Dr. Prabhakar Hegde        Chairperson",
    )
    assert values["investigator"].value == "Dr. Meenakshi Thimmaiah, MD"


def test_the_first_word_of_an_address_is_no_part_of_a_committee():
    values = read(
        "irb-exemption",
        "Institutional Review Board for the Protection of Human Subjects",
        "Box 1187, Larkmoor, Vermont 05955",
        "From: Desmond Quill, Chair, Larkmoor College IRB",
    )
    assert values["irb_name"].value == "Larkmoor College IRB"


def test_a_number_may_have_a_second_one_with_a_colon_in_brackets():
    values = read("irb-approval", *HEAD, "REB File No.: HS26155 (H2024:017)")
    assert values["protocol_number"].value == "HS26155 (H2024:017)"


def test_a_committee_may_describe_itself_on_page_2():
    pages = (
        make_page("CERTIFICATE OF ACTION", "Solwyn Review Services", number=1),
        make_page("Solwyn Institutional Review Board is organized under 21 CFR 56.", number=2),
    )
    values = {each.name: each for each in read_fields(make_reading(*pages), TYPES["irb-approval"])}
    assert values["irb_name"].value == "Solwyn Institutional Review Board"


def test_the_version_of_a_site_may_stand_on_another_page_than_that_of_its_master():
    pages = (
        make_page("Participant Consent", "Main ICF: Version 2.0, 12 Jan 2023", number=1),
        make_page("Site-specific ICF: Version 2.1, 22 Feb 2023", number=2),
    )
    kind = TYPES["informed-consent-form"]
    values = {each.name: each for each in read_fields(make_reading(*pages), kind)}
    version = values["version"]
    assert (version.value, version.is_sure) == ("2.1", False)


def test_days_at_two_captions_of_the_same_words_are_in_doubt():
    values = read(
        "lab-certification",
        "CERTIFICATE OF ACCREDITATION",
        "EFFECTIVE DATE",
        "10/05/2022",
        "EXPIRATION DATE",
        "10/04/2024",
        "",
        "LAB CERTIFICATION (CODE)      EFFECTIVE DATE",
        "BACTERIOLOGY (110)            10/05/2010",
    )
    assert not values["effective_date"].is_sure


def test_the_name_of_a_company_is_no_person():
    values = read(
        "financial-disclosure",
        "Role:                 Principal Investigator",
        "Site:                 Pinnacle Mesa Digestive Research, LLC",
    )
    assert "investigator" not in values


def test_a_unit_with_its_address_is_no_part_of_the_committee_above_it():
    values = read(
        "irb-continuing-review",
        "GULFCOAST POLYTECHNIC UNIVERSITY",
        "Institutional Review Board for the Protection of Human Subjects",
        "Division of Research, Box 5550, Marisol, TX 78555",
    )
    assert values["irb_name"].value.endswith("Human Subjects")


def test_the_version_of_the_original_protocol_is_in_doubt():
    values = read(
        "protocol-signature-page",
        "Protocol Number:      QLR-118-302",
        "Original Protocol:    Version 1.0, 14 June 2023",
    )
    assert "protocol_version" not in values or not values["protocol_version"].is_sure


def test_the_number_of_one_site_comes_behind_that_of_the_committee():
    values = read(
        "irb-approval", *HEAD, "Local project number: KLHN-23-09", "HREC reference: 2023/ETH00177"
    )
    assert values["protocol_number"].value == "2023/ETH00177"


def test_a_day_and_a_month_are_no_number_of_a_study():
    values = read("irb-approval", *HEAD, "Protocol 07/Jun/2022", "Project ID: 118355")
    assert values["protocol_number"].value == "118355"


def test_a_registration_of_the_department_of_health_research_is_read():
    values = read("irb-approval", *HEAD, "DHR Reg. No. EC/NEW/INST/2021/1855")
    assert values["irb_registration"].value == "EC/NEW/INST/2021/1855"


def test_the_investigator_of_the_site_signs_and_not_that_of_the_whole_trial():
    values = read(
        "protocol-signature-page",
        "Coordinating investigator:   Prof Edwin Maratta",
        "Site principal investigator:",
        "Name (print):   Dr Saoirse Lim-Hargreaves",
    )
    assert values["investigator"].value == "Dr Saoirse Lim-Hargreaves"


def test_other_participating_researchers_are_not_the_investigator():
    values = read(
        "irb-approval",
        *HEAD,
        "Researcher responsible for the project",
        "Asa Lindqvist, senior lecturer",
        "Other participating researchers: Jorgen Ek",
    )
    assert not is_same_person(values["investigator"].value, "Jorgen Ek")


@pytest.mark.parametrize(
    ("line", "name", "day"),
    [
        ("The end date of the ethical approval is unchanged (30 April 2026).", "expiry_date", 30),
        ("Project start: 20 March 2023", "approval_date", None),
        ("A waiver is granted for records with dates of service from 1 July 2019.", "", None),
        ("A provisional opinion was issued on 16 February 2024.", "", None),
        ("CDSCO permission CT-06 No. CT/ND/55/2023 dated 2 May 2023", "", None),
    ],
)
def test_a_date_of_something_else_is_no_approval(line, name, day):
    values = read("irb-approval", *HEAD, line)
    assert "approval_date" not in values
    if day:
        assert values[name].day.day == day


def test_a_sub_committee_is_a_committee():
    values = read(
        "irb-approval",
        "University of Wexcombe",
        "Your project has been approved by the",
        "School of Social Sciences and Law Research Ethics Sub-Committee.",
    )
    assert values["irb_name"].value.endswith("Law Research Ethics Sub-Committee")


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("ECSS approval number: ECSS-2022-11-04", "ECSS-2022-11-04"),
        ("Dnr NHU 2022/318", "NHU 2022/318"),
        ("NorthLight IRB 2700 Observatory Road", None),
    ],
)
def test_numbers_like_dates_and_streets_are_told_apart(line, number):
    values = read("irb-approval", *HEAD, line)
    assert (values["protocol_number"].value if "protocol_number" in values else None) == number


@pytest.mark.parametrize(
    "lines",
    [
        ("IRB Protocol #      HRPP-24-0391", "Sponsor Protocol #  ADC-7201-003"),
        ("Project: HRPP-24-0391, Sponsor protocol ADC-7201-003",),
    ],
)
def test_the_number_of_the_sponsor_comes_before_that_of_the_committee(lines):
    assert read("irb-approval", *HEAD, *lines)["protocol_number"].value == "ADC-7201-003"


def test_the_number_of_a_modification_has_the_form_of_its_system():
    values = read("irb-amendment-approval", *HEAD, "Link: MOD00009126", "Amendment 1 of the study")
    assert values["amendment_number"].value == "MOD00009126"


def test_the_organisation_at_an_address_is_the_institution():
    values = read(
        "informed-consent-form",
        "INFORMED CONSENT FORM",
        "Address:      Front Range Skin Research, LLC, 1190 Tamarack Court",
    )
    assert values["institution"].value == "Front Range Skin Research, LLC"


def test_a_title_between_quotation_marks_may_be_all_of_its_lines():
    values = read(
        "irb-approval",
        'Northfield Institutional Review Board "A"',
        "Sponsor protocol: NPH221-A04",
        '"A Multicenter, Open-Label Study of the Long-Term Safety of',
        'Teravodustat in Patients with IgA Nephropathy"',
        "Dear Dr. Delacroix:",
    )
    assert values["title"].value.startswith("A Multicenter, Open-Label Study")
    assert values["title"].value.endswith("IgA Nephropathy")


def test_the_name_of_a_course_is_read_up_to_its_second_quotation_mark():
    values = read(
        "gcp-certificate",
        "attended the training",
        '"Good Clinical Practice for Investigators, including ICH',
        'E6 (R2) and Regulation (EU) No 536/2014"',
    )
    assert values["course"].value.endswith("No 536/2014")


def test_an_item_of_a_list_is_no_course():
    values = read(
        "gcp-certificate", "Modules that have been completed", "\u2022 Research in the NHS"
    )
    assert "course" not in values or "NHS" not in values["course"].value


def test_a_version_may_be_a_year_and_a_number():
    values = read("lab-normal-ranges", "Reference intervals", "Version: 2023-2")
    assert values["version"].value == "2023-2"


def test_the_number_of_a_study_is_no_title():
    values = read("irb-disapproval", *HEAD, "Project:   Sponsor protocol SPX-ARDS-09")
    assert "title" not in values


@pytest.mark.parametrize(
    "line",
    [
        "CTRI registration and DCGI approval letter (CT-NOC) dated 20 September 2023",
        "A waiver of authorization is granted for records from 1 January 2018.",
    ],
)
def test_a_permission_of_an_authority_or_a_waiver_is_no_approval_of_the_committee(line):
    assert "approval_date" not in read("irb-approval", *HEAD, line)


def test_a_meeting_with_its_time_of_day_in_the_next_line_is_no_printout():
    values = read(
        "irb-approval",
        *HEAD,
        "22 November 2023",
        "",
        "Dear Dr Brandt,",
        "The committee reviewed and discussed the application in its meeting held on",
        "18 November 2023 at 10:30 a.m.",
    )
    assert values["approval_date"].day == date(2023, 11, 18)


def test_specialities_behind_several_degrees_are_no_part_of_a_name():
    name = "Dr. Anjali R. Deshmukhe, MD (Medicine), DM (Endocrinology)"
    assert find_name_line(name) == "Dr. Anjali R. Deshmukhe, MD, DM"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (
            "From: Willowbank University Committee on Human Investigations",
            "Willowbank University Committee on Human Investigations",
        ),
        (
            "The Strathbeg (2) Research Ethics Committee gave a favourable opinion.",
            "Strathbeg (2) Research Ethics Committee",
        ),
    ],
)
def test_committees_with_a_number_or_for_human_investigations_are_read(line, name):
    assert read("irb-approval", line)["irb_name"].value == name


def test_the_only_printed_name_below_the_heading_of_the_page_is_the_investigators():
    values = read(
        "protocol-signature-page",
        "INVESTIGATOR SIGNATURE PAGE",
        *["I have read this protocol, and I will conduct the study as it is outlined herein."] * 12,
        "I understand that the study may be terminated or enrollment suspended at any time by the"
        " sponsor, with or without cause.",
        "Signature:      ______________      Date: __________",
        "Printed name:   Ambrose T. Kilgannon, MD",
    )
    assert values["investigator"].value == "Ambrose T. Kilgannon, MD"


def test_the_reference_of_the_sponsor_is_the_number_of_the_protocol():
    values = read("protocol-signature-page", "Sponsor's reference   CTU-2022-117")
    assert values["protocol_number"].value == "CTU-2022-117"


def test_a_protocol_is_named_behind_its_sponsor():
    lines = ("IRB protocol no. 20-004417", "SPONSOR: Kavanta Pharma AG, protocol KV41106")
    values = read("irb-approval", *HEAD, *lines)
    assert values["protocol_number"].value == "KV41106"


def test_the_day_of_a_meeting_is_in_doubt_beside_that_of_the_letter():
    letter = ("Date: 29 April 2024", "Dear Dr. Sandhu,", "Changes are required before approval.")
    meeting = "REB meeting: 23 April 2024"
    beside = read("irb-changes-requested", *HEAD, meeting, *letter)["decision_date"]
    assert not beside.is_sure
    assert read("irb-changes-requested", *HEAD, *letter)["decision_date"].confidence > (
        beside.confidence
    )


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("The renewal is effective from 2022-12-11 and is valid until 2023-12-11.", 2023),
        ("Renewal form submitted: 2022-11-07", None),
    ],
)
def test_a_renewal_is_no_end_of_its_own(line, day):
    values = read("irb-continuing-review", *HEAD, "Date: 18 November 2022", line)
    assert (values["expiry_date"].day.year if "expiry_date" in values else None) == day


def test_the_digits_of_a_number_behind_its_letters_are_no_date():
    assert not list(find_dates("Reference: REC-23-11-07-01-E", short_years=True))


@pytest.mark.parametrize(
    ("heading", "sentence", "name"),
    [
        (
            "Research Governance and Ethics Office",
            "Approved by the Corella Health Network Human Research Ethics Committee.",
            "Corella Health Network Human Research Ethics Committee",
        ),
        (
            "Research Ethics Committee, Aras Bawn, Clonmarra",
            "It was considered by the Clonmarra University Research Ethics Committee.",
            "Clonmarra University Research Ethics Committee",
        ),
        (
            "Exempt Determination",
            "Reviewing committee: Ridgemont A&T University IRB",
            "Ridgemont A&T University IRB",
        ),
        (
            "Certificate of Exemption",
            "Sent to the Research Ethics Committee of Qasr University. Form REC-05, Issue 3",
            "Research Ethics Committee of Qasr University",
        ),
    ],
)
def test_the_committee_is_named_with_its_institution(heading, sentence, name):
    values = read("irb-approval", heading, "Dear Dr. Sandhu,", sentence)
    assert values["irb_name"].value == name


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (
            (
                "for completing the course",
                "Introduction to Good Clinical Practice (GCP): A practical guide to standards",
            ),
            "Introduction to Good Clinical Practice (GCP): A practical guide to standards",
        ),
        (
            (
                "Interagency Panel for Research Ethics Training",
                "successfully completed the / a termin\u00e9 avec succ\u00e8s le cours",
                "Ethical Conduct in Behavioural Research: Online Tutorial",
            ),
            "Ethical Conduct in Behavioural Research: Online Tutorial",
        ),
        (
            (
                "The Center for Online Human Research Education certifies that",
                "Desmond Amari",
                "successfully completed the training course",
                '"Safeguarding People in Research"',
            ),
            "Safeguarding People in Research",
        ),
    ],
)
def test_the_course_stands_below_the_words_that_lead_to_it(lines, name):
    assert read("social-behavioral-certificate", *lines)["course"].value == name


@pytest.mark.parametrize(
    "stamp",
    [
        ("APPROVED AS MODIFIED Mar 08, 2022",),
        ("APPROVED", "AS MODIFIED Mar 08, 2022"),
        ("APPROVED BY QUILLSTONE IRB", "AS MODIFIED", "Mar 08, 2022"),
        ("IRB APPROVED AS SUBMITTED", "Mar 08, 2022"),
    ],
)
def test_a_stamp_says_approved_as_modified(stamp):
    values = read("informed-consent-form", "INFORMED CONSENT FORM", *stamp)
    assert values["approval_date"].day.isoformat() == "2022-03-08"


def test_the_number_of_the_study_stands_behind_that_of_the_submission():
    values = read("irb-continuing-review", *HEAD, "IRB ID: CR00014455 for STUDY00007155")
    assert values["protocol_number"].value == "STUDY00007155"


def test_the_reference_of_the_sponsor_comes_before_a_number_of_a_register():
    values = read("informed-consent-form", "IRAS ID: 355519", "Sponsor reference:   HVUH-2022-118")
    assert values["protocol_number"].value == "HVUH-2022-118"


def test_the_reference_of_an_amendment_is_its_number():
    values = read("irb-amendment-approval", *HEAD, "Amendment reference: AM06")
    assert values["amendment_number"].value == "AM06"


def test_the_institution_stands_below_the_name_of_the_investigator():
    values = read(
        "informed-consent-form",
        "RESEARCH SUBJECT INFORMATION AND CONSENT FORM",
        "INVESTIGATOR:   Clifton J. Baptiste, MD",
        "                Aldercreek Clinical Research, LLC",
        "                1400 Palmetto Trace, Unit 7",
    )
    assert values["institution"].value == "Aldercreek Clinical Research, LLC"


def test_the_caption_of_a_version_is_no_institution():
    assert not may_be_institution("ICF version (site)")


def test_a_title_in_a_narrow_cell_goes_on_where_its_line_is_full():
    cell = ["COMPARED WITH SILVER SULPHADIAZINE", "IN THE TREATMENT OF BURNS"]
    title = continue_title("EFFICACY OF TOPICAL HONEY PASTE", cell, is_cell=True)
    assert title == " ".join(["EFFICACY OF TOPICAL HONEY PASTE", *cell])


def test_the_line_of_another_caption_below_the_investigator_is_no_institution():
    values = read(
        "informed-consent-form",
        "Tarrawonga Private Hospital",
        "Principal Investigator   Dr Yasmin Karpinski",
        "Location                 Ward 5 North and Day Oncology Centre",
    )
    assert values["institution"].value == "Tarrawonga Private Hospital"


def test_the_student_behind_a_title_leaves_it_in_doubt():
    title = "INTRANASAL KETAMINE FOR CHILDREN IN A DISTRICT HOSPITAL"
    values = read("irb-approval", *HEAD, f"PROJECT TITLE: {title} (MMed candidate - Dr J van Zijl)")
    assert not values["title"].is_sure


def test_the_name_of_a_course_is_not_cut_where_its_line_ends():
    values = read(
        "gcp-certificate",
        "has completed the course",
        "Introduction to Good Clinical Practice (GCP): A guide to ethical and quality standards in",
        "clinical research",
        "on 27 February 2023",
    )
    assert values["course"].value.endswith("standards in clinical research")


def test_a_committee_without_its_institution_comes_behind_the_whole_name():
    values = read(
        "irb-exemption",
        "MEMORANDUM",
        "FROM:   Institutional Review Board, Office of Research Support",
        "Dear Dr. Sandhu,",
        "The Ashgrove College Institutional Review Board thanks you for your work.",
    )
    assert values["irb_name"].value == "Ashgrove College Institutional Review Board"


@pytest.mark.parametrize(
    ("sentence", "title"),
    [
        (
            "The study entitled Do Nurses Trust Alarms? A Diary Study of Fatigue was received.",
            "Do Nurses Trust Alarms? A Diary Study of Fatigue",
        ),
        (
            "The study entitled Washing Hands in Rural Schools has been submitted to us.",
            "Washing Hands in Rural Schools",
        ),
        (
            "The study is called Why do shift workers nap? You will be asked to keep a diary.",
            "Why do shift workers nap?",
        ),
        (
            "The study is called Winning alone: chess and sleep and is done by dr. Ineke Zand.",
            "Winning alone: chess and sleep",
        ),
        (
            "It is called Taking turns in two languages and was funded by the council.",
            "Taking turns in two languages",
        ),
    ],
)
def test_a_title_in_a_sentence_ends_before_what_is_said_of_the_study(sentence, title):
    assert list(titles_in_sentences(sentence)) == [title]


@pytest.mark.parametrize(
    "person",
    [
        "(PI: Dr Owain Prys)",
        "(Principal Investigator Dr Owain Prys)",
        "[Researcher: O. Prys]",
    ],
)
def test_the_investigator_in_brackets_is_no_part_of_the_title_before(person):
    assert clean(f"Does a nap protect memories? A field study {person}").endswith("field study")


def test_the_caption_of_the_next_cell_is_no_part_of_a_name():
    page = make_page("Principal investigator   Dr Ola Ekblad   Second reader   Dr Moss")
    page = replace(page, text=" ".join(page.text.split()))
    values = read_fields(make_reading(page), TYPES["irb-approval"])
    assert "Dr Ola Ekblad" in [value.value for value in values]


@pytest.mark.parametrize(
    "rows",
    [
        (
            "The following members of the Committee were present:",
            "Wanda Osei, researcher",
            "Ms. Ilse Moreau, scientist",
        ),
        ("List of the members of the board", "Ilse Moreau, researcher", "Jon Vik, lay person"),
        ("The following researchers are also involved:", "1. Ms. Ilse Moreau (Master student)"),
    ],
)
def test_members_of_a_committee_and_other_researchers_are_no_investigators(rows):
    assert "investigator" not in read("irb-approval", *HEAD, *rows)


def test_the_investigator_may_be_named_behind_a_list_of_members():
    values = read(
        "irb-approval",
        *HEAD,
        "Members present:",
        "Wanda Osei, chemist",
        "The study will be conducted by Ilse Moreau.",
    )
    assert values["investigator"].value == "Ilse Moreau"


def test_a_date_below_the_head_of_a_table_about_an_approval_is_that_of_the_approval():
    values = read(
        "irb-approval",
        *HEAD,
        "Consent form     September 19, 2025",
        "Poster           August 22, 2025",
        "",
        "DATE MATERIALS APPROVED",
        "October 3, 2025",
    )
    assert values["approval_date"].day == date(2025, 10, 3)


def test_a_period_of_validity_may_begin_behind_a_colon():
    values = read(
        "irb-continuing-review",
        "RENEWAL OF ETHICS APPROVAL",
        "",
        "New period of validity: from 2025-06-19 to 2026-06-18",
        "First approval: 2024-06-19",
    )
    assert values["approval_date"].day == date(2025, 6, 19)


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (
            (
                "HAVING REGARD to the request of Prof. Ada Conti,",
                "the Committee for Bioethics of the University of Montelago, in the session of",
                "13 May 2019, expresses a FAVOURABLE OPINION",
            ),
            "Committee for Bioethics of the University of Montelago",
        ),
        (
            (
                "Ethics Psychology <ethics-psy@zuiderzee.example>",
                "The Ethics Committee Psychology & Education (EC-PE) has assessed your request.",
            ),
            "Ethics Committee Psychology & Education (EC-PE)",
        ),
        (
            (
                "Jawatankuasa Etika Penyelidikan (Manusia)",
                "Your study has been granted approval for implementation by the Research Ethics",
                "Committee (Human) of Universiti Tanjung Biru (JKPM-UTB). Your study has a number.",
            ),
            "Research Ethics Committee (Human) of Universiti Tanjung Biru (JKPM-UTB)",
        ),
        (
            (
                "Thank you for writing to the Human Research Ethics Committee \u2013 Law. The",
                "Committee has granted approval on behalf of the Dunmore University Ethics Board.",
            ),
            "Human Research Ethics Committee \u2013 Law",
        ),
    ],
)
def test_the_committee_that_decides_is_named_in_a_sentence(lines, name):
    value = read("irb-approval", "Dear Dr. Sandhu,", *lines)["irb_name"]
    assert value.value == name
    assert not value.is_sure


def test_an_address_beside_a_committee_leaves_its_heading():
    lines = ["Ashby College Ethics Committee | ethics@ashby.example", "Dear Dr. Sandhu,"]
    assert read("irb-approval", *lines)["irb_name"].value == "Ashby College Ethics Committee"


def test_a_committee_that_does_not_decide_is_not_taken():
    values = read("irb-approval", *HEAD, "Send it to the Committee for Biosafety of Ashby College.")
    assert values["irb_name"].value == "Research Ethics Committee"


def test_a_line_within_a_sentence_comes_behind_the_course_at_its_caption():
    values = read(
        "rcr-certificate",
        "Course      Research Integrity: Concise (Physics)",
        "",
        "This record is proof that the learner has met the policy on the",
        "responsible conduct of research for new candidates. Please keep it.",
    )
    assert values["course"].value == "Research Integrity: Concise (Physics)"


def test_a_title_goes_on_at_the_left_edge_of_its_caption_in_typed_text():
    values = read(
        "irb-exemption",
        *HEAD,
        "PROJECT TITLE:   [1455512-2]  Feedback Practices of Instructors in First-Year Writing",
        "Courses Taught Online",
        "REFERENCE:        HS-19-228",
        "",
        "Thank you for your submission of Revision materials for this project. The Human Subjects",
        "Committee has determined that this project is exempt from further review.",
    )
    assert values["title"].value == (
        "Feedback Practices of Instructors in First-Year Writing Courses Taught Online"
    )


def test_a_line_below_a_title_with_space_beside_it_is_no_part_of_it():
    values = read(
        "irb-exemption",
        *HEAD,
        "PROJECT TITLE:    Feedback Practices of Instructors",
        "Exempt",
        "REFERENCE:        HS-19-228",
        "",
        "Thank you for your submission of Revision materials for this project. The",
        "Committee has determined that this project is exempt from further review.",
    )
    assert values["title"].value == "Feedback Practices of Instructors"


def test_the_caption_below_a_name_is_no_part_of_it():
    line = "Researcher responsible for the research project: Dr. Maude Sansregard"
    values = read("informed-consent-form", "Consent", line, "Co-researchers: Dr. Philip Yeung")
    assert values["investigator"].value == "Dr. Maude Sansregard"
