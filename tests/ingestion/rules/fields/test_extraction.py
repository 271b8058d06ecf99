from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.reading.results import Box, TextSource, Word
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.extraction import read_fields
from tests.ingestion.rules.documents import make_document
from tests.ingestion.rules.pages import make_page, make_reading


def values(slug, *lines, fields=None, **page):
    reading = make_reading(make_page(*lines, **page), fields=fields)
    return {value.name: value for value in read_fields(reading, TYPES[slug])}


def test_an_irb_letter_gives_its_numbers_and_dates():
    read = {v.name: v for v in read_fields(make_document("irb-approval"), TYPES["irb-approval"])}
    assert read["irb_registration"].value == "IRB99000101"
    assert read["fwa_number"].value == "FWA99000201"
    assert read["protocol_number"].value == "SLX-301"
    assert read["protocol_version"].value == "3.0"
    assert read["approval_date"].day == date(2026, 8, 14)


def test_a_value_is_found_beside_or_below_its_caption():
    beside = values("medical-licence", "License Number:   OH-35.990142")
    below = values("medical-licence", "License Number     Status", "OH-35.990142       Active")
    assert beside["licence_number"].value == below["licence_number"].value == "OH-35.990142"


def test_each_of_two_captions_gets_the_date_below_it():
    read = values(
        "lab-certification",
        "EFFECTIVE DATE            EXPIRATION DATE",
        "07/04/2026                07/03/2028",
    )
    assert read["effective_date"].value == "2026-07-04"
    assert read["expiry_date"].value == "2028-07-03"


def test_a_form_field_has_priority_over_printed_text():
    fields = {"page1.protocol_text": "ABC-999", "date_text": "10/08/2026"}
    read = values("form-fda-1572", "Protocol number: SLX-301", fields=fields)
    assert (read["protocol_number"].value, read["protocol_number"].source) == (
        "ABC-999",
        "acroform",
    )


@given(st.text("0123456789", min_size=7, max_size=7), st.text("0123456789", min_size=2, max_size=2))
def test_a_misread_clia_number_on_a_scan_is_corrected(serial, state):
    number = f"{state}D{serial}"
    misread = number.replace("0", "O").replace("1", "l").replace("5", "S")
    read = values("lab-certification", f"CLIA ID NUMBER: {misread}", source=TextSource.OCR)
    assert read["clia_number"].value == number


def test_ten_digits_in_a_text_layer_are_not_a_clia_number():
    assert "clia_number" not in values("lab-certification", "Phone 5550123456")


def test_the_omb_date_of_a_form_is_not_its_expiry_date():
    read = values(
        "medical-licence", "Form Approved: OMB No. 0910-0014", "Expiration Date: 3/31/2022"
    )
    assert "expiry_date" not in read


@pytest.mark.parametrize("written", ["31 Feb 2026", "03/12/2026"])
def test_a_date_without_a_definite_day_is_kept_as_written(written):
    read = values("irb-approval", f"Approval Date: {written}")
    assert (read["approval_date"].value, read["approval_date"].day) == (written, None)


def test_a_value_has_the_lowest_confidence_of_its_words():
    read = values("cv", "Name: Margaret Whitfield", source=TextSource.OCR, confidence=61.0)
    assert (read["person"].confidence, read["person"].is_sure) == (61.0, False)


def test_a_value_has_its_position_on_the_page():
    read = values("cv", "Name: Margaret Whitfield", number=3)
    assert read["person"].page == 3
    assert read["person"].box.left == 84.0


@pytest.mark.parametrize(
    "name",
    [
        "Margaret Whitfield, MD",
        "Jörg Brandt, Dr.",
        "Liam O'Rourke",
        "Anna van der Berg",
        "Dr. med. Karin von der Heide",
        "Stefan Albrecht, Prof. Dr. med.",
    ],
)
def test_names_are_read_in_many_forms(name):
    assert values("cv", f"Name: {name}")["person"].value == name


def test_a_name_under_a_centred_caption_is_read_from_its_beginning():
    read = values(
        "gcp-certificate", "          This certifies that", "     Margaret Anne Whitfield, MD"
    )
    assert read["person"].value == "Margaret Anne Whitfield, MD"


def test_a_heading_is_not_a_caption():
    read = values("lab-normal-ranges", "LABORATORY NORMAL RANGES", "Laboratory: Cedar Ridge Core")
    assert read["lab_name"].value == "Cedar Ridge Core"


def test_a_watermark_across_the_line_does_not_separate_caption_and_value():
    page = make_page("Site number:      0203")
    mark = page.words[0].__class__(
        "SPECIMEN", page.words[0].box.__class__(100, 20, 120, 200), 100.0
    )
    marked = make_reading(make_page("Site number:      0203", words=(mark, *page.words)))
    read = {value.name: value for value in read_fields(marked, TYPES["cv"])}
    assert read["site_number"].value == "0203"


def test_the_search_in_a_document_of_captions_is_limited():
    captions = [make_page(*["Name:", "1"] * 25, number=number) for number in range(1, 11)]
    named = make_page("Name: Margaret Whitfield", number=11)
    found = read_fields(make_reading(*captions[:2], named), TYPES["cv"])
    assert found[0].value == "Margaret Whitfield"
    assert read_fields(make_reading(*captions, named), TYPES["cv"]) == ()


@pytest.mark.parametrize(
    "line",
    ["My full name Margaret Whitfield", "the Laboratory is open", "Laboratory hours are long"],
)
def test_the_words_of_a_sentence_are_not_a_caption(line):
    assert values("cv", line) == values("lab-normal-ranges", line) == {}


def test_only_a_date_beside_the_omb_number_is_the_omb_date():
    assert "omb_expiry" not in values("form-fda-1572", "Expiration Date: 03/31/2022")
    read = values("form-fda-1572", "OMB No. 0910-0014   Expiration Date: 03/31/2022")
    assert read["omb_expiry"].value == "2022-03-31"


def test_a_date_in_a_form_field_is_read_as_a_date():
    read = values("lab-certification", "CLIA", fields={"expiration_date": "07/03/2028"})
    assert (read["expiry_date"].day, read["expiry_date"].page) == (date(2028, 7, 3), 0)


def test_a_number_that_ocr_split_is_joined():
    line = "CLIA ID NUMBER: 64D4751 342"
    assert values("lab-certification", line, source=TextSource.OCR)["clia_number"].value == (
        "64D4751342"
    )
    assert "clia_number" not in values("lab-certification", line)
    telephone = "Phone 64 0475 1342"
    assert "clia_number" not in values("lab-certification", telephone, source=TextSource.OCR)


def test_a_split_clia_number_in_a_name_is_joined():
    lab = "Laboratory: Cedar Ridge Core (CLIA 57D2621 961)"
    read = values("lab-normal-ranges", lab, source=TextSource.OCR)["lab_name"]
    assert (read.value, read.is_sure) == ("Cedar Ridge Core (CLIA 57D2621961)", True)
    assert values("lab-normal-ranges", lab)["lab_name"].value == lab.partition(": ")[2]


def test_a_name_with_a_split_number_is_not_sure():
    lab = "Laboratory: Cedar Ridge Core (LAP A57262 961)"
    assert not values("lab-normal-ranges", lab, source=TextSource.OCR)["lab_name"].is_sure
    assert values("lab-normal-ranges", lab)["lab_name"].is_sure


def test_a_dot_after_a_degree_may_be_misread_as_a_comma():
    line = "Name: Stefan Albrecht, Prof. Dr, med,"
    read = values("cv", line, source=TextSource.OCR)
    assert read["person"].value == "Stefan Albrecht, Prof. Dr. med."


def test_a_date_that_does_not_exist_counts_as_misread_on_a_scan():
    line = "Approval Date: 46 September 2026"
    scanned, printed = (
        values("irb-approval", line, source=TextSource.OCR),
        values("irb-approval", line),
    )
    assert not scanned["approval_date"].is_sure
    assert printed["approval_date"].is_sure


def test_a_rule_between_two_columns_is_not_part_of_the_value():
    line = "Protocol number:     |   SLX-301"
    assert values("cv", "Site number:    |   0203", source=TextSource.OCR)["site_number"].value == (
        "0203"
    )
    read = values("financial-disclosure", line, source=TextSource.OCR)
    assert read["protocol_number"].value == "SLX-301"


def test_a_misread_rule_below_the_line_does_not_separate_caption_and_value():
    page = make_page("Site number:      0203", source=TextSource.OCR, confidence=90.0)
    rule = Word("press", Box(120.0, 62.0, 132.0, 80.0), 26.0)
    read = read_fields(make_reading(replace(page, words=(*page.words, rule))), TYPES["cv"])
    assert [value.value for value in read if value.name == "site_number"] == ["0203"]
