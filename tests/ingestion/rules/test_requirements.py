"""What a site needs: each document's standing, of everybody and every laboratory that is named."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.rules.site_file.requirements import (
    DEFAULT_EXPECTED_DOCUMENTS,
    ExpectedDocument,
    RequiredFor,
    RequirementStatus,
    WaivedRequirement,
    list_requirements,
)
from tests.ingestion.rules.dossiers import LAB, PI, SUB, dossier, paper

TODAY = date(2026, 11, 20)
CV = ExpectedDocument("cv", RequiredFor.TEAM)
LICENCE = ExpectedDocument("medical-licence")
S = RequirementStatus


def standing_of(*papers, waived=(), wanted=LICENCE):
    (only,) = list_requirements([wanted], papers, waived, TODAY)
    return only


def rows(papers, waived=(), wanted=DEFAULT_EXPECTED_DOCUMENTS):
    return {(row.kind, row.whose): row for row in list_requirements(wanted, papers, waived, TODAY)}


def test_a_site_of_which_nothing_is_known_needs_each_document_once():
    found = list_requirements(DEFAULT_EXPECTED_DOCUMENTS, [], [], TODAY)
    assert [(row.kind, row.whose, row.status) for row in found] == [
        (wanted.kind, "", S.MISSING) for wanted in DEFAULT_EXPECTED_DOCUMENTS
    ]


def test_a_whole_packet_meets_every_requirement():
    assert {row.status for row in rows(dossier()).values()} == {S.CURRENT}


@pytest.mark.parametrize(
    ("state", "standing"),
    [
        ("RECEIVED", S.PENDING),
        ("VALIDATING", S.PENDING),
        ("IN_REVIEW", S.PENDING),
        ("HELD", S.PENDING),
        ("ARCHIVED", S.CURRENT),
        ("REJECTED", S.RETURNED),
        ("RETURNED", S.RETURNED),
        ("WITHDRAWN", S.MISSING),
        ("CANCELLED", S.MISSING),
        ("DEDUPED", S.MISSING),
    ],
)
def test_a_documents_state_gives_its_standing(state, standing):
    row = standing_of(paper("medical-licence", state=state))
    assert row.status is standing
    assert (row.document is None) == (standing is S.MISSING)


def filed(key=1, *, days=400, expires_soon=False, **rest):
    expires = TODAY + timedelta(days=days)
    return paper("medical-licence", key, expires=expires, expires_soon=expires_soon, **rest)


def test_the_last_day_still_counts_and_the_next_one_does_not():
    assert standing_of(filed(days=0, expires_soon=True)).status is S.EXPIRING
    assert standing_of(filed(days=-1)).status is S.EXPIRED


def test_where_the_study_only_warns_what_ran_out_still_counts():
    row = standing_of(filed(days=-1, expires_soon=True, is_accepted_after_expiry=True))
    assert row.status is S.EXPIRING


def test_what_is_on_file_counts_until_something_newer_is():
    rejected = filed(2, state="REJECTED")
    assert standing_of(filed(1), rejected).status is S.CURRENT
    assert standing_of(filed(1, days=-1), rejected).status is S.RETURNED
    assert standing_of(filed(1, days=-1), filed(2, state="RECEIVED")).status is S.PENDING
    assert standing_of(filed(1, days=-1), filed(2)).document.key == 2


def test_a_waiver_meets_what_nothing_on_file_meets():
    waiver = WaivedRequirement(
        "medical-licence", "The investigator holds no licence of this state."
    )
    row = standing_of(filed(days=-1), waived=[waiver])
    assert (row.status, row.reason) == (S.WAIVED, waiver.reason)
    row = standing_of(filed(), waived=[waiver])
    assert (row.status, row.reason) == (S.CURRENT, "")


def test_a_waiver_for_one_person_leaves_the_others_as_they_are():
    papers = dossier(without=["cv"])
    found = rows(papers, [WaivedRequirement("cv", "Retired in May.", "Weber, Jonas")])
    assert found["cv", f"{SUB}, MD"].status is S.WAIVED
    assert found["cv", f"{PI}, MD"].status is S.MISSING


def test_everybody_whom_the_form_names_needs_papers_of_their_own():
    found = rows(dossier(with_sub=False))
    assert found["cv", f"{PI}, MD"].status is S.CURRENT
    row = found["cv", f"{SUB}, MD"]
    assert (row.status, row.named_on.kind) == (S.MISSING, "form-fda-1572")
    assert ("medical-licence", f"{SUB}, MD") not in found


def test_every_laboratory_of_the_form_needs_its_own_and_no_line_of_an_address_does():
    form = {"form-fda-1572": {"labs": f"{LAB}; 12 Main Street; Maple Grove Pathology, Ohio"}}
    found = rows(dossier(form))
    assert found["lab-certification", LAB].status is S.CURRENT
    assert found["lab-certification", "Maple Grove Pathology, Ohio"].status is S.MISSING
    assert [whose for kind, whose in rows(dossier()) if kind == "lab-certification"] == [
        f"{LAB}, CLIA 36D9900101"
    ]


def test_a_laboratory_is_known_by_its_number_as_well():
    form = {"form-fda-1572": {"labs": "CRCL, CLIA 36D9900101"}}
    certificate = {"lab-certification": {"clia_number": "36D9900101"}}
    found = rows(dossier(form | certificate))
    assert found["lab-certification", "CRCL, CLIA 36D9900101"].status is S.CURRENT


@pytest.mark.parametrize("none", ["None", "N/A", "n/a.", "", "Not applicable"])
def test_none_is_nobody(none):
    found = rows(dossier({"form-fda-1572": {"subinvestigators": none}}))
    assert [whose for kind, whose in found if kind == "cv"] == [f"{PI}, MD"]


def test_names_that_may_be_misread_ask_for_nobodys_papers():
    form = paper(
        "form-fda-1572", confidence=60.0, values={"subinvestigators": SUB, "investigator": PI}
    )
    assert [row.whose for row in list_requirements([CV], [form], [], TODAY)] == [""]


def test_a_paper_that_does_not_say_whose_it_is_is_not_called_missing():
    papers = [paper("form-fda-1572", 1, values={"investigator": PI, "subinvestigators": SUB}),
              paper("cv", 2, values={"person": SUB}), paper("cv", 3)]  # fmt: skip
    assert {row.status for row in list_requirements([CV], papers, [], TODAY)} == {S.CURRENT}


def test_whose_it_was_sent_as_tells_where_the_page_does_not():
    papers = [paper("form-fda-1572", 1, values={"investigator": PI, "subinvestigators": SUB}),
              paper("cv", 2, person="jonas-weber")]  # fmt: skip
    found = rows(papers, wanted=[CV])
    assert found["cv", SUB].status is S.CURRENT
    assert found["cv", PI].status is S.MISSING


@given(st.randoms())
def test_the_order_of_the_papers_never_matters(random):
    papers = dossier({"cv": {"person": "Somebody Else"}})
    shuffled = random.sample(papers, len(papers))
    assert rows(papers) == rows(shuffled)
