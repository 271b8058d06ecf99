"""Tests of the findings about marks that people added."""

from datetime import date

import pytest

from ingestion.core.states import DocumentState
from ingestion.reading.results import AddedMark, AddedMarkKind, Box
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.marks import MAX_FINDINGS_PER_PAGE, check_added_marks
from ingestion.rules.checks.verdict import check_part
from ingestion.rules.finding_texts import format_grouped_sentences
from ingestion.rules.findings import format_area, parse_area
from ingestion.rules.segmentation.parts import PagePart
from samples.added_marks import Stamp, add_stamp, cover_words, strike_out
from samples.documents import make_sample
from samples.people_and_sites import get_sample_site
from tests.ingestion.reading.documents import read, save
from tests.ingestion.rules.pages import checked, codes, make_page, make_reading

TODAY = date(2026, 11, 20)
STAMPS = {
    "VOID": ("STAMPED_VOID", DocumentState.IN_REVIEW),
    "SUPERSEDED": ("STAMPED_SUPERSEDED", DocumentState.IN_REVIEW),
    "DRAFT": ("STAMPED_DRAFT", DocumentState.IN_REVIEW),
    "COPY": ("STAMPED_COPY", DocumentState.ARCHIVED),
    "RECEIVED": ("STAMPED_RECEIVED", DocumentState.ARCHIVED),
}
SITE = get_sample_site("1001")


def verdict_on(tmp_path, content):
    facts = SiteFacts(SITE.site_id, SITE.study.protocol_number, SITE.hospital, SITE.study.version)
    return checked(read(save(tmp_path, content)), site=facts, today=TODAY)


def letter():
    return make_sample("irb-approval", today=TODAY, site=SITE)


def marked_page(*marks, lines=("Enrolment ends on 3 May 2026",)):
    return make_page(*lines, added_marks=marks)


def test_the_same_document_without_marks_is_filed(tmp_path):
    verdict = verdict_on(tmp_path, letter())
    assert (verdict.state, codes(verdict)) == (DocumentState.ARCHIVED, [])


@pytest.mark.parametrize("words", STAMPS)
def test_a_stamp_decides_whether_a_person_sees_the_document(tmp_path, words):
    code, state = STAMPS[words]
    verdict = verdict_on(tmp_path, add_stamp(letter(), Stamp(words, degrees=20)))
    assert (verdict.state, codes(verdict)) == (state, [code])
    facts = verdict.findings[0].facts
    assert (facts["stamp"], facts["page"]) == (words, 1)
    assert parse_area(facts["area"])


def test_a_struck_out_value_without_initials_goes_to_review(tmp_path):
    verdict = verdict_on(tmp_path, strike_out(letter(), SITE.study.protocol_number))
    assert verdict.state is DocumentState.IN_REVIEW
    assert "TEXT_STRUCK_OUT" in codes(verdict)


def test_a_correction_with_initials_and_date_is_a_remark(tmp_path):
    content = strike_out(letter(), SITE.department, initials="MW 12 Oct 2026")
    verdict = verdict_on(tmp_path, content)
    assert (verdict.state, codes(verdict)) == (DocumentState.ARCHIVED, ["TEXT_CORRECTED"])


def test_a_sticker_over_text_goes_to_review(tmp_path):
    verdict = verdict_on(tmp_path, cover_words(letter(), SITE.department, new_text="Cardiology"))
    assert (verdict.state, codes(verdict)) == (DocumentState.IN_REVIEW, ["TEXT_COVERED"])


def test_initials_without_a_date_are_not_enough():
    struck = AddedMark(AddedMarkKind.STRUCK_OUT, Box(54, 60, 100, 69), "Enrolment")
    page = marked_page(struck, lines=("Enrolment  MW",))
    (finding,) = check_added_marks(make_reading(page))
    assert (finding.code, finding.facts["struck"]) == ("TEXT_STRUCK_OUT", "Enrolment")


def test_a_page_full_of_changes_has_few_findings():
    marks = [
        AddedMark(AddedMarkKind.STRUCK_OUT, Box(54, 60 + row, 100, 62 + row)) for row in range(40)
    ]
    assert len(list(check_added_marks(make_reading(marked_page(*marks))))) == MAX_FINDINGS_PER_PAGE


def test_the_same_stamp_on_several_pages_is_one_sentence():
    pages = [
        make_page(
            "text",
            number=number,
            added_marks=[AddedMark(AddedMarkKind.DRAFT, Box(9, 9, 90, 90 + number), "DRAFT")],
        )
        for number in (1, 2, 3)
    ]
    findings = list(check_added_marks(make_reading(*pages)))
    text = format_grouped_sentences("STAMPED_DRAFT", findings, type_name="IRB approval")
    assert text.what == ("3 pages are marked “DRAFT”: 1-3. This is not the final IRB approval.")


def test_the_area_of_a_finding_is_read_back():
    box = Box(1.5, 2.0, 30.0, 40.2)
    assert parse_area(format_area(box)) == [box]
    assert parse_area("") == []
    assert parse_area("left of the table") == []


def test_a_mark_on_a_half_sheet_is_placed_on_the_whole_sheet():
    stamp = AddedMark(AddedMarkKind.VOID, Box(300, 500, 400, 540), "VOID")
    reading = make_reading(marked_page(stamp))
    sent, site = SenderFacts("v2.1"), SiteFacts("1001")
    areas = {}
    for half in ((0.0, 0.0, 1.0, 0.5), (0.0, 0.5, 1.0, 1.0)):
        verdict = check_part(reading, PagePart(1, 1, region=half), sent, site=site, today=TODAY)
        areas[half[1]] = [
            box
            for finding in verdict.findings
            if finding.code == "STAMPED_VOID"
            for box in parse_area(finding.facts["area"])
        ]
    assert areas == {0.0: [], 0.5: [stamp.box]}
