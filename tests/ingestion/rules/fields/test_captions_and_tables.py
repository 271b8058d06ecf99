"""Values above their captions, in columns of old and new values, and behind shared captions."""

from datetime import date

import pytest

from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.extraction import read_fields
from ingestion.rules.fields.reference_numbers import find_numbers
from tests.ingestion.rules.pages import make_page, make_reading


def read(slug, *lines):
    values = read_fields(make_reading(make_page(*lines)), TYPES[slug])
    return {value.name: value for value in values}


def test_a_value_on_a_line_to_write_on_belongs_to_the_caption_below_it():
    values = read(
        "protocol-signature-page",
        "I agree to conduct the study as outlined in the protocol.",
        "",
        "Ann Brandt-Hale, MD                3021",
        "________________________           ____________",
        "Investigator Name (printed)        Site Number",
        "",
        "NFX-771-302                        4.0",
        "________________________           ____________",
        "Protocol Number                    Protocol Version",
    )
    assert values["investigator"].value == "Ann Brandt-Hale, MD"
    assert values["site_number"].value == "3021"
    assert values["protocol_number"].value == "NFX-771-302"
    assert values["protocol_version"].value == "4.0"
    assert values["investigator"].is_sure


def test_a_row_of_captions_belongs_to_the_row_of_values_above_it():
    values = read(
        "medical-licence",
        "ANN BRANDT-HALE                    A-77120",
        "Licensee                           License No.",
        "",
        "07/01/2022                         06/30/2024",
        "Issue Date                         Expiration Date",
    )
    assert values["person"].value == "ANN BRANDT-HALE"
    assert values["licence_number"].value == "A-77120"
    assert values["effective_date"].day == date(2022, 7, 1)
    assert values["expiry_date"].day == date(2024, 6, 30)


def test_the_number_of_a_house_is_no_site_number():
    address = ["Lakehurst Sciences Centre", "1555 Shoreline Drive, Room C8-19"]
    assert "site_number" not in read("irb-approval", *address)
    values = read("irb-approval", *address, "", "Site number: 1001")
    assert values["site_number"].value == "1001"


@pytest.mark.parametrize(
    "head",
    ["Previous            Current", "Current             Renewed", "Old                 New"],
)
def test_the_values_of_a_column_that_another_one_replaces_are_left_out(head):
    _, new = head.split()
    column = 20 + head.index(new)
    values = read(
        "irb-approval",
        f"{'':20}{head}",
        f"{'Approval date':20}{'June 20, 2022':{column - 20}}June 12, 2023",
        f"{'Expiration date':20}{'June 19, 2023':{column - 20}}June 11, 2024",
    )
    assert values["approval_date"].day == date(2023, 6, 12)
    assert values["expiry_date"].day == date(2024, 6, 11)


def test_slashes_divide_a_value_as_they_divide_its_caption():
    values = read(
        "irb-approval",
        "Protocol Number/Version: NFX-31 / 5.0",
        "Investigator/Site: Dr. Ann Brandt / 112",
        "Approval date / Expiration date: 3 May 2021 / 2 May 2022",
    )
    assert values["protocol_number"].value == "NFX-31"
    assert values["protocol_version"].value == "5.0"
    assert values["investigator"].value == "Dr. Ann Brandt"
    assert values["site_number"].value == "112"
    assert values["approval_date"].day == date(2021, 5, 3)
    assert values["expiry_date"].day == date(2022, 5, 2)


def test_a_number_with_as_many_slashes_as_no_caption_is_not_divided():
    values = read("irb-approval", "Protocol number: REC/22/31", "Approval date: 3 May 2021")
    assert values["protocol_number"].value == "REC/22/31"


def test_the_day_of_issue_is_the_day_of_the_approval_if_no_other_is_printed():
    issued = read("irb-approval", "Certificate of clearance", "Issued: 22 November 2021")
    assert issued["approval_date"].day == date(2021, 11, 22)
    met = read("irb-approval", "Meeting date: 4 May 2022", "Issued: 11 May 2022")
    assert not met["approval_date"].is_sure


def test_a_day_on_which_a_report_is_due_is_no_end_of_an_approval():
    values = read(
        "irb-approval",
        "Approval date: 3 May 2021",
        "Progress report due: 2 February 2022",
        "A final report must reach this office no later than 1 March 2022.",
    )
    assert "expiry_date" not in values


def test_a_day_is_in_doubt_if_several_days_at_captions_have_its_role():
    values = read(
        "irb-approval",
        "Approval date: 3 May 2021",
        "Date approved: 9 June 2021",
    )
    assert not values["approval_date"].is_sure


def test_a_name_that_stands_only_beside_the_role_of_another_person_is_in_doubt():
    values = read(
        "irb-approval", "Approval date: 3 May 2021", "Applicant: Ann Brandt, IRB Administrator"
    )
    assert not values["investigator"].is_sure


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Folio: NF-00871", "NF-00871"),
        ("Registration NF-HSP-22817", "NF-HSP-22817"),
        ("Credential ID 8812-NF-40", "8812-NF-40"),
    ],
)
def test_the_number_of_a_certificate_has_many_captions(text, number):
    words = TYPES["gcp-certificate"].fields[4].number_words
    assert [each.text for each in find_numbers(text, words)] == [number]


def test_the_registration_of_a_company_is_no_number_of_a_certificate():
    words = TYPES["gcp-certificate"].fields[4].number_words
    assert not [*find_numbers("Company registration number 01234567", words)]


def test_a_place_and_a_date_at_the_end_of_a_cv_are_those_of_its_signature():
    values = read(
        "cv",
        "Ann Brandt",
        "2003 - 2009  Northfield University",
        "",
        "Northfield, 14 March 2022",
        "Dr. Ann Brandt",
    )
    assert values["document_date"].day == date(2022, 3, 14)


def test_a_title_between_the_address_and_the_salutation_is_proposed():
    values = read(
        "irb-approval",
        "17 October 2022",
        "",
        "Dr Ann Brandt",
        "School of Health",
        "Northfield University",
        "",
        "Loneliness and digital contact among older residents of mining villages",
        "",
        "Dear Dr Brandt,",
        "The Committee approved your application on 14 October 2022.",
    )
    title = "Loneliness and digital contact among older residents of mining villages"
    assert values["title"].value == title
    assert not values["title"].is_sure


def test_the_name_of_a_course_goes_on_below_a_line_that_ends_with_a_small_word():
    values = read(
        "gcp-certificate",
        "This is to certify that Dr Ann Brandt has attended the training",
        "Good Clinical Practice in",
        "Trials of Medicinal Products",
        "held on 23 May 2022",
    )
    assert values["course"].value == "Good Clinical Practice in Trials of Medicinal Products"


def test_a_name_ends_with_its_cell():
    values = read(
        "irb-approval",
        "Principal Investigator    Ann Brandt    Geriatrics",
        "Approval date             3 May 2021    ",
    )
    assert values["investigator"].value == "Ann Brandt"


def test_the_first_issue_of_a_licence_is_not_its_current_one():
    values = read(
        "medical-licence",
        "Name: Ann Brandt",
        "Original Issue Date: 07/14/2010",
        "Current Issue Date: 07/13/2023",
    )
    assert values["effective_date"].day == date(2023, 7, 13)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Dr. (Mrs.) Ann Brandt", "Ann Brandt"),
        ("Ann K. Brandt, Jr., MD", "Ann K. Brandt, Jr., MD"),
    ],
)
def test_titles_in_brackets_and_generations_are_known(written, name):
    values = read("gcp-certificate", f"This is to certify that {written}", "has attended a course.")
    assert values["person"].value == name
