"""Tests of the numbered boxes of Form FDA 1572: each empty box is reported with its number."""

import io
from datetime import date
from functools import partial

import pytest
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

from ingestion.rules.checks.check_input import SiteFacts
from ingestion.rules.finding_texts import format_sentences
from samples.document_facts import BY_HAND
from samples.documents import make_sample
from samples.ink import draw_signature
from samples.people_and_sites import get_sample_site
from samples.renditions import Rendition
from tests.ingestion.rules.documents import make_document
from tests.ingestion.rules.pages import checked, codes
from tests.ingestion.rules.printed_documents import Readings, read_documents

TODAY, WHERE, FORM = date(2026, 11, 20), "1001", "form-fda-1572"
REMARKS = {"FORM_EDITION_OUTDATED", "FORM_NOT_REGISTERED"}
DIGITAL, FILLED_IN, SCAN = Rendition.BORN_DIGITAL, Rendition.FILLABLE_FORM, Rendition.SCAN
ALL = dict.fromkeys(range(1, 9), "")
VARIANTS = {
    "all empty": ALL,
    "3 to 5 empty": dict.fromkeys((3, 4, 5), ""),
    "1 empty": {1: ""},
    "2 not ticked": {2: ""},
    "8 not ticked": {8: ""},
    "None in 6": {6: "None"},
    "N/A in 6": {6: "N/A"},
    "None in 4": {4: "None"},
}
HAND = {"3 to 5 by hand": dict.fromkeys((3, 4, 5), BY_HAND), "6 by hand": {6: BY_HAND}}
PRINTED = [
    *((name, rendition) for name in VARIANTS for rendition in (DIGITAL, FILLED_IN)),
    *((name, DIGITAL) for name in HAND),
]
SCANNED = [(name, SCAN) for name in VARIANTS | HAND]
SLOW = pytest.param(SCAN, marks=[pytest.mark.slow, pytest.mark.timeout(300)])
every_rendition = pytest.mark.parametrize("rendition", [DIGITAL, FILLED_IN, SLOW])


def read_forms(folder, cases):
    return Readings(folder, {case: partial(make_form_sample, *case) for case in cases})


def make_form_sample(name, rendition):
    return make_sample(
        FORM,
        today=TODAY,
        site=get_sample_site(WHERE),
        rendition=rendition,
        boxes=(VARIANTS | HAND)[name],
    )


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    return read_forms(tmp_path_factory.mktemp("forms"), PRINTED)


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    return read_forms(tmp_path_factory.mktemp("scans"), SCANNED)


@pytest.fixture
def reading(request, name, rendition):
    """Return the reading of a printed document or a form; a scan takes a second each."""
    source = "scans" if rendition is SCAN else "readings"
    return request.getfixturevalue(source)[name, rendition]


def judged(reading):
    sent_by = SiteFacts(WHERE, get_sample_site(WHERE).study.protocol_number)
    return checked(reading, declared=FORM, site=sent_by, today=TODAY)


def list_sentences(verdict):
    """Return the sentence of each finding that is not a remark."""
    return [
        format_sentences(finding.code, finding.facts, type_name="Form FDA 1572").what
        for finding in verdict.findings
        if finding.code not in REMARKS
    ]


def is_about(sentence, number):
    return f"ox {number} " in sentence or f"ox {number}." in sentence


@every_rendition
@pytest.mark.parametrize("name", ["all empty", "3 to 5 empty", "1 empty"])
def test_each_empty_box_is_reported_with_its_number(name, rendition, reading):
    verdict = judged(reading)
    found = list_sentences(verdict)
    assert verdict.state == "REJECTED"
    assert verdict.primary.code == "SCHEMA_MISMATCH"
    for number in VARIANTS[name]:
        (sentence,) = [each for each in found if is_about(each, number)]
        assert f"Box {number} is empty" in sentence or f"ticked in box {number}" in sentence
    assert len(found) == len(VARIANTS[name])


@every_rendition
@pytest.mark.parametrize("name", ["all empty"])
def test_captions_do_not_count_as_entries(name, rendition, reading):
    read = {field.name: field.value for field in judged(reading).fields}
    boxes = {"investigator", "facilities", "labs", "irb", "subinvestigators", "protocols"}
    assert boxes.isdisjoint(read)


@pytest.mark.sampled(3)
@every_rendition
@pytest.mark.parametrize("name", ["2 not ticked", "8 not ticked"])
def test_a_choice_without_a_tick_is_reported(name, rendition, reading):
    verdict = judged(reading)
    assert verdict.state == "REJECTED"
    (sentence,) = list_sentences(verdict)
    assert sentence.startswith(f"Nothing is ticked in box {name[0]}")


@pytest.mark.sampled(3)
@every_rendition
@pytest.mark.parametrize("name", ["None in 6", "N/A in 6", "None in 4"])
def test_the_word_none_counts_as_an_entry(name, rendition, reading):
    verdict = judged(reading)
    assert (verdict.state, list_sentences(verdict)) == ("ARCHIVED", [])


@pytest.mark.parametrize("rendition", [DIGITAL, SLOW])
@pytest.mark.parametrize("name", HAND)
def test_a_box_with_unread_handwriting_is_not_reported_as_empty(name, rendition, reading):
    verdict = judged(reading)
    assert verdict.state == "IN_REVIEW"
    found = list_sentences(verdict)
    for number in HAND[name]:
        (sentence,) = [each for each in found if is_about(each, number)]
        assert sentence.startswith(f"We could not read box {number} (")
    assert not any("is empty" in each for each in found)


def test_a_box_whose_caption_was_not_found_is_reviewed():
    without_caption = make_document(
        FORM,
        {
            "CLINICAL LABORATORY FACILITIES TO BE USED IN THE STUDY": "",
            "Cedar Ridge Core Laboratory, Columbus": "",
        },
    )
    verdict = checked(without_caption, declared=FORM)
    assert (verdict.state, list_sentences(verdict)) == (
        "IN_REVIEW", ["We could not find box 4 (clinical laboratories) with certainty."],
    )  # fmt: skip


def test_a_printed_form_with_an_empty_box_is_rejected_with_advice():
    verdict = checked(make_document(FORM, {"Daniel Okafor, MD": ""}), declared=FORM)
    assert (verdict.state, codes(verdict)[0]) == ("REJECTED", "SCHEMA_MISMATCH")
    texts = format_sentences("SCHEMA_MISMATCH", verdict.primary.facts, type_name="Form FDA 1572")
    assert texts.what == "Box 6 is empty. It asks for the subinvestigators."
    assert texts.do.startswith("Fill in box 6. If there is nothing to name, write “None”.")


@pytest.mark.parametrize("written", ["None", "N/A", "none.", "Not applicable"])
def test_the_word_none_beside_the_caption_counts_as_well(written):
    caption = '(If not applicable, enter "None")'
    change = {"Daniel Okafor, MD": "", caption: f"{caption}  {written}"}
    assert checked(make_document(FORM, change), declared=FORM).state == "ARCHIVED"


REAL = ("nci-ocr__ctep_form_fda_1572", "nci-ocr__form_1572")


def signed(content, at):
    """Return the blank form with ink in the signature area, and a date."""
    drawn = io.BytesIO()
    canvas = Canvas(drawn, pagesize=(612, 792), invariant=1)
    left, top = at
    draw_signature(canvas, "Margaret Whitfield", (left, 792 - top, 110, 24), "form")
    canvas.drawString(left + 260, 792 - top, "10/08/2026")
    canvas.save()
    writer = PdfWriter(clone_from=io.BytesIO(content))
    writer.pages[1].merge_page(PdfReader(io.BytesIO(drawn.getvalue())).pages[0])
    output = io.BytesIO()
    writer.write(output)
    return output.getvalue()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This document has 1 form widget")
def test_a_real_blank_1572_is_empty_in_every_box_signed_or_not(corpus, tmp_path):
    documents = {name: (corpus / f"{name}.pdf").read_bytes() for name in REAL}
    (blank,) = read_documents(tmp_path, {REAL[0]: documents[REAL[0]]}).values()
    place = next(word.box for word in blank.pages[1].words if word.text == "SIGNATURE")
    documents["signed"] = signed(documents[REAL[0]], (place.left, place.bottom + 26))
    for name, reading in read_documents(tmp_path, documents).items():
        verdict = checked(reading, declared=FORM, today=TODAY)
        found = list_sentences(verdict)
        assert verdict.state == "REJECTED"
        if name == "signed":
            for number in range(1, 9):
                (sentence,) = [each for each in found if is_about(each, number)]
                assert "is empty" in sentence or "Nothing is ticked" in sentence, (name, sentence)
            assert not {"SIGNATURE_MISSING", "BLANK_FORM"} & set(codes(verdict))
        else:
            assert verdict.primary.code == "BLANK_FORM"
            assert not {"SIGNATURE_MISSING", "SCHEMA_MISMATCH"} & set(codes(verdict))
        read = {field.name for field in verdict.fields}
        assert read.isdisjoint({"investigator", "facilities", "labs", "irb", "subinvestigators"})
