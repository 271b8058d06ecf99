"""Tests of the form in which a reviewer divides a file."""

from types import SimpleNamespace

import pytest

from ingestion.core.file_parts import DocumentPart, FilePart, PageExclusion, PageUse
from ingestion.models import Document
from tests.factories import make_staff
from tests.web.scenes import make_file_to_divide
from web.review.division_form import DivisionForm, list_proposed_sheets

LEFT, RIGHT = "0,0,0.5,1", "0.5,0,1,1"
CUT = {
    "parts": [
        {"pages": [1, 2], "type": "cv", "evidence": "it has the title"},
        {"pages": [4, 4], "region": LEFT, "type": "", "evidence": ""},
        {"pages": [4, 4], "region": RIGHT, "type": "no-such-type", "evidence": ""},
    ],
    "excluded": [{"pages": [3, 3], "use": "blank", "reason": ""}],
}
FILE = Document(pages=4, state="IN_REVIEW")


def extraction(cut=CUT):
    return SimpleNamespace(cut=cut, pages=[])


def form(uses, cut=CUT, **given):
    data = {"reason": "The file holds several documents.", "made_on": "1"}
    data |= {"username": "rafael", "password": "correct horse", **given}
    data |= {f"use-{number}": use for number, use in enumerate(uses)}
    return DivisionForm(FILE, extraction(cut), data)


def test_the_proposed_cut_is_what_the_form_shows_first():
    sheets = list_proposed_sheets(FILE, extraction())
    assert [(sheet.name, sheet.use, sheet.document_type) for sheet in sheets] == [
        ("Page 1", "begins", "cv"),
        ("Page 2", "continues", ""),
        ("Page 3", "blank", ""),
        ("Page 4, one of several on the sheet", "begins", ""),
        ("Page 4, one of several on the sheet", "begins", ""),
    ]
    assert [sheet.use for sheet in list_proposed_sheets(FILE, None)] == [
        "begins",
        *["continues"] * 3,
    ]


def test_a_confirmed_proposal_is_the_division_that_was_proposed():
    confirmed = form(["begins", "continues", "blank", "begins", "begins"], **{"type-0": "cv"})
    assert confirmed.is_valid(), confirmed.errors
    division = confirmed.decision_input.division
    assert division.parts == (
        DocumentPart(FilePart(1, 2), "cv"),
        DocumentPart(FilePart.parse(4, 4, LEFT)),
        DocumentPart(FilePart.parse(4, 4, RIGHT)),
    )
    assert division.excluded == (PageExclusion(FilePart(3, 3), PageUse.BLANK),)


@pytest.mark.parametrize(("chosen", "person"), [("cv", "Elena Márquez"), ("gcp-certificate", "")])
def test_the_person_of_a_separator_sheet_stays_declared_unless_the_type_is_changed(chosen, person):
    announced = {"pages": [2, 4], "type": "cv", "evidence": "", "person": "Elena Márquez"}
    cut = {"parts": [announced], "excluded": [{"pages": [1, 1], "use": "separator"}]}
    uses = ["separator", "begins", "continues", "continues"]
    confirmed = form(uses, cut, **{"type-1": chosen})
    assert confirmed.is_valid(), confirmed.errors
    (part,) = confirmed.decision_input.division.parts
    assert part == DocumentPart(FilePart(2, 4), chosen, person)


@pytest.mark.parametrize(
    ("uses", "field"),
    [
        (["continues", "continues", "blank", "begins", "begins"], "use-0"),
        (["begins", "blank", "continues", "begins", "begins"], "use-2"),
        (["begins", "continues", "continues", "continues", "begins"], "use-3"),
        (["begins", "continues", "set_aside", "begins", "begins"], "reason-2"),
        (["begins", "continues", "unknown", "begins", "begins"], "use-2"),
    ],
    ids=["nothing before", "after a blank page", "a half sheet", "without reason", "unknown"],
)
def test_what_does_not_fit_is_an_error_at_its_page(uses, field):
    refused = form(uses)
    assert not refused.is_valid()
    assert list(refused.errors) == [field]


def test_a_page_that_cannot_continue_a_document_says_what_to_select():
    refused = form(["begins", "blank", "continues", "begins", "begins"])
    sentence = "Page 3 cannot continue a document. Select “First page of a document” there."
    assert refused.errors["use-2"] == [sentence]


def test_the_page_shows_each_page_of_the_file_with_the_proposal(client, site, mara):
    file = make_file_to_divide(site, mara)
    client.force_login(make_staff("QA reviewers", "quinn"))
    html = client.get(f"/admin/review/{file.pk}/divide/").content.decode()
    assert "It is not certain on which pages documents begin." in html
    assert html.count('class="sl-cut-page"') == 3
    assert f'src="/documents/{file.pk}/pages/3/?ahead"' in html
    client.force_login(mara)
    assert client.get(f"/admin/review/{file.pk}/divide/").status_code in {403, 404}
