"""Tests of the detection of details of study participants."""

import pytest

from ingestion.rules.findings import parse_area
from tests.ingestion.rules.documents import COMPLETE
from tests.ingestion.rules.pages import checked, codes
from tests.ingestion.rules.printed_documents import make_printed, read_documents

RECORDS = {
    "a patient's name and birthday": ("Patient name: Jane Roe", "Date of birth: 12 Mar 1956"),
    "on one line": ("Patient Name: Roe, Jane A.   DOB: 03/12/1956   MRN: 00482113",),
    "a record number": ("Name of patient: Jane Roe", "Medical record number: HH-0048211"),
    "a log of subjects": (
        "SCREENING LOG",
        "Subject initials     Date of birth      Consented on",
        "J-R                  12 Mar 1956        4 May 2026",
        "A.B.                 1 Jun 1971         5 May 2026",
    ),
    "a record number and a name": ("MRN: 00482113", "Name: Jane Roe", "Tel. 555-01-1234"),
    "a signed consent": ("Name of participant: Jane Roe", "MRN 00482113"),
    "a social security number": ("Please pay to the account below.", "SSN: 078-05-1120"),
}
OTHERS = {
    "a blank form": (
        "Patient name: ______________   Date of birth: ____________   MRN: ____________",
        "Subject initials: ____   Visit date: 12 Mar 2026",
        "Social security number: ___-__-____",
        "Form version of 12 Mar 2026",
    ),
    "a blank form without lines": (
        "Patient name:",
        "Date of birth:",
        "Medical record number:",
        "Subject initials:",
        "Approved Form, Version Two, 12 Mar 2026, No 20260312",
    ),
    "a blank form above other lines": (
        "Patient name:",
        "Margaret Whitfield, MD, Principal Investigator",
        "MRN:",
        "0048-2113 (telephone)",
    ),
    "a birthday that is left open": (
        "MRN: 00482113",
        "Date of birth: ____________   Date of visit: 12 Mar 2026",
    ),
    "a name that is left open": ("Patient name: Date Signature", "MRN: 00482113"),
    "a blank log": (
        "Subject initials     Date of birth      MRN           Patient name",
        "",
        "",
        "",
        "Principal Investigator: Margaret Whitfield          Page 1",
    ),
    "a certificate of a course": (
        "Participant name: Margaret Whitfield, MD",
        "Date of birth: 12 March 1970",
        "Certificate number: 20260312",
    ),
    "a CV": ("CURRICULUM VITAE", "Name: Jane Roe", "Date of birth: 12 Mar 1970", "Sex: female"),
    "a protocol's words": (
        "The subject initials and date of birth are not to be recorded on 12 Mar 2026 or later.",
        "Patient name, MRN and SSN stay at the site. Subject name is not sent to the sponsor.",
    ),
    "one caption by itself": ("MRN: 00482113", "Tel. 555-01-1234"),
    "a delegation log": ("Name    Initials    Date of birth", "Jane Roe    JR     12 Mar 1970"),
}


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    documents = {name: make_printed(*lines) for name, lines in (RECORDS | OTHERS).items()}
    documents |= {
        f"{name} scanned": make_printed(*RECORDS[name], scanned=True)
        for name in ("a patient's name and birthday", "a log of subjects")
    }
    return read_documents(tmp_path_factory.mktemp("records"), documents)


@pytest.mark.parametrize("name", RECORDS)
def test_participant_details_are_quarantined_for_qa(name, readings):
    verdict = checked(readings[name])
    assert (verdict.state, verdict.primary.code) == ("IN_REVIEW", "PHI_SUSPECTED")
    assert verdict.is_quarantined
    assert verdict.primary.page == 1
    assert parse_area(verdict.primary.facts["area"])


@pytest.mark.parametrize("name", ["a patient's name and birthday", "a log of subjects"])
def test_participant_details_on_a_scan_are_quarantined(name, readings):
    assert "PHI_SUSPECTED" in codes(checked(readings[f"{name} scanned"]))


@pytest.mark.parametrize("name", OTHERS)
def test_other_details_are_not_quarantined(name, readings):
    assert "PHI_SUSPECTED" not in codes(checked(readings[name]))


def test_an_approved_form_with_lines_for_a_participant_is_filed(tmp_path):
    lines = (*COMPLETE["informed-consent-form"][0], "Date of birth: ________   MRN: ________")
    (reading,) = read_documents(tmp_path, {"form": make_printed(*lines)}).values()
    assert checked(reading, declared="informed-consent-form").state == "ARCHIVED"
