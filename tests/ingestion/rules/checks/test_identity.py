"""Tests of the comparison of documents with the protocol and the declared person."""

import dataclasses

import pytest

from ingestion.reading.results import TextSource
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import format_sentences
from tests.ingestion.rules.documents import COMPLETE, make_document
from tests.ingestion.rules.pages import SITE, checked, codes, make_page, make_reading

PER_PERSON = [slug for slug, kind in TYPES.items() if kind.per_person]

CURRENT = dataclasses.replace(SITE, protocol_version="3.0")
BLURRED = {"source": TextSource.OCR, "confidence": 72.0}


@pytest.mark.parametrize("slug", ["protocol-signature-page", "irb-approval"])
@pytest.mark.parametrize("written", ["2.0", "v2.1", "Version 2", "30", "3.0.1"])
def test_a_document_with_another_protocol_version_is_reviewed(slug, written):
    change = {" 3.0": f" {written}"}
    verdict = checked(make_document(slug, change), declared=slug, site=CURRENT)
    assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["PROTOCOL_VERSION_MISMATCH"])
    assert verdict.primary.facts["named"] == written.removeprefix("Version ")
    assert verdict.primary.facts["expected"] == "3.0"


@pytest.mark.parametrize("known", ["3.0", "3", "v3", "V3.0", "3.0.0"])
@pytest.mark.parametrize("written", ["3.0", "3", "v3.0", "Version 3.0, 12 Mar 2026", "V3"])
def test_equal_versions_may_be_written_in_different_ways(written, known):
    site = dataclasses.replace(SITE, protocol_version=known)
    reading = make_document("protocol-signature-page", {" 3.0": f" {written}"})
    assert checked(reading, site=site).state == "ARCHIVED"


@pytest.mark.parametrize("written", ["12 Mar 2026", "12.03.2026", "2026-03-12", "", "final"])
def test_text_without_a_version_number_is_not_compared(written):
    reading = make_document("protocol-signature-page", {" 3.0": f" {written}"})
    assert checked(reading, site=CURRENT).state == "ARCHIVED"


def test_versions_of_other_documents_in_a_letter_are_ignored():
    change = {"Protocol Version: 3.0": "Informed consent form, version 2.0", "Number: SLX": "SLX"}
    lines = {"NOTICE OF INITIAL APPROVAL": "NOTICE OF INITIAL APPROVAL of documents that follow"}
    reading = make_document("irb-approval", {**change, **lines, "Protocol SLX-301": "SLX-301"})
    assert checked(reading, site=CURRENT).state == "ARCHIVED"


def test_versions_are_not_compared_if_the_current_one_is_unknown():
    assert checked(make_document("irb-approval", {": 3.0": ": 1.0"})).state == "ARCHIVED"


@pytest.mark.parametrize("slug", COMPLETE)
def test_only_approvals_and_signature_pages_need_the_current_version(slug):
    site = dataclasses.replace(SITE, protocol_version="9.9")
    is_told = "PROTOCOL_VERSION_MISMATCH" in codes(checked(make_document(slug), site=site))
    assert is_told == (slug in {"irb-approval", "protocol-signature-page"})


def test_a_version_that_may_be_misread_is_no_mismatch():
    reading = make_document("irb-approval", {": 3.0": ": 8.0"}, **BLURRED)
    assert codes(checked(reading, site=CURRENT)) == ["OCR_LOW_CONFIDENCE"]


def test_the_version_of_another_protocol_gives_no_second_finding():
    change = {"Number: SLX-301": "Number: ABC-999", ": 3.0": ": 2.0"}
    verdict = checked(make_document("irb-approval", change), site=CURRENT)
    assert codes(verdict) == ["PROTOCOL_MISMATCH"]


@pytest.mark.parametrize(
    ("number", "is_sure"), [(SITE.protocol_number, True), ("", False), ("ABC-999", False)]
)
def test_the_number_of_the_study_is_without_doubt_beside_that_of_the_committee(number, is_sure):
    change = {"Number: SLX-301": "Number: SLX-301   IRB number: 2026-117"}
    site = dataclasses.replace(SITE, protocol_number=number)
    verdict = checked(make_document("irb-approval", change), site=site)
    value = next(each for each in verdict.fields if each.name == "protocol_number")
    assert (value.value, value.is_sure) == ("SLX-301", is_sure)


@pytest.mark.parametrize(
    "person",
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
def test_a_document_of_another_person_is_reviewed(person):
    verdict = checked(make_document("cv"), declared="cv", person=person)
    assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["PERSON_MISMATCH"])
    assert verdict.primary.facts["named"] == "Margaret Whitfield, MD"
    assert verdict.primary.facts["expected"] == person.title()


@pytest.mark.parametrize(
    "person",
    [
        "Margaret Whitfield",
        "Dr Margaret Whitfield",
        "M. Whitfield",
        "Whitfield, Margaret",
        "Whitfield Margaret A",
        "",
    ],
)
def test_a_declared_name_may_be_written_in_different_ways(person):
    assert checked(make_document("cv"), person=person).state == "ARCHIVED"


def test_accents_do_not_make_another_person():
    reading = make_document("cv", {"Margaret Whitfield": "Jörg Müller"})
    assert checked(reading, person="Jorg Muller").state == "ARCHIVED"


def test_a_form_may_name_the_investigator_and_its_person():
    change = {
        "The answers": "Investigator: Margaret Whitfield, MD",
        "A proprietary": "Daniel Okafor",
    }
    reading = make_document("financial-disclosure", change)
    assert checked(reading, person="Daniel Okafor").state == "ARCHIVED"
    assert codes(checked(reading, person="Lauren Beck")) == ["PERSON_MISMATCH"]


def test_a_form_field_can_name_the_person():
    reading = make_document("cv", {"Name: Margaret Whitfield, MD": ""}, fields={"who": "D. Okafor"})
    assert checked(reading, person="Daniel Okafor").state == "ARCHIVED"
    assert codes(checked(reading, person="Lauren Beck")) == ["PERSON_NOT_READ"]


def test_a_coauthor_in_a_cv_is_not_a_mismatch():
    reading = make_document("cv", {"PUBLICATIONS": "PUBLICATIONS by Daniel Okafor"})
    assert codes(checked(reading, person="Daniel Okafor")) == ["PERSON_MISMATCH"]


@pytest.mark.parametrize("slug", PER_PERSON)
@pytest.mark.parametrize("person", ["", "Helena Brandt"])
def test_a_personal_document_without_a_readable_name_is_reviewed(slug, person):
    verdict = checked(without_a_name(slug), declared=slug, person=person)
    assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["PERSON_NOT_READ"])
    texts = format_sentences("PERSON_NOT_READ", verdict.primary.facts, type_name=TYPES[slug].name)
    assert texts.what.startswith("We could not read the name")
    assert ("Helena Brandt" in texts.what) == bool(person)


@pytest.mark.parametrize("slug", PER_PERSON)
def test_a_name_on_a_line_of_its_own_needs_no_caption(slug):
    reading = without_a_name(slug, {"Whitfield": "Margaret A. Whitfield, MD"})
    assert checked(reading, declared=slug, person="Margaret Whitfield").state == "ARCHIVED"
    assert codes(checked(reading, declared=slug, person="Jane Whitfield")) != []


def without_a_name(slug, instead=None):
    """Return the complete document with another line, or none, in place of the person's name."""
    lines, caption = COMPLETE[slug]
    captions = ("certify", "course")  # captions that have a line of their own
    named = next(line for line in lines if "Whitfield" in line)
    put = [line for line in [(instead or {}).get("Whitfield", "")] if line]
    kept = [
        each
        for line in lines
        for each in (put if line == named else [line])
        if not any(word in each for word in captions)
    ]
    return make_reading(make_page(*kept, signed=caption))


def test_a_name_at_the_top_of_a_cv_is_its_person():
    lines = ["Margaret A. Whitfield, MD", *COMPLETE["cv"][0][:1], *COMPLETE["cv"][0][2:]]
    reading = make_reading(make_page(*lines, signed="Signature:"))
    assert checked(reading, person="Margaret Whitfield").state == "ARCHIVED"
    verdict = checked(reading)
    assert verdict.state == "ARCHIVED"
    assert next(f.value for f in verdict.fields if f.name == "person").startswith("Margaret A.")
    assert codes(checked(reading, person="Daniel Okafor")) == ["PERSON_MISMATCH"]


def test_a_name_that_may_be_misread_is_no_mismatch():
    verdict = checked(make_document("cv", **BLURRED), person="Helena Brandt")
    assert set(codes(verdict)) <= {"PERSON_NOT_READ", "OCR_LOW_CONFIDENCE"}
    assert verdict.primary.facts["read"] == "Margaret Whitfield, MD"


def test_a_doubtful_name_that_agrees_with_the_declared_one_is_accepted():
    codes_of = codes(checked(make_document("cv", **BLURRED), person="Margaret Whitfield"))
    assert "PERSON_NOT_READ" not in codes_of


def test_documents_that_are_not_personal_are_not_compared_with_a_person():
    change = {"NOTICE": "Investigator: Margaret Whitfield"}
    reading = make_document("irb-approval", {"Site number: 0203": "", **change})
    assert "PERSON_MISMATCH" not in codes(checked(reading, person="Helena Brandt"))


REGISTERED = dataclasses.replace(
    SITE, investigator="Margaret Whitfield", investigator_licence="ME 118845"
)


def nearly(verdict):
    return [
        each.facts["registered"] for each in verdict.findings if each.code == "VALUE_NEARLY_MATCHES"
    ]


@pytest.mark.parametrize(
    ("name", "registered"),
    {
        "Margaret Whitfeld": ["Margaret Whitfield"],
        "M. Whitfield": [],
        "Whitfield, Margaret, MD": [],
        "Tobias Engel": [],  # another person is no question
    }.items(),
)
def test_an_investigator_is_compared_with_the_register(name, registered):
    sentence = "Convened review at the meeting of 12 Aug 2026."
    reading = make_document("irb-approval", {sentence: f"Principal Investigator: {name}"})
    verdict = checked(reading, declared="irb-approval", site=REGISTERED)
    assert nearly(verdict) == registered


@pytest.mark.parametrize(
    ("name", "number", "registered"),
    [
        ("Margaret Whitfield", "ME 118846", ["ME 118845"]),
        ("Margaret Whitfield", "ME 118845", []),
        ("Margaret Whitfield", "ME 225512", []),
        ("Tobias Engel", "ME 118846", []),  # another person's licence
    ],
)
def test_the_licence_of_the_investigator_is_compared_with_the_register(name, number, registered):
    reading = make_document(
        "medical-licence", {"Margaret Whitfield, MD": name, "OH-35.990142": number}
    )
    verdict = checked(reading, declared="medical-licence", site=REGISTERED)
    assert nearly(verdict) == registered


@pytest.mark.parametrize(
    ("declared", "found"),
    [("3.0", []), ("v3", []), ("", []), ("3.1", ["VERSION_MISMATCH"]), ("draft", [])],
)
def test_the_version_of_a_document_is_compared_with_the_declared_one(declared, found):
    consent = make_document("informed-consent-form")
    verdict = checked(consent, declared="informed-consent-form", version=declared)
    assert codes(verdict) == found
    if found:
        assert verdict.state == "IN_REVIEW"
        assert verdict.primary.facts["expected"] == declared


def test_a_declared_version_is_not_compared_with_that_of_the_protocol():
    assert codes(checked(make_document("irb-approval"), version="9.9")) == []


def test_another_language_than_the_declared_one_is_only_a_remark():
    verdict = checked(make_document("irb-approval"), language="fra")
    assert (verdict.state, codes(verdict)) == ("ARCHIVED", ["LANGUAGE_DIFFERS"])
    texts = format_sentences("LANGUAGE_DIFFERS", verdict.findings[0].facts, type_name="CV")
    assert texts.what == "This CV is in English. It was sent as a document in French."


@pytest.mark.parametrize("language", ["eng", ""])
def test_the_declared_language_of_a_document_is_no_finding(language):
    assert codes(checked(make_document("irb-approval"), language=language)) == []


def test_a_person_that_a_manifest_declares_is_compared_with_the_document():
    verdict = checked(make_document("cv"), person="Ana Ruiz")
    assert "PERSON_MISMATCH" in codes(verdict)


def test_a_number_that_only_the_model_suggests_is_a_question_and_no_mismatch():
    reading = make_reading(
        make_page(
            "Northfield University",
            "Research Ethics Committee",
            "Decision on the proposal EKP-22-118, Sundberg",
            "The committee has approved the study on 4 May 2026.",
            "Principal investigator: Dr Ann Cole",
        )
    )
    verdict = checked(reading, declared="irb-approval")
    (number,) = (value for value in verdict.fields if value.name == "protocol_number")
    assert (number.value, number.is_suggested) == ("EKP-22-118", True)
    assert "PROTOCOL_MISMATCH" not in codes(verdict)
    (asked,) = (
        each.facts["read"]
        for each in verdict.findings
        if each.code == "VALUE_IN_DOUBT" and each.facts.get("read") == "EKP-22-118"
    )
    assert asked == "EKP-22-118"
