"""The people, courses and dates of certificates, CVs, licences and forms."""

from datetime import date

import pytest

from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.course_names import find_names_after_word
from ingestion.rules.fields.extraction import read_fields
from ingestion.rules.fields.persons.person_names import (
    find_name_line,
    has_titles_only,
    may_be_cut,
    may_be_name,
    trim,
)
from ingestion.rules.fields.persons.person_roles import find_investigators
from tests.ingestion.rules.pages import make_page, make_reading

APPROVAL = ["Fernhill University", "Research Ethics Committee", "Approval of research", ""]


def read(slug, *lines):
    reading = make_reading(make_page(*lines))
    values = read_fields(reading, TYPES[slug], model={})  # by the rules alone
    return {value.name: value for value in values}


def test_a_name_is_composed_of_the_cells_for_given_names_and_surname():
    values = read(
        "cv",
        "Curriculum Vitae",
        "",
        "Surname: Okonjo-Brandt",
        "First name: Halima",
        "Education",
        "MD 2001",
    )
    assert values["person"].value == "Halima Okonjo-Brandt"
    assert values["person"].is_sure


def test_the_caption_of_a_part_of_a_name_is_no_name():
    values = read("cv", "Curriculum Vitae", "FIRST NAME:", "", "Education", "MD 2001")
    assert "person" not in values


def test_a_certificate_names_its_person_within_a_sentence():
    values = read(
        "gcp-certificate",
        "Certificate",
        "",
        "We confirm that Ilse van Rooijen has attended the course.",
        "",
        "Dr Leonard Finch",
        "Chair",
    )
    assert values["person"].value == "Ilse van Rooijen"
    assert values["person"].is_sure


def test_the_name_of_an_organisation_in_large_type_is_not_taken_for_a_person():
    values = read("gcp-certificate", "Brindle Learning", "", "Training record", "", "Passed")
    assert "person" not in values


@pytest.mark.parametrize(
    "name",
    [
        "De La Croix, Solange",
        "Ana de Oliveira e Silva",
        "Jean-Luc d'Aubigny",
        "Fatima al-Sayed",
        "Bart van 't Hoff",
        "Siti binti Tarudin",
        'Robert "Bob" Farnham',
    ],
)
def test_names_with_particles_prefixes_and_nicknames_are_whole_names(name):
    assert trim(name) == name
    assert find_name_line(name) == name


def test_a_biosketch_has_the_surname_before_the_comma():
    values = read("nih-biosketch", "BIOGRAPHICAL SKETCH", "", "NAME: Garcia Moreno, Luis")
    assert values["person"].value == "Garcia Moreno, Luis"


def test_a_name_that_may_be_cut_at_a_comma_is_in_doubt():
    assert may_be_cut("Garcia Moreno, Luis", "Garcia Moreno")
    assert not may_be_cut("Dr. Ann Smith, Nursing", "Dr. Ann Smith")
    values = read("cv", "Curriculum Vitae", "", "Name: Garcia Moreno, Luis", "", "Education")
    assert not values["person"].is_sure


def test_a_centre_below_the_caption_of_the_investigator_is_no_name():
    values = read(
        "protocol-signature-page",
        "Protocol signature page",
        "",
        "Funmilayo Adeyinka, MBBS",
        "Principal Investigator",
        "Stanhope Cancer Centre",
    )
    assert values["investigator"].value == "Funmilayo Adeyinka, MBBS"


def test_the_fuller_name_of_the_investigator_is_preferred():
    values = read(
        "irb-changes-requested",
        "Institutional Review Board",
        "Lev Abramovich Brandt",
        "Biomedical Engineering",
        "",
        "Dear Lev Brandt:",
        "Investigator: Lev Brandt",
    )
    assert values["investigator"].value == "Lev Abramovich Brandt"


def test_the_date_beside_the_signature_dates_a_cv():
    values = read(
        "cv",
        "Curriculum Vitae",
        "",
        "Name: Ann Brandt",
        "",
        "Education",
        "Signed and dated: 12 August 2025",
    )
    assert values["document_date"].day == date(2025, 8, 12)


def test_a_validity_begins_with_its_period_and_not_with_the_issue_of_the_certificate():
    values = read(
        "insurance-certificate",
        "Certificate of Clinical Trial Insurance",
        "",
        "Period of cover: 1 June 2025 to 31 May 2026",
        "Certificate issued: 24 May 2025",
    )
    assert values["effective_date"].day == date(2025, 6, 1)


def test_the_name_of_a_course_stands_below_the_words_that_announce_it():
    values = read(
        "human-subjects-certificate",
        "This certifies that",
        "",
        "Ann Brandt",
        "",
        "completed the training course",
        "",
        "Protecting Human Participants in Research",
    )
    assert values["course"].value == "Protecting Human Participants in Research"


def test_the_name_of_a_course_ends_before_its_date():
    text = "completed the online module Working with Participants on 3 May 2025"
    assert [*find_names_after_word(text)] == ["Working with Participants"]


def test_a_laboratory_is_named_above_the_requirements_that_it_meets():
    values = read(
        "lab-certification",
        "Certificate of Accreditation",
        "",
        "Norrvik Klinisk Kemi AB",
        "Hamngatan 12, 891 33 Norrvik",
        "meets the requirements of ISO 15189:2012",
    )
    assert values["lab_name"].value == "Norrvik Klinisk Kemi AB"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Tyler Bogan, Dr. Mei-Hua Sung", "Tyler Bogan"),
        ("Ann Smith / Department of Physics", "Ann Smith"),
        ("Ngozi Achter, MD, MSCE", "Ngozi Achter, MD, MSCE"),
    ],
)
def test_a_name_ends_before_another_person_and_behind_all_degrees(text, name):
    assert trim(text) == name


def test_titles_in_small_letters_belong_to_a_name():
    assert find_name_line("dr. ir. J.W. van Rossem") == "dr. ir. J.W. van Rossem"


def test_other_researchers_are_not_the_investigator():
    values = read(
        "informed-consent-form",
        "Consent to take part in research",
        "Researcher in charge: Dr. Oksana Hrynko",
        "Other researchers: Tyler Bogan, Dr. Mei-Hua Sung",
    )
    assert values["investigator"].value == "Dr. Oksana Hrynko"


def test_the_person_at_the_beginning_of_a_sentence_has_taken_part():
    values = read(
        "rcr-certificate",
        "COURSE CERTIFICATE",
        "Linn Berg-Holm, born 14 May 1991, has taken part in the course",
        "Responsible Conduct of Research",
        "given from 4 October to 8 October 2021",
    )
    assert values["person"].value == "Linn Berg-Holm"
    assert values["completion_date"].day == date(2021, 10, 8)


def test_the_only_date_of_a_certificate_is_that_of_its_completion_in_doubt():
    values = read("gcp-certificate", "Certificate of Attendance", "Ann Brandt", "07 Nov 2023")
    assert values["completion_date"].day == date(2023, 11, 7)
    assert not values["completion_date"].is_sure


def test_the_name_of_the_father_belongs_to_a_malaysian_name():
    values = read("medical-licence", "Medical Council", "Name: DR. MEENA A/P KUMARAN", "")
    assert values["person"].value == "DR. MEENA A/P KUMARAN"


def test_the_number_of_a_law_is_not_that_of_the_study():
    values = read(
        "informed-consent-form",
        "Consent form",
        "The study complies with Resolution CNS No. 466/2012 on research.",
        "I have complied with Resolution 466/2012 in this form.",
    )
    assert "protocol_number" not in values


def test_the_students_of_a_letter_to_another_person_are_in_doubt():
    lines = [
        "Fernhill University Institutional Review Board",
        "NOTICE OF APPROVAL",
        "",
        "TO: Harriet K. Bloom, PhD, Department of Kinesiology",
        "Student investigators: Tomas Breck; Ines Lund",
        "",
        "Dear Dr. Bloom:",
        "Final approval was granted on October 21, 2022.",
    ]
    value = read("irb-approval", *lines).get("investigator")
    assert value is None or value.value.startswith("Harriet") or not value.is_sure


def test_the_principal_investigator_comes_before_other_researchers_of_a_list():
    values = read(
        "informed-consent-form",
        "Consent form",
        "Researchers: Petra Holm (doctoral student), Dr. Kofi Brandt (Principal Investigator)",
    )
    assert values["investigator"].value == "Dr. Kofi Brandt"
    assert not values["investigator"].is_sure


def test_additional_researchers_are_not_taken_for_the_investigator():
    values = read(
        "informed-consent-form",
        "Consent form",
        "Responsible researcher: Dr Kofi Brandt, k.brandt@example.org",
        "Additional researchers: Mr Paul Holm (PhD candidate), A/Prof Ann Vale",
    )
    assert values["investigator"].value == "Dr Kofi Brandt"


def test_a_name_is_read_as_at_its_caption_and_not_as_in_the_address_of_an_e_mail():
    values = read(
        "irb-approval",
        "To: Vale, Kofi A.",
        "Subject: Approval Letter",
        "",
        "PI Name: Kofi Vale",
    )
    assert values["investigator"].value == "Kofi Vale"


def test_the_person_behind_a_quoted_title_is_the_investigator():
    values = read(
        "irb-approval",
        'The committee approved the study "Vitamin D in adults" of Dr. Kofi Brandt, Lecturer.',
    )
    assert values["investigator"].value == "Dr. Kofi Brandt"


@pytest.mark.parametrize(
    "lines",
    [
        [
            "Curriculum Group:      Research with Animals and",
            "                       Their Products",
        ],
        [
            "            Research with Animals and Their Products",
            "            ^ (Curriculum Group)",
        ],
        [
            "Curriculum Group:      Research with Animals and Their Products",
            "Course Learner Group:  Same as Curriculum Group",
        ],
    ],
)
def test_a_course_is_the_whole_cell_of_its_caption(lines):
    values = read("gcp-certificate", "Completion Report", "", *lines, "", "Record ID:  4471")
    assert values["course"].value == "Research with Animals and Their Products"


@pytest.mark.parametrize(
    "name",
    [
        "dr hab. n. med. Hanna Sowa",
        "lek. med. Hanna Sowa",
        "Prof. dr hab. Hanna Sowa",
        "mgr Hanna Sowa",
    ],
)
def test_polish_titles_belong_to_a_name(name):
    values = read("irb-approval", *APPROVAL, f"Principal Investigator: {name}")
    assert values["investigator"].value == name


def test_titles_alone_are_no_name():
    assert has_titles_only("dr hab. n. med.")
    assert not has_titles_only("Dr. Sowa")
    values = read("irb-approval", *APPROVAL, "Principal Investigator: Prof. Dr. med.")
    assert "investigator" not in values


def test_a_party_with_an_address_is_the_investigator_and_a_street_is_none():
    values = read(
        "confidentiality-agreement",
        "Confidentiality Agreement",
        "",
        "This Agreement is made between Fernhill Biotech, Inc. and Leonie Marchetti, M.D.,",
        "having her office at Sorrel Clinic, P.A., 410 Otter Creek Run, Vale, OR 97999",
        '(the "Investigator").',
    )
    assert values["investigator"].value == "Leonie Marchetti, M.D."


@pytest.mark.parametrize("text", ["Otter Creek Trail", "Lakeside Esplanade", "Fernhill Salud S.A."])
def test_streets_and_companies_are_no_names(text):
    assert find_name_line(text) == ""


def test_the_name_before_a_role_in_the_address_of_a_letter_is_the_investigator():
    values = read(
        "irb-approval",
        *APPROVAL,
        "Dr. Leonie Mac Aodha, Consultant Physician",
        "Fernhill Hospital",
        "",
        "Dear Dr. Mac Aodha,",
        "The study is approved.",
    )
    assert values["investigator"].value == "Dr. Leonie Mac Aodha"


def test_a_given_name_behind_a_comma_in_the_address_of_a_letter_is_no_role():
    values = read(
        "irb-approval", *APPROVAL, "Dr Tan Mei Ling, Grace", "Fernhill Hospital", "", "Dear Dr Tan,"
    )
    assert not values["investigator"].is_sure


def test_a_date_above_a_name_is_no_number_of_a_house():
    text = "28 March 2025\nDr. Leonie Marchetti, Investigator\nDate"
    assert [each.name for each in find_investigators(text)] == ["Dr. Leonie Marchetti"]


def test_who_is_responsible_comes_before_who_asked_for_the_advice():
    values = read(
        "irb-approval",
        *APPROVAL,
        "To: Drs. L. Verhoef",
        "",
        "Dear Ms Verhoef,",
        "The study will be carried out under the responsibility of Prof. dr. A.B. van Dalen.",
    )
    assert values["investigator"].value == "Prof. dr. A.B. van Dalen"


def test_the_other_investigator_is_no_name():
    assert not may_be_name("Co-Principal")
