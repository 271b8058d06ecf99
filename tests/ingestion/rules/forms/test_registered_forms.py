"""Tests of registered forms: the edition, the boxes, their values, and pages that are no forms."""

import io
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

import pypdfium2
import pytest
from pypdf import PdfReader, PdfWriter

from bench.registered_forms import RENDITIONS, fill_form, judge, read_states
from ingestion.reading.forms import catalogue, registration
from ingestion.reading.forms.catalogue import (
    FormDescriptionError,
    read_description,
    read_registered_forms,
)
from ingestion.reading.pdf.text_layer import find_words
from ingestion.reading.results import Box, PageReading, TextSource
from ingestion.rules.finding_texts import format_sentences
from ingestion.rules.forms.boxes import find_boxes, find_editions
from samples.official_forms import Manner
from samples.redrawn.descriptions import describe, read_redrawings
from samples.renditions import make_scan
from tests.ingestion.rules.documents import make_document
from tests.ingestion.rules.pages import checked, codes
from tests.ingestion.rules.printed_documents import Readings, read_documents
from tests.ingestion.rules.registered_forms import make_form, print_of, register, states
from tests.marks import slower

TODAY, FORM = date(2026, 11, 20), "form-fda-1572"
OLD, OLDER = "fda-1572-2009-05", "fda-1572-2006-05"
NEW, DCP, DISCLOSURE = (
    "fda-1572-2019-03-redrawn",
    "dcp-financial-disclosure",
    "financial-disclosure",
)
FDA, INTERESTS = "fda-1572-2006-05-fda", "interests that are disclosed"
QUESTIONS = tuple(f"answer to question {number}" for number in range(1, 5))
NOTHING_ELSE = {"none of the interests": None}
FIELDS = {str(number): Manner.FIELD for number in range(1, 9)}
EDITIONS = {OLD: "5/09", OLDER: "5/06", FDA: "5/06"}
BOXES_1572 = [(1, "1"), (1, "2"), (1, "3"), (1, "4"), (1, "5"), (1, "6"), (1, "7"), (2, "8")]
FOLDER = Path(catalogue.__file__).with_name("registered")
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
    """Return the readings of the specimens, each of which is made and read once."""
    specimens = {
        **{f"{key} {name}": partial(make_form, key, manners)
           for key in EDITIONS
           for name, manners in (("filled", None), ("mixed", MIXED))},
        "blank": partial(make_form, OLD, dict.fromkeys((*map(str, range(1, 12)),))),
        "two editions": lambda: joined(make_form(OLD), make_form(OLDER)),
        "no date": partial(make_form, OLD, {"10": None}),
        "in form fields": partial(make_form, OLD, FIELDS),
        "by hand": partial(make_form, DCP, {"answer to question 1": None, **NOTHING_ELSE}),
        "nothing": partial(make_form, DCP, {**NOTHING_ELSE, **dict.fromkeys(QUESTIONS)}),
        "contradiction": partial(make_form, DCP, {}),
        "certification": partial(make_form, "fda-3454-2009-10-redrawn"),
        "no certification": partial(make_form, "fda-3454-2009-10-redrawn", {"certification": None}),
        "no interest": partial(make_form, "fda-3455-2006-04-redrawn", {INTERESTS: None}),
        "application": partial(make_form, "fda-1571-2013-07-redrawn"),
        "application with gaps": partial(make_form,
            "fda-1571-2013-07-redrawn", dict.fromkeys(("1", "8", "11", "13", "14"))
        ),
        "compliance": partial(make_form, "fda-3674-2012-03-redrawn"),
        "no compliance": partial(make_form, "fda-3674-2012-03-redrawn", {"9": None, "12": None}),
        "subentries": partial(make_form, NEW, {"3": None, "4": Manner.BY_HAND}),
        "disclosure": partial(make_form, "ctep-financial-disclosure", {"2": None}),
        "disclosure blank": partial(make_form,
            "ctep-financial-disclosure", dict.fromkeys(("", "1", "2", "3", "4"))
        ),
    }  # fmt: skip
    return Readings(tmp_path_factory.mktemp("forms"), specimens)


def with_form(found):
    """Return a page that was registered like this."""
    return PageReading(1, 612.0, 792.0, "", TextSource.OCR, forms=(found,))


def join_sentences(verdict):
    return " ".join(
        format_sentences(each.code, each.facts, type_name="Form FDA 1572").what
        for each in verdict.findings
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", EDITIONS)
def test_the_edition_is_recognised_by_its_print(readings, key):
    reading = readings[f"{key} filled"]
    assert [(form.form, form.page) for page in reading.pages for form in page.forms] == [
        (key, 1),
        (key, 2),
    ]
    assert all(form.is_edition_certain for page in reading.pages for form in page.forms)


@pytest.mark.sampled(3)
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


@pytest.mark.sampled(3)
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
    assert "the struck-out entry in box 5 (institutional review board)" in join_sentences(verdict)
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
    assert [each.facts["number"] for each in missing] == ["2"]


def test_what_is_entered_in_form_fields_is_read_in_its_boxes(readings):
    reading = readings["in form fields"]
    filled = states(reading, FORM)
    assert filled[1, "2"] == filled[2, "8"] == ["ticked", "unticked"]
    assert all(filled[page, number][0] in {"typed", "ticked"} for page, number in BOXES_1572)
    assert checked(reading, declared=FORM, today=TODAY).state == "ARCHIVED"


@pytest.mark.parametrize(
    ("name", "declared", "values"),
    [
        ("certification", DISCLOSURE, {"investigator": "Margaret Whitfield, MD"}),
        ("application", "form-fda-1571", {"sponsor": "Solaris Therapeutics Inc.",
                                          "submission_date": "2026-03-10",
                                          "drug_name": "SLX-301", "ind_number": "104233"}),
        ("compliance", "form-fda-3674", {"sponsor": "Solaris Therapeutics Inc.",
                                         "nct_numbers": "NCT01234567"}),
    ],
)  # fmt: skip
def test_a_complete_form_is_filed_with_the_values_of_its_boxes(readings, name, declared, values):
    verdict = checked(readings[name], declared=declared, today=TODAY)
    assert (verdict.state, codes(verdict)) == ("ARCHIVED", ["FORM_EDITION_OUTDATED"])
    found = {value.name: value.value for value in verdict.fields}
    assert {**found, **values} == found
    # These forms ask for mm/dd/yyyy, in a box that may be far from the signature.
    assert found["signature_date"] == "2026-03-12"
    assert verdict.document_type == checked(readings[name], today=TODAY).document_type == declared


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "declared", "missing"),
    [
        ("no certification", DISCLOSURE, ["No box is ticked for: "]),
        ("no interest", DISCLOSURE, ["No box is ticked for: "]),
        ("nothing", DISCLOSURE, ["No box is ticked for: answer to question 1.",
                                 "No box is ticked for: answer to question 4."]),
        ("by hand", DISCLOSURE, ["No box is ticked for: answer to question 1."]),
        ("application with gaps", "form-fda-1571", [
            "Box 1 is empty. It asks for the sponsor.", "Nothing is ticked in box 8.",
            "Nothing is ticked in box 11.", "Nothing is ticked in box 13.", "Box 14 is empty."]),
        ("no compliance", "form-fda-3674", ["Nothing is ticked in box 9.", "Box 12 is empty."]),
        ("subentries", FORM, ["Box 3 is empty."]),
    ],
)  # fmt: skip
def test_a_required_box_without_an_entry_is_named(readings, name, declared, missing):
    verdict = checked(readings[name], declared=declared, today=TODAY)
    written = join_sentences(verdict)
    assert [sentence for sentence in missing if sentence not in written] == []
    assert verdict.state == "REJECTED"


def test_an_answer_that_another_square_contradicts_is_left_to_a_person(readings):
    verdict = checked(readings["contradiction"], declared=DISCLOSURE, today=TODAY)
    assert "could not read the answer to question 1" in join_sentences(verdict)
    assert verdict.state == "IN_REVIEW"


def test_an_entry_with_a_name_by_hand_and_no_address_is_left_to_a_person(readings):
    found = states(readings["subentries"], FORM)
    assert found[1, "4"] == ["by hand", *["empty"] * 6]
    verdict = checked(readings["subentries"], declared=FORM, today=TODAY)
    assert "box 4 (clinical laboratories)" in join_sentences(verdict)


@pytest.mark.parametrize(
    "key", [key if key in {FDA, NEW, DCP} else slower(key) for key in read_registered_forms()]
)
def test_no_edition_is_taken_for_another_one(key):
    form = read_registered_forms()[key]
    for blank in form.pages:
        found = register(print_of(blank))
        assert (found.form, found.page, found.is_edition_certain) == (key, blank.number, True)
        assert {(box.ink, box.is_anchored) for box in found.boxes} == {(0.0, True)}


def test_without_the_printed_edition_the_boxes_are_still_read_and_the_edition_is_not_named():
    blank = read_registered_forms()[OLD].pages[0]
    found = register(print_of(blank, lambda text, box: None if text == "(5/09)" else box))
    assert not found.is_edition_certain
    reading = replace(make_document(FORM), pages=(with_form(found),))
    assert len(find_boxes(reading, FORM)) == len(blank.boxes)
    assert not list(find_editions(reading))


def test_a_box_without_its_print_around_it_is_never_called_empty():
    blank = read_registered_forms()[OLD].pages[0]
    fourth = next(box.area for box in blank.boxes if box.number == "4")
    hidden = Box(0.0, fourth.top - 75, blank.width, fourth.bottom + 75)
    found = register(print_of(blank, lambda _, box: None if hidden.intersects(box) else box))
    reading = replace(make_document(FORM), pages=(with_form(found),))
    by_number = {box.blank.number: box.state.value for box in find_boxes(reading, FORM)}
    assert by_number["4"] == "unclear"
    assert by_number["1"] == by_number["7"] == "empty"


def test_a_form_with_the_words_of_a_redrawn_form_in_other_places_is_not_registered():
    """The form itself has other places than our drawing of it."""
    blank = read_registered_forms()[NEW].pages[0]

    def move(_, box):
        down = 0 if box.top < 260 else 25 if box.top < 420 else 48
        return Box(box.left, box.top + down, box.right, box.bottom + down)

    found = register(print_of(blank, move))
    reading = replace(make_document(FORM), pages=(with_form(found),) if found else ())
    assert find_boxes(reading, FORM) == []


def test_real_forms_are_not_taken_for_redrawn_ones(corpus, monkeypatch):
    paths = [corpus / f"nci-ocr__{name}.pdf" for name in ("form_1572", "ctep_form_fda_1572")]
    for path in paths:
        with pypdfium2.PdfDocument(path) as pdf:
            read = [find_words(page, page.get_textpage()).all for page in pdf]
        first, second = (register(words) for words in read[:2])
        assert not read_registered_forms()[first.form].is_redrawn
        assert first.form == second.form
    redrawn = {key: form for key, form in read_registered_forms().items() if form.is_redrawn}
    monkeypatch.setattr(registration, "read_registered_forms", lambda: redrawn)
    assert [register(words) for words in read[:2]] == [None, None]


def test_a_redrawn_form_has_the_description_of_its_drawing():
    drawn = next(each for each in read_redrawings() if each.key == "fda-3455-2006-04-redrawn")
    assert describe(drawn) == (FOLDER / f"{drawn.key}.toml").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("drawn", read_redrawings(), ids=lambda drawn: drawn.key)
def test_each_redrawn_form_has_the_description_of_its_drawing(drawn):
    assert describe(drawn) == (FOLDER / f"{drawn.key}.toml").read_text(encoding="utf-8")


def test_a_form_whose_boxes_are_elsewhere_is_not_registered():
    assert not any(page.forms for page in make_document(FORM).pages)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [name for name in RENDITIONS if name != "digital"])
def test_no_filled_box_of_a_poor_scan_is_called_empty(name):
    specimen = fill_form(read_registered_forms()[OLDER], 1)
    content = RENDITIONS[name](specimen.content, name)
    found = read_states(specimen, {name: content})[name]
    judged = [judge(state, found.get(place)) for place, state in specimen.expected.items()]
    assert set(judged) <= {"right", "to a person"}
    assert judged.count("right") >= len(judged) - 2


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


def test_each_box_of_a_form_lies_on_its_page_and_overlaps_no_other_box():
    pages = [(key, page) for key, form in read_registered_forms().items() for page in form.pages]
    for key, page in pages:
        for box in page.boxes:
            assert 0 <= box.area.left < box.area.right <= page.width, (key, box)
            assert 0 <= box.area.top < box.area.bottom <= page.height, (key, box)
            others = (each.area for each in page.boxes if each is not box)
            assert not any(box.area.intersects(other) for other in others), (key, box)
