"""Tests of the rules with generated documents and real forms that were really read."""

from datetime import date
from functools import partial

import pytest

from ingestion.reading.results import Unreadable
from ingestion.rules.checks.check_input import SiteFacts
from ingestion.rules.checks.verdict import make_verdict_of_unreadable
from ingestion.rules.classification.classify import classify
from samples.documents import make_sample
from samples.faults import DocumentFault, get_expected_outcome
from samples.pages import EXPIRING, FILLABLE, PAGES
from samples.people_and_sites import get_sample_site
from samples.renditions import Rendition
from tests.ingestion.rules.pages import checked, codes
from tests.ingestion.rules.printed_documents import Readings, read_all

TODAY = date(2026, 11, 20)
REMARKS = {"FORM_EDITION_OUTDATED", "FORM_NOT_REGISTERED"}
AMERICAN, GERMAN = "1001", "1009"
DIGITAL, FORM, SCAN = Rendition.BORN_DIGITAL, Rendition.FILLABLE_FORM, Rendition.SCAN
FAINT, INVERTED = Rendition.FAINT_SCAN, Rendition.INVERTED_SCAN
SIGNED = [
    "protocol-signature-page",
    "irb-approval",
    "form-fda-1572",
    "cv",
    "lab-normal-ranges",
    "financial-disclosure",
    "delegation-log",
]

CASES = [
    *((slug, where, DIGITAL, None) for slug in PAGES for where in (AMERICAN, GERMAN)),
    *((slug, AMERICAN, FORM, None) for slug in sorted(FILLABLE)),
    *((slug, AMERICAN, DIGITAL, DocumentFault.UNSIGNED) for slug in SIGNED),
    *((slug, GERMAN, DIGITAL, DocumentFault.EXPIRED) for slug in sorted(EXPIRING)),
    *((slug, GERMAN, DIGITAL, DocumentFault.WRONG_SITE) for slug in PAGES),
    ("cv", AMERICAN, DIGITAL, DocumentFault.BLANK_PAGE),
    ("irb-approval", AMERICAN, DIGITAL, DocumentFault.TRUNCATED),
    ("irb-approval", AMERICAN, DIGITAL, DocumentFault.ENCRYPTED),
    ("irb-approval", AMERICAN, DIGITAL, DocumentFault.A_SPREADSHEET),
    ("irb-approval", AMERICAN, DIGITAL, DocumentFault.A_WEB_PAGE),
    ("irb-approval", AMERICAN, SCAN, None),
    ("medical-licence", GERMAN, SCAN, DocumentFault.EXPIRED),
]
SCAN_SOURCES = [
    ("form-fda-1572", AMERICAN, SCAN, DocumentFault.UNSIGNED),
    ("irb-approval", AMERICAN, FAINT, None),
    ("form-fda-1572", AMERICAN, INVERTED, None),
    ("form-fda-1572", AMERICAN, INVERTED, DocumentFault.UNSIGNED),
]
SCAN_SOURCES += [(slug, where, SCAN, None) for slug in PAGES for where in (AMERICAN, GERMAN)]
SCAN_SOURCES += [(slug, GERMAN, SCAN, DocumentFault.UNSIGNED) for slug in SIGNED]
SCAN_SOURCES += [(slug, GERMAN, INVERTED, None) for slug in SIGNED]
# Some values of a faint form with many small boxes have too low a confidence to file it.
SCAN_SOURCES += [(slug, GERMAN, FAINT, None) for slug in SIGNED if slug != "form-fda-1572"]


def read_cases(folder, cases):
    return Readings(folder, {case: partial(make_case, *case) for case in cases})


def make_case(slug, where, rendition, fault):
    return make_sample(
        slug, today=TODAY, site=get_sample_site(where), rendition=rendition, fault=fault
    )


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    return read_cases(tmp_path_factory.mktemp("specimens"), CASES)


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    return read_cases(tmp_path_factory.mktemp("scans"), SCAN_SOURCES)


def assert_as_expected(case, reading):
    slug, where, _, fault = case
    study = get_sample_site(where).study
    sent_by = SiteFacts(where, study.protocol_number, protocol_version=study.version)
    if isinstance(reading, Unreadable):
        verdict = make_verdict_of_unreadable(reading)
    else:
        assert classify(reading).slug == slug
        verdict = checked(reading, declared=slug, site=sent_by, today=TODAY)
    outcome = get_expected_outcome(fault)
    assert (verdict.state, verdict.primary.code if verdict.primary else "") == (
        outcome.state,
        outcome.code,
    )
    assert set(codes(verdict)) - REMARKS == {outcome.code} - {""}


def case_id(case):
    return "-".join(str(part) for part in case if part)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_generated_document_gets_the_expected_verdict(case, readings):
    assert_as_expected(case, readings[case])


def test_a_signed_1572_with_a_passed_omb_date_is_filed_with_a_remark(readings):
    reading = readings["form-fda-1572", AMERICAN, DIGITAL, None]
    verdict = checked(reading, site=SiteFacts(AMERICAN), today=TODAY)
    assert verdict.state == "ARCHIVED"
    assert codes(verdict) == ["FORM_EDITION_OUTDATED", "FORM_NOT_REGISTERED"]


def test_a_sponsors_own_disclosure_form_is_filed_without_an_fda_3455(readings):
    reading = readings["financial-disclosure", AMERICAN, DIGITAL, None]
    assert "3455" not in reading.text
    assert checked(reading, site=SiteFacts(AMERICAN), today=TODAY).state == "ARCHIVED"


@pytest.mark.parametrize("slug", SIGNED)
def test_ink_is_enough_without_a_digital_signature(slug, readings):
    reading = readings[slug, AMERICAN, DIGITAL, None]
    assert "digital-signature" not in reading.flags
    assert checked(reading, site=SiteFacts(AMERICAN), today=TODAY).state == "ARCHIVED"


@pytest.mark.slow
@pytest.mark.parametrize("case", SCAN_SOURCES, ids=case_id)
def test_a_scanned_document_gets_the_expected_verdict(case, scans):
    assert_as_expected(case, scans[case])


REAL = {
    "nci-ocr__form_1572.pdf": "form-fda-1572",
    "nci-ocr__ctep_form_fda_1572.pdf": "form-fda-1572",
    "nci-ocr__ctep_financial_disclosure_form.pdf": "financial-disclosure",
    "nci-ocr__OCR_CV_sample.pdf": "cv",
    "nci-ocr__ctep_sidf_sample.pdf": "",
    "scge-platform-__FDA-1571_Instructions_R14_03-21-2023_1_.pdf": "",
}


@pytest.mark.slow
def test_real_forms_are_recognised_and_others_are_not_guessed(corpus):
    readings = read_all([corpus / name for name in REAL])
    assert {
        name: classify(reading).slug for name, reading in zip(REAL, readings, strict=True)
    } == REAL


@pytest.mark.slow
def test_a_blank_real_1572_is_unsigned_and_not_rejected_for_its_omb_date(corpus):
    (reading,) = read_all([corpus / "nci-ocr__ctep_form_fda_1572.pdf"])
    verdict = checked(reading, declared="form-fda-1572")
    assert codes(verdict) == [
        "BLANK_FORM",
        "FORM_EDITION_OUTDATED",
    ]
