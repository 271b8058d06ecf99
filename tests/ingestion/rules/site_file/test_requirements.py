"""Tests of the status of each document that a site needs."""

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
from tests.ingestion.rules.site_documents import (
    LAB,
    PI,
    SUB,
    make_site_documents,
    site_document,
)

TODAY = date(2026, 11, 20)
CV = ExpectedDocument("cv", RequiredFor.TEAM)
LICENCE = ExpectedDocument("medical-licence")
S = RequirementStatus


def requirement_for(*documents, waived=(), wanted=LICENCE):
    (only,) = list_requirements([wanted], documents, waived, TODAY)
    return only


def rows(documents, waived=(), wanted=DEFAULT_EXPECTED_DOCUMENTS):
    return {
        (row.document_type, row.whose): row
        for row in list_requirements(wanted, documents, waived, TODAY)
    }


def test_a_site_without_documents_needs_each_document_once():
    found = list_requirements(DEFAULT_EXPECTED_DOCUMENTS, [], [], TODAY)
    assert [(row.document_type, row.whose, row.status) for row in found] == [
        (wanted.document_type, "", S.MISSING) for wanted in DEFAULT_EXPECTED_DOCUMENTS
    ]


def test_a_complete_packet_meets_every_requirement():
    assert {row.status for row in rows(make_site_documents()).values()} == {S.CURRENT}


@pytest.mark.parametrize(
    ("state", "status"),
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
def test_the_state_of_a_document_decides_the_status(state, status):
    row = requirement_for(site_document("medical-licence", state=state))
    assert row.status is status
    assert (row.document is None) == (status is S.MISSING)


def filed(key=1, *, days=400, expires_soon=False, **rest):
    expires = TODAY + timedelta(days=days)
    return site_document("medical-licence", key, expires=expires, expires_soon=expires_soon, **rest)


def test_a_document_is_valid_on_its_last_day_and_not_after():
    assert requirement_for(filed(days=0, expires_soon=True)).status is S.EXPIRING
    assert requirement_for(filed(days=-1)).status is S.EXPIRED


def test_an_expired_document_counts_if_the_study_only_warns():
    row = requirement_for(filed(days=-1, expires_soon=True, is_accepted_after_expiry=True))
    assert row.status is S.EXPIRING


def test_a_filed_document_counts_until_a_newer_one_is_filed():
    rejected = filed(2, state="REJECTED")
    assert requirement_for(filed(1), rejected).status is S.CURRENT
    assert requirement_for(filed(1, days=-1), rejected).status is S.RETURNED
    assert requirement_for(filed(1, days=-1), filed(2, state="RECEIVED")).status is S.PENDING
    assert requirement_for(filed(1, days=-1), filed(2)).document.key == 2


def test_a_waiver_meets_a_requirement_without_a_valid_document():
    waiver = WaivedRequirement(
        "medical-licence", "The investigator holds no licence of this state."
    )
    row = requirement_for(filed(days=-1), waived=[waiver])
    assert (row.status, row.reason) == (S.WAIVED, waiver.reason)
    row = requirement_for(filed(), waived=[waiver])
    assert (row.status, row.reason) == (S.CURRENT, "")


def test_a_waiver_for_one_person_does_not_change_others():
    documents = make_site_documents(without=["cv"])
    found = rows(documents, [WaivedRequirement("cv", "Retired in May.", "Weber, Jonas")])
    assert found["cv", f"{SUB}, MD"].status is S.WAIVED
    assert found["cv", f"{PI}, MD"].status is S.MISSING


def test_everybody_on_the_form_needs_their_own_documents():
    found = rows(make_site_documents(with_sub=False))
    assert found["cv", f"{PI}, MD"].status is S.CURRENT
    row = found["cv", f"{SUB}, MD"]
    assert (row.status, row.named_on.document_type) == (S.MISSING, "form-fda-1572")
    assert ("medical-licence", f"{SUB}, MD") not in found


def test_every_laboratory_on_the_form_needs_its_own_documents():
    form = {"form-fda-1572": {"labs": f"{LAB}; 12 Main Street; Maple Grove Pathology, Ohio"}}
    found = rows(make_site_documents(form))
    assert found["lab-certification", LAB].status is S.CURRENT
    assert found["lab-certification", "Maple Grove Pathology, Ohio"].status is S.MISSING
    assert [
        whose for kind, whose in rows(make_site_documents()) if kind == "lab-certification"
    ] == [f"{LAB}, CLIA 36D9900101"]


def test_a_laboratory_is_recognised_by_its_clia_number():
    form = {"form-fda-1572": {"labs": "CRCL, CLIA 36D9900101"}}
    certificate = {"lab-certification": {"clia_number": "36D9900101"}}
    found = rows(make_site_documents(form | certificate))
    assert found["lab-certification", "CRCL, CLIA 36D9900101"].status is S.CURRENT


@pytest.mark.parametrize("none", ["None", "N/A", "n/a.", "", "Not applicable"])
def test_the_word_none_names_nobody(none):
    found = rows(make_site_documents({"form-fda-1572": {"subinvestigators": none}}))
    assert [whose for kind, whose in found if kind == "cv"] == [f"{PI}, MD"]


def test_names_that_may_be_misread_require_no_documents():
    form = site_document(
        "form-fda-1572", confidence=60.0, values={"subinvestigators": SUB, "investigator": PI}
    )
    assert [row.whose for row in list_requirements([CV], [form], [], TODAY)] == [""]


def test_a_document_without_a_name_counts_for_the_only_person_without_one():
    documents = [
        site_document("form-fda-1572", 1, values={"investigator": PI, "subinvestigators": SUB}),
        site_document("cv", 2, values={"person": SUB}),
        site_document("cv", 3),
    ]
    assert {row.status for row in list_requirements([CV], documents, [], TODAY)} == {S.CURRENT}


def test_the_declared_person_counts_if_the_document_names_nobody():
    documents = [
        site_document("form-fda-1572", 1, values={"investigator": PI, "subinvestigators": SUB}),
        site_document("cv", 2, person="jonas-weber"),
    ]
    found = rows(documents, wanted=[CV])
    assert found["cv", SUB].status is S.CURRENT
    assert found["cv", PI].status is S.MISSING


@given(st.randoms())
def test_requirements_do_not_depend_on_the_order_of_the_documents(random):
    documents = make_site_documents({"cv": {"person": "Another Person"}})
    shuffled = random.sample(documents, len(documents))
    assert rows(documents) == rows(shuffled)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("irb-continuing-review", S.CURRENT),
        ("irb-exemption", S.MISSING),
        ("irb-amendment-approval", S.MISSING),
        ("irb-acknowledgement", S.MISSING),
        ("irb-changes-requested", S.MISSING),
        ("irb-disapproval", S.MISSING),
    ],
)
def test_only_an_approval_of_the_research_meets_the_requirement_of_one(kind, status):
    wanted = ExpectedDocument("irb-approval")
    assert requirement_for(site_document(kind), wanted=wanted).status is status


def test_a_continuing_review_follows_an_expired_approval():
    expired = site_document("irb-approval", 1, expires=TODAY - timedelta(days=1))
    renewed = site_document("irb-continuing-review", 2, expires=TODAY + timedelta(days=300))
    wanted = ExpectedDocument("irb-approval")
    assert requirement_for(expired, wanted=wanted).status is S.EXPIRED
    assert requirement_for(expired, renewed, wanted=wanted).status is S.CURRENT


def test_a_biosketch_stands_in_for_the_cv_of_its_person():
    documents = make_site_documents(without={"cv"}, with_sub=False)
    biosketch = site_document("nih-biosketch", 90, values={"person": PI})
    assert rows(documents)["cv", f"{PI}, MD"].status is S.MISSING
    assert rows([*documents, biosketch])["cv", f"{PI}, MD"].status is S.CURRENT
