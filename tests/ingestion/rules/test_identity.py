"""Is it about this study's current protocol, and about the person it was said to be of."""

import dataclasses

import pytest

from ingestion.reading.facts import TextSource
from tests.ingestion.rules.documents import SOUND, make_document
from tests.ingestion.rules.pages import SITE, checked, codes

CURRENT = dataclasses.replace(SITE, protocol_version="3.0")
BLURRED = {"source": TextSource.OCR, "confidence": 72.0}


@pytest.mark.parametrize("slug", ["protocol-signature-page", "irb-approval"])
@pytest.mark.parametrize("written", ["2.0", "v2.1", "Version 2", "30", "3.0.1"])
def test_another_version_of_the_protocol_goes_to_review(slug, written):
    change = {" 3.0": f" {written}"}
    verdict = checked(make_document(slug, change), declared=slug, site=CURRENT)
    assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["PROTOCOL_VERSION_MISMATCH"])
    assert verdict.primary.facts["named"] == written.removeprefix("Version ")
    assert verdict.primary.facts["expected"] == "3.0"


@pytest.mark.parametrize("known", ["3.0", "3", "v3", "V3.0", "3.0.0"])
@pytest.mark.parametrize("written", ["3.0", "3", "v3.0", "Version 3.0, 12 Mar 2026", "V3"])
def test_a_version_is_the_same_however_it_is_written(written, known):
    site = dataclasses.replace(SITE, protocol_version=known)
    reading = make_document("protocol-signature-page", {" 3.0": f" {written}"})
    assert checked(reading, site=site).state == "ARCHIVED"


@pytest.mark.parametrize("written", ["12 Mar 2026", "12.03.2026", "2026-03-12", "", "final"])
def test_what_is_no_version_is_not_compared(written):
    reading = make_document("protocol-signature-page", {" 3.0": f" {written}"})
    assert checked(reading, site=CURRENT).state == "ARCHIVED"


def test_the_versions_of_other_documents_in_a_letter_are_not_the_protocols():
    change = {"Protocol Version: 3.0": "Informed consent form, version 2.0", "Number: SLX": "SLX"}
    lines = {"NOTICE OF INITIAL APPROVAL": "NOTICE OF INITIAL APPROVAL of documents that follow"}
    reading = make_document("irb-approval", {**change, **lines, "Protocol SLX-301": "SLX-301"})
    assert checked(reading, site=CURRENT).state == "ARCHIVED"


def test_without_a_current_version_none_is_compared():
    assert checked(make_document("irb-approval", {": 3.0": ": 1.0"})).state == "ARCHIVED"


@pytest.mark.parametrize("slug", SOUND)
def test_only_approvals_and_signed_pages_have_to_name_the_current_one(slug):
    site = dataclasses.replace(SITE, protocol_version="9.9")
    is_told = "PROTOCOL_VERSION_MISMATCH" in codes(checked(make_document(slug), site=site))
    assert is_told == (slug in {"irb-approval", "protocol-signature-page"})


def test_a_version_that_may_be_misread_is_not_called_another_one():
    reading = make_document("irb-approval", {": 3.0": ": 8.0"}, **BLURRED)
    assert codes(checked(reading, site=CURRENT)) == ["OCR_LOW_CONFIDENCE"]


def test_the_version_of_another_protocol_is_not_told_as_well():
    change = {"Number: SLX-301": "Number: ABC-999", ": 3.0": ": 2.0"}
    verdict = checked(make_document("irb-approval", change), site=CURRENT)
    assert codes(verdict) == ["PROTOCOL_MISMATCH"]


@pytest.mark.parametrize("said", ["daniel okafor", "Helena Brandt", "Jo"])
def test_a_document_of_somebody_else_goes_to_review(said):
    verdict = checked(make_document("cv"), declared="cv", person=said)
    assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["PERSON_MISMATCH"])
    assert verdict.primary.facts["named"] == "Margaret Whitfield, MD"
    assert verdict.primary.facts["expected"] == said.title()


@pytest.mark.parametrize(
    "said",
    [
        "Margaret Whitfield",
        "whitfield",
        "Dr Whitfield",
        "Whitfield Margaret A",
        "Meg Whitfield",
        "",
    ],
)
def test_a_person_is_the_same_however_the_name_is_said(said):
    assert checked(make_document("cv"), person=said).state == "ARCHIVED"


def test_accents_do_not_make_another_person():
    reading = make_document("cv", {"Margaret Whitfield": "Jörg Müller"})
    assert checked(reading, person="Jorg Muller").state == "ARCHIVED"


def test_a_form_that_names_the_investigator_and_the_person_beside_it_is_the_persons():
    change = {
        "The answers": "Investigator: Margaret Whitfield, MD",
        "A proprietary": "Daniel Okafor",
    }
    reading = make_document("financial-disclosure", change)
    assert checked(reading, person="Daniel Okafor").state == "ARCHIVED"
    assert codes(checked(reading, person="Lauren Beck")) == ["PERSON_MISMATCH"]


def test_what_is_typed_into_a_form_names_a_person_too():
    reading = make_document("cv", fields={"remarks": "of Daniel Okafor"})
    assert checked(reading, person="Daniel Okafor").state == "ARCHIVED"


def test_a_paper_without_a_name_names_nobody_else():
    reading = make_document("cv", {"Name: Margaret Whitfield, MD": ""})
    assert checked(reading, person="Helena Brandt").state == "ARCHIVED"


def test_a_name_that_may_be_misread_is_not_called_another_one():
    reading = make_document("cv", **BLURRED)
    assert codes(checked(reading, person="Helena Brandt")) == ["OCR_LOW_CONFIDENCE"]


def test_what_is_not_of_one_person_is_not_compared_with_one():
    change = {"NOTICE": "Investigator: Margaret Whitfield"}
    reading = make_document("irb-approval", {"Site number: 0203": "", **change})
    assert "PERSON_MISMATCH" not in codes(checked(reading, person="Helena Brandt"))
