"""Is it about this study's current protocol, and about the person it was said to be of."""

import dataclasses

import pytest

from ingestion.reading.results import TextSource
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import sentences
from tests.ingestion.rules.documents import SOUND, make_document
from tests.ingestion.rules.pages import SITE, checked, codes, make_page, make_reading

PER_PERSON = [slug for slug, kind in TYPES.items() if kind.per_person]

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


@pytest.mark.parametrize(
    "said",
    [
        "daniel okafor",
        "Helena Brandt",
        "Jo",
        "whitfield",
        "margaret",
        "Dr Whitfield",
        "Jane Whitfield",
        "Margaret Smith",
        "Meg Whitfield",
    ],
)
def test_a_document_of_somebody_else_goes_to_review(said):
    verdict = checked(make_document("cv"), declared="cv", person=said)
    assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["PERSON_MISMATCH"])
    assert verdict.primary.facts["named"] == "Margaret Whitfield, MD"
    assert verdict.primary.facts["expected"] == said.title()


@pytest.mark.parametrize(
    "said",
    [
        "Margaret Whitfield",
        "Dr Margaret Whitfield",
        "M. Whitfield",
        "Whitfield, Margaret",
        "Whitfield Margaret A",
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
    reading = make_document("cv", {"Name: Margaret Whitfield, MD": ""}, fields={"who": "D. Okafor"})
    assert checked(reading, person="Daniel Okafor").state == "ARCHIVED"
    assert codes(checked(reading, person="Lauren Beck")) == ["PERSON_NOT_READ"]


def test_a_coauthor_does_not_make_it_somebody_elses_cv():
    reading = make_document("cv", {"PUBLICATIONS": "PUBLICATIONS by Daniel Okafor"})
    assert codes(checked(reading, person="Daniel Okafor")) == ["PERSON_MISMATCH"]


@pytest.mark.parametrize("slug", PER_PERSON)
@pytest.mark.parametrize("said", ["", "Helena Brandt"])
def test_a_document_of_a_person_whose_name_was_not_read_is_not_filed(slug, said):
    verdict = checked(without_a_name(slug), declared=slug, person=said)
    assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["PERSON_NOT_READ"])
    told = sentences("PERSON_NOT_READ", verdict.primary.facts, type_name=TYPES[slug].name)
    assert told.what.startswith("We could not read the name")
    assert ("Helena Brandt" in told.what) == bool(said)


@pytest.mark.parametrize("slug", PER_PERSON)
def test_a_name_on_a_line_of_its_own_needs_no_caption(slug):
    reading = without_a_name(slug, {"Whitfield": "Margaret A. Whitfield, MD"})
    assert checked(reading, declared=slug, person="Margaret Whitfield").state == "ARCHIVED"
    assert codes(checked(reading, declared=slug, person="Jane Whitfield")) != []


def without_a_name(slug, instead=None):
    """The sound document without its line that names the person, or with another in its place."""
    lines, caption = SOUND[slug]
    captions = ("certify", "course")  # of a line of its own
    named = next(line for line in lines if "Whitfield" in line)
    put = [line for line in [(instead or {}).get("Whitfield", "")] if line]
    kept = [
        each
        for line in lines
        for each in (put if line == named else [line])
        if not any(word in each for word in captions)
    ]
    return make_reading(make_page(*kept, signed=caption))


def test_a_cv_that_begins_with_the_name_is_that_persons():
    lines = ["Margaret A. Whitfield, MD", *SOUND["cv"][0][:1], *SOUND["cv"][0][2:]]
    reading = make_reading(make_page(*lines, signed="Signature:"))
    assert checked(reading, person="Margaret Whitfield").state == "ARCHIVED"
    verdict = checked(reading)
    assert verdict.state == "ARCHIVED"
    assert next(f.value for f in verdict.fields if f.name == "person").startswith("Margaret A.")
    assert codes(checked(reading, person="Daniel Okafor")) == ["PERSON_MISMATCH"]


def test_a_name_that_may_be_misread_is_not_called_another_one():
    verdict = checked(make_document("cv", **BLURRED), person="Helena Brandt")
    assert set(codes(verdict)) <= {"PERSON_NOT_READ", "OCR_LOW_CONFIDENCE"}
    assert verdict.primary.facts["read"] == "Margaret Whitfield, MD"


def test_a_misread_name_that_agrees_with_the_declared_one_was_read():
    codes_of = codes(checked(make_document("cv", **BLURRED), person="Margaret Whitfield"))
    assert "PERSON_NOT_READ" not in codes_of


def test_what_is_not_of_one_person_is_not_compared_with_one():
    change = {"NOTICE": "Investigator: Margaret Whitfield"}
    reading = make_document("irb-approval", {"Site number: 0203": "", **change})
    assert "PERSON_MISMATCH" not in codes(checked(reading, person="Helena Brandt"))
