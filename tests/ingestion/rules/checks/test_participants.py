"""Tests of the places of participants' details, with the labelled set of layouts."""

import pytest

from ingestion.rules.checks.privacy import withhold_details
from ingestion.rules.document_types import find_types
from ingestion.rules.fields.values import FieldValue
from ingestion.rules.findings import RuleFinding, format_area, parse_area
from ingestion.rules.participants.participant_records import find_participant_areas
from tests.ingestion.rules import participant_layouts as layouts
from tests.ingestion.rules.pages import checked, make_page, make_reading
from tests.ingestion.rules.participant_pages import make_labelled_page

RECORDS = {each.name: each for each in (*layouts.TUNED, *layouts.KEPT_BACK)}
OTHERS = {each.name: each for each in (*layouts.TUNED_OTHERS, *layouts.KEPT_BACK_OTHERS)}
SEEDS = range(3)


def find_areas(layout, page):
    kinds = find_types(layout.language)
    return find_participant_areas(page.reading, kinds.get(layout.kind)).get(1, [])


def covers(areas, box):
    return any(
        area.left <= box.left + 1
        and area.right >= box.right - 1
        and area.top <= (box.top + box.bottom) / 2 <= area.bottom
        for area in areas
    )


@pytest.mark.parametrize("name", RECORDS)
def test_every_detail_of_a_participant_is_found_in_its_place(name):
    for seed in SEEDS:
        page = make_labelled_page(RECORDS[name], seed)
        areas = find_areas(RECORDS[name], page)
        missed = [part for part, boxes in page.details for box in boxes if not covers(areas, box)]
        assert missed == []


@pytest.mark.parametrize("name", OTHERS)
def test_pages_that_resemble_records_of_participants_are_no_alarm(name):
    for seed in SEEDS:
        assert find_areas(OTHERS[name], make_labelled_page(OTHERS[name], seed)) == []


def test_the_name_of_a_participant_is_found_again_on_other_pages():
    record = make_page("Patient name: Jane Roe", "DOB: 12 Mar 1956", "Seen by Dr Amara Singh")
    letter = make_page("Dear colleagues, we discharged Jane Roe today.", number=2)
    other = make_page("Nothing about a person.", number=3)
    verdict = checked(make_reading(record, letter, other))
    found = {
        finding.page: parse_area(finding.facts["area"])
        for finding in verdict.findings
        if finding.code == "PHI_SUSPECTED"
    }
    assert found.keys() == {1, 2}
    (name,) = found[2]
    words = [word.text for word in letter.words if name.contains_centre_of(word.box)]
    assert words == ["Jane", "Roe"]


def test_the_names_of_staff_on_a_record_are_not_areas():
    record = make_page(
        "Patient name: Jane Roe", "DOB: 12 Mar 1956", "Principal Investigator: Amara Singh"
    )
    areas = find_participant_areas(make_reading(record), None)[1]
    staff = next(word for word in record.words if word.text == "Singh")
    assert not any(area.contains_centre_of(staff.box) for area in areas)


def test_a_finding_about_many_rows_has_a_bounded_number_of_areas():
    head = "Subject No     Patient name           Date of birth"
    rows = [
        f"101-{row:03}        Jane Roe{chr(97 + row)}              12 Mar 1956" for row in range(26)
    ]
    areas = find_participant_areas(make_reading(make_page(head, *rows)), None)[1]
    assert 26 < len(areas) <= 200


def test_other_findings_and_so_the_ledger_do_not_quote_details_of_participants():
    record = make_page("Patient name: Jane Roe", "DOB: 12 Mar 1956")
    areas = find_participant_areas(make_reading(record), None)[1]
    found = RuleFinding("PHI_SUSPECTED", 1, {"page": 1, "area": format_area(*areas)})
    name = FieldValue("person", "Jane Roe", 1, "native", 100.0, box=areas[0])
    others = [
        RuleFinding("PERSON_MISMATCH", 1, {"read": "Jane Roe", "declared": "Amara Singh"}),
        RuleFinding("TEXT_STRUCK_OUT", 1, {"struck": "Roe", "area": format_area(areas[0])}),
        RuleFinding("DATE_INVALID", 1, {"raw": "31 Feb 2026"}),
    ]
    mismatch, struck, invalid = withhold_details(others, [found], [name])
    assert mismatch.facts == {"declared": "Amara Singh"}
    assert struck.facts == {"area": format_area(areas[0])}
    assert invalid.facts == {"raw": "31 Feb 2026"}
