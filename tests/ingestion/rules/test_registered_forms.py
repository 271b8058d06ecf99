"""Tests of registered forms: the edition, the boxes, their values, and pages that are no forms."""

import io
from datetime import date

import pytest
from pypdf import PdfReader, PdfWriter

from ingestion.reading.forms.catalogue import (
    FormDescriptionError,
    read_description,
    registered_forms,
)
from ingestion.rules.finding_texts import sentences
from samples.official_forms import Manner
from samples.renditions import make_scan
from tests.ingestion.rules.documents import make_document
from tests.ingestion.rules.pages import checked, codes
from tests.ingestion.rules.printed_documents import read_documents
from tests.ingestion.rules.registered_forms import make_form, states

TODAY, FORM = date(2026, 11, 20), "form-fda-1572"
OLD, OLDER = "fda-1572-2009-05", "fda-1572-2006-05"
EDITIONS = {OLD: "5/09", OLDER: "5/06"}
BOXES_1572 = [(1, "1"), (1, "2"), (1, "3"), (1, "4"), (1, "5"), (1, "6"), (1, "7"), (2, "8")]
MIXED = {"3": Manner.BY_HAND, "4": None, "5": Manner.STRUCK_OUT, "8": None}


def joined(*contents):
    """Return the first page of the first PDF, the second page of the second one, and so on."""
    writer, output = PdfWriter(), io.BytesIO()
    for number, content in enumerate(contents):
        writer.add_page(PdfReader(io.BytesIO(content)).pages[number])
    writer.write(output)
    return output.getvalue()


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    """Return the readings of the specimens, each of which is read once."""
    specimens = {
        **{f"{key} {name}": make_form(key, manners)
           for key in EDITIONS
           for name, manners in (("filled", None), ("mixed", MIXED))},
        "blank": make_form(OLD, dict.fromkeys((*map(str, range(1, 12)),))),
        "two editions": joined(make_form(OLD), make_form(OLDER)),
        "no date": make_form(OLD, {"10": None}),
        "disclosure": make_form("ctep-financial-disclosure", {"2": None}),
        "disclosure blank": make_form(
            "ctep-financial-disclosure", dict.fromkeys(("", "1", "2", "3", "4"))
        ),
    }  # fmt: skip
    return read_documents(tmp_path_factory.mktemp("forms"), specimens)


def join_sentences(verdict):
    return " ".join(
        sentences(each.code, each.facts, type_name="Form FDA 1572").what
        for each in verdict.findings
    )


@pytest.mark.parametrize("key", EDITIONS)
def test_the_edition_is_recognised_by_its_print(readings, key):
    reading = readings[f"{key} filled"]
    assert [(form.form, form.page) for page in reading.pages for form in page.forms] == [
        (key, 1),
        (key, 2),
    ]
    assert all(form.is_edition_certain for page in reading.pages for form in page.forms)


@pytest.mark.parametrize("key", EDITIONS)
def test_every_box_is_read_in_its_place(readings, key):
    filled = states(readings[f"{key} filled"], FORM)
    expected = {place: ["typed"] for place in BOXES_1572}
    expected[1, "2"] = expected[2, "8"] = ["ticked", "unticked"]
    assert {place: filled[place] for place in BOXES_1572} == expected
    mixed = states(readings[f"{key} mixed"], FORM)
    assert mixed[1, "3"] == ["by hand"]
    assert mixed[1, "4"] == ["empty"]
    assert mixed[1, "5"] == ["struck out"]
    assert mixed[2, "8"] == ["unticked", "unticked"]


@pytest.mark.parametrize("key", EDITIONS)
def test_values_come_from_the_boxes(readings, key):
    verdict = checked(readings[f"{key} filled"], declared=FORM, today=TODAY)
    values = {value.name: value.value for value in verdict.fields}
    assert values["investigator"] == "Margaret Whitfield, MD"
    assert values["labs"] == "Northgate Clinical Laboratory, 8 Mill Road, Salem, MA 01970"
    assert values["subinvestigators"] == "Daniel Okafor, MD; Priya Raman, PhD"
    assert values["protocols"] == "ABC-2041-301, IND 104233"
    assert values["signature_date"] == "2026-03-12"
    assert verdict.document_type == FORM


def test_an_empty_box_has_no_value_and_is_named(readings):
    verdict = checked(readings[f"{OLD} mixed"], declared=FORM, today=TODAY)
    assert "labs" not in {value.name for value in verdict.fields}
    assert "box 4 is empty" in join_sentences(verdict).casefold()
    assert "Nothing is ticked in box 8" in join_sentences(verdict)
    assert "box 5 (institutional review board), which is struck out" in join_sentences(verdict)
    assert verdict.state == "REJECTED"


@pytest.mark.parametrize(("key", "edition"), [(OLD, "May 2009"), (OLDER, "May 2006")])
def test_a_superseded_edition_is_a_remark(readings, key, edition):
    verdict = checked(readings[f"{key} filled"], declared=FORM, today=TODAY)
    assert f"This is the {edition} edition of Form FDA 1572" in join_sentences(verdict)
    assert codes(verdict) == ["FORM_EDITION_OUTDATED"]


def test_a_page_of_another_edition_is_left_to_a_person(readings):
    verdict = checked(readings["two editions"], declared=FORM, today=TODAY)
    assert "Page 2 belongs to the May 2006 edition" in join_sentences(verdict)
    assert verdict.state == "IN_REVIEW"


@pytest.mark.parametrize(
    ("name", "declared"), [("blank", FORM), ("disclosure blank", "financial-disclosure")]
)
def test_a_blank_form_is_called_blank(readings, name, declared):
    verdict = checked(readings[name], declared=declared, today=TODAY)
    assert verdict.primary.code == "BLANK_FORM"
    assert "SCHEMA_MISMATCH" not in codes(verdict)
    assert verdict.state == "REJECTED"


def test_a_question_of_a_disclosure_without_an_answer_is_named(readings):
    verdict = checked(readings["disclosure"], declared="financial-disclosure", today=TODAY)
    missing = [each for each in verdict.findings if each.code == "SCHEMA_MISMATCH"]
    assert [each.facts["choice"] for each in missing] == ["box 2"]


def test_a_form_whose_boxes_are_elsewhere_is_not_registered():
    assert not any(page.forms for page in make_document(FORM).pages)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("key", EDITIONS)
def test_a_scan_is_aligned_with_the_blank_form(tmp_path, key):
    scan = make_scan(make_form(key, MIXED), seed=key)
    (reading,) = read_documents(tmp_path, {"scan": scan}).values()
    found = states(reading, FORM)
    assert found[1, "3"] == ["by hand"]
    assert found[1, "4"] == ["empty"]
    assert found[1, "6"] == ["typed"]
    assert found[2, "8"] == ["unticked", "unticked"]


def test_the_description_of_a_form_names_its_file_if_it_is_wrong(tmp_path):
    file = tmp_path / "fda-1.toml"
    file.write_text('name = "Form FDA 1"', encoding="utf-8")
    with pytest.raises(FormDescriptionError, match=r"fda-1\.toml"):
        read_description(file)


@pytest.mark.parametrize("form", registered_forms().values(), ids=registered_forms())
def test_each_box_of_a_form_lies_on_its_page_and_overlaps_no_other_box(form):
    for page in form.pages:
        for box in page.boxes:
            assert 0 <= box.area.left < box.area.right <= page.width
            assert 0 <= box.area.top < box.area.bottom <= page.height
            others = (each.area for each in page.boxes if each is not box)
            assert not any(box.area.intersects(other) for other in others)
