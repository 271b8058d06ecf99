"""Tests of fields with several entries and of headings: printed, in form fields, and scanned."""

import io
from datetime import date
from functools import partial

import pikepdf
import pytest
from pypdf import PdfWriter

from ingestion.reading.results import TextSource
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.extraction import read_fields
from samples.documents import make_sample
from samples.people_and_sites import get_sample_site
from samples.renditions import Rendition
from tests.ingestion.rules.pages import make_page, make_reading
from tests.ingestion.rules.printed_documents import Readings, read_documents

TODAY = date(2026, 11, 20)
WHERE = get_sample_site("1001")
HERE = (WHERE.hospital + ", " + WHERE.department, WHERE.address)
SAMPLE = {
    "facilities": HERE,
    "labs": (f"{WHERE.laboratory.name}, CLIA {WHERE.laboratory.clia}", WHERE.address),
    "irb": (f"{WHERE.board.name} ({WHERE.board.registration})", WHERE.address),
    "subinvestigators": tuple(person.printed for person in WHERE.subinvestigators),
}
TYPED = {
    "investigator_text": "Margaret Whitfield, MD\n1820 Cedar Ridge Parkway",
    "practice_sites_text": "Cedar Ridge Medical Center\n1820 Cedar Ridge Parkway",
    "clinical_labs_text": "Cedar Ridge Core Laboratory\nHarborview Diagnostics",
    "irb_text": "Cedar Ridge Institutional Review Board\n1820 Cedar Ridge Parkway",
    "subinvestigators_text": "Daniel Okafor, MD\nPriya Raman, MD PhD",
    "protocol_text": "SLX-301, A Phase 3 Study",
}
REAL = {
    "facilities": ("Cedar Ridge Medical Center", "1820 Cedar Ridge Parkway"),
    "labs": ("Cedar Ridge Core Laboratory", "Harborview Diagnostics"),
    "irb": ("Cedar Ridge Institutional Review Board", "1820 Cedar Ridge Parkway"),
    "subinvestigators": ("Daniel Okafor, MD", "Priya Raman, MD PhD"),
    "protocols": ("SLX-301, A Phase 3 Study",),
}


def values(slug, reading):
    return {value.name: value for value in read_fields(reading, TYPES[slug])}


def on_page(slug, *lines, fields=None, **page):
    return values(slug, make_reading(make_page(*lines, **page), fields=fields))


SCAN = pytest.param("scan", marks=pytest.mark.slow)
RENDITIONS = ["born-digital", "fillable-form", SCAN]


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    made = {("form-fda-1572", "fillable-form"): Rendition.FILLABLE_FORM}
    for slug in ("form-fda-1572", "irb-approval", "lab-certification", "delegation-log"):
        made |= {(slug, "born-digital"): Rendition.BORN_DIGITAL, (slug, "scan"): Rendition.SCAN}
    documents = {
        f"{slug} {name}": partial(make_sample, slug, today=TODAY, site=WHERE, rendition=rendition)
        for (slug, name), rendition in made.items()
    }
    return Readings(tmp_path_factory.mktemp("samples"), documents)


@pytest.mark.parametrize("rendition", RENDITIONS)
@pytest.mark.parametrize("name", SAMPLE)
def test_the_boxes_of_a_1572_are_read_entry_by_entry(name, rendition, samples):
    read = values("form-fda-1572", samples[f"form-fda-1572 {rendition}"])[name]
    assert read.entries == SAMPLE[name]
    assert read.value == "; ".join(SAMPLE[name])
    assert read.is_sure


@pytest.mark.parametrize("rendition", RENDITIONS)
def test_the_protocols_of_a_1572_are_read(rendition, samples):
    read = values("form-fda-1572", samples[f"form-fda-1572 {rendition}"])["protocols"]
    assert read.entries[0] == "SLX-301, IND 990301. Site number: 1001"


@pytest.mark.parametrize("rendition", ["born-digital", SCAN])
def test_a_delegation_log_gives_all_names_and_no_headings(rendition, samples):
    read = values("delegation-log", samples[f"delegation-log {rendition}"])["persons"]
    assert read.entries == tuple(each.printed for each in (WHERE.investigator, *WHERE.team))


@pytest.mark.parametrize("rendition", ["born-digital", SCAN])
def test_a_letterhead_names_the_board_and_a_certificate_laboratory_and_director(rendition, samples):
    letter = values("irb-approval", samples[f"irb-approval {rendition}"])
    certificate = values("lab-certification", samples[f"lab-certification {rendition}"])
    assert letter["irb_name"].value == WHERE.board.name
    assert certificate["lab_name"].value.startswith(WHERE.laboratory.name)
    assert certificate["lab_director"].value == WHERE.laboratory.director.printed


def filled(path):
    writer = PdfWriter(clone_from=path)
    for page in writer.pages:
        if "/Annots" in page:
            writer.update_page_form_field_values(page, TYPED, auto_regenerate=False)
    output = io.BytesIO()
    writer.write(output)
    return output.getvalue()


def flattened(content):
    """Return the form as "print to PDF" writes it: with the words and without the fields."""
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(content)) as form:
        form.flatten_annotations("all")
        assert "/AcroForm" not in form.Root
        form.save(output)
    return output.getvalue()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This document has 1 form widget")  # the real form has one too
def test_a_real_1572_gives_the_same_filled_in_and_printed_to_pdf(corpus, tmp_path):
    documents = {}
    for name in ("nci-ocr__ctep_form_fda_1572", "nci-ocr__form_1572"):
        documents[name] = filled(corpus / f"{name}.pdf")
        documents[f"{name} flat"] = flattened(documents[name])
    for name, reading in read_documents(tmp_path, documents).items():
        read = values("form-fda-1572", reading)
        assert {field: read[field].entries for field in REAL} == REAL, name
        assert read["investigator"].value == "Margaret Whitfield, MD"
        assert (read["labs"].source == "acroform") == ("flat" not in name)


SUBINVESTIGATORS = '6. NAMES OF SUBINVESTIGATORS (If not applicable, enter "None")'


@pytest.mark.parametrize("word", ["None", "NONE.", "N/A", "not applicable"])
def test_the_word_none_is_a_value(word):
    read = on_page("form-fda-1572", SUBINVESTIGATORS, word)
    assert read["subinvestigators"].entries == ("None",)
    typed = on_page("form-fda-1572", "", fields={"subinvestigators_text": word})
    assert typed["subinvestigators"].entries == ("None",)


def test_an_empty_box_has_no_entries():
    read = on_page(
        "form-fda-1572", SUBINVESTIGATORS, "", "7. NAME AND CODE NUMBER, IF ANY, OF THE PROTOCOL(S)"
    )
    assert "subinvestigators" not in read


def test_numbers_and_bullets_before_entries_are_not_part_of_them():
    entries = ("1. Daniel Okafor, MD", "2) Priya Raman", "- Jo Li")
    read = on_page("form-fda-1572", SUBINVESTIGATORS, *entries)
    assert read["subinvestigators"].entries == ("Daniel Okafor, MD", "Priya Raman", "Jo Li")


def test_several_names_on_a_line_are_several_entries_and_each_counts_once():
    names = "Daniel Okafor, MD; Priya Raman, MD PhD; Daniel Okafor, MD"
    read = on_page("form-fda-1572", SUBINVESTIGATORS, names)
    assert read["subinvestigators"].entries == ("Daniel Okafor, MD", "Priya Raman, MD PhD")


def test_text_far_below_a_caption_is_not_an_entry():
    read = on_page(
        "delegation-log", "Name          Role", "Jane Roe      Nurse", *[""] * 5, "Jo Li"
    )
    assert read["persons"].entries == ("Jane Roe",)


def test_text_in_the_next_column_is_not_an_entry():
    read = on_page("delegation-log", "Name          Role", "Jane Roe      Study Nurse", "Jo Li")
    assert read["persons"].entries == ("Jane Roe", "Jo Li")


def test_a_list_has_the_lowest_confidence_of_its_words_and_a_position():
    scan = {"source": TextSource.OCR, "confidence": 61.0, "number": 2}
    read = on_page("delegation-log", "Name          Role", "Jane Roe      Nurse", "Jo Li", **scan)
    persons = read["persons"]
    assert (persons.confidence, persons.is_sure, persons.page) == (61.0, False, 2)
    assert (persons.box.top, persons.box.bottom) == (74.0, 97.0)


def test_the_search_in_a_log_of_headings_is_limited():
    heads = [make_page(*["Name          Role", "1             2"] * 20, number=n) for n in (1, 2)]
    named = make_page("Name          Role", "Jane Roe      Nurse", number=3)
    assert values("delegation-log", make_reading(heads[0], named)) == {}
    assert "persons" in values("delegation-log", make_reading(make_page("Name"), named))


def test_a_sentence_that_names_a_board_is_not_a_letterhead():
    lines = ["Cedar Ridge Review Board", *[""] * 20, "the Institutional Review Board has approved"]
    assert on_page("irb-approval", *lines)["irb_name"].value == "Cedar Ridge Review Board"
    reading = make_reading(make_page(*lines[1:]))
    alone = read_fields(reading, TYPES["irb-approval"], model={})  # by the rules alone
    assert "irb_name" not in {value.name for value in alone}


def test_the_course_of_a_certificate_is_read():
    read = on_page(
        "gcp-certificate", "has completed the following CITI Program course:", "GCP (ICH Focus)"
    )
    assert read["course"].value == "GCP (ICH Focus)"
