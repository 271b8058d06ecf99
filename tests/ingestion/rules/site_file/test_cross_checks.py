"""Tests of the comparison of a site's documents with one another."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion.rules.finding_texts import format_sentences, list_placeholders
from ingestion.rules.messages import MESSAGES
from ingestion.rules.site_file.cross_checks import find_gaps
from ingestion.rules.site_file.requirements import (
    DEFAULT_EXPECTED_DOCUMENTS,
    ExpectedDocument,
    RequiredFor,
    WaivedRequirement,
    list_requirements,
)
from tests.ingestion.rules.site_documents import (
    IRB,
    LAB,
    PI,
    SUB,
    VALUES,
    make_site_documents,
    site_document,
)

TODAY = date(2026, 11, 20)


def found(documents, waived=(), protocol=""):
    return find_gaps(
        DEFAULT_EXPECTED_DOCUMENTS,
        documents,
        list_requirements(DEFAULT_EXPECTED_DOCUMENTS, documents, waived, TODAY),
        protocol=protocol,
    )


def summary(gap):
    return gap.code, gap.one.document_type, gap.other.document_type if gap.other else ""


FORM, PAGE, LETTER = "form-fda-1572", "protocol-signature-page", "irb-approval"
CASES = [
    ({PAGE: {"investigator": "Helena Brandt"}}, ("PERSON_MISMATCH", FORM, PAGE)),
    ({LETTER: {"investigator": "Helena Brandt"}}, ("PERSON_MISMATCH", FORM, LETTER)),
    ({"cv": {"person": "Helena Brandt"}}, ("PERSON_MISMATCH", FORM, "cv")),
    ({"medical-licence": {"person": "Anna Ito"}}, ("PERSON_MISMATCH", FORM, "medical-licence")),
    ({"delegation-log": {"persons": PI}}, ("PERSON_MISMATCH", FORM, "delegation-log")),
    ({LETTER: {"protocol_version": "2.0"}}, ("PROTOCOL_VERSION_MISMATCH", PAGE, LETTER)),
    ({"informed-consent-form": {"version": "3.0"}},
     ("PROTOCOL_VERSION_MISMATCH", LETTER, "informed-consent-form")),
    ({LETTER: {"irb_name": "Maple Grove IRB"}}, ("IRB_MISMATCH", LETTER, FORM)),
    ({LETTER: {"protocol_number": "ABC-999"}}, ("PROTOCOL_MISMATCH", PAGE, LETTER)),
    ({"financial-disclosure": {"protocol_number": "ABC-999"}},
     ("PROTOCOL_MISMATCH", PAGE, "financial-disclosure")),
    ({"lab-certification": {"lab_name": "Maple Grove"}},
     ("LAB_MISMATCH", FORM, "lab-certification")),
    ({FORM: {"labs": ""}, "lab-normal-ranges": {"lab_name": "Maple Grove"}},
     ("LAB_MISMATCH", "lab-certification", "lab-normal-ranges")),
    ({FORM: {"subinvestigators": f"{SUB}\nAna Ruiz"}}, ("PACKET_INCOMPLETE", FORM, "")),
    ({FORM: {"labs": f"{LAB}; Maple Grove Pathology"}}, ("PACKET_INCOMPLETE", FORM, "")),
]  # fmt: skip


@pytest.mark.parametrize(
    "listed",
    [
        pytest.param("Protocol SLX-301, version 3.0", id="no consent form"),
        pytest.param("Informed Consent Form of 9 April 2026", id="no version"),
        pytest.param("Consent Form v1.0; Informed Consent Form, Version 3.0", id="several"),
    ],
)
def test_a_letter_without_an_approved_consent_version_causes_no_gap(listed):
    changes = {LETTER: {"approved_documents": listed}, "informed-consent-form": {"version": "3"}}
    assert found(make_site_documents(changes)) == []


def test_the_newest_approval_that_lists_a_consent_form_counts():
    amendment = site_document(
        "irb-amendment-approval",
        90,
        values={"approved_documents": "Consent Form, version 3.0", "protocol_version": "4.0"},
    )
    changes = {
        "informed-consent-form": {"version": "3.0"},
        "protocol-signature-page": {"protocol_version": "4.0"},
    }
    documents = make_site_documents(changes)
    assert len(found(documents)) == 2
    assert found([*documents, amendment]) == []


def test_a_study_can_require_a_certificate_of_everybody_on_the_delegation_log():
    wanted = [ExpectedDocument("gcp-certificate", RequiredFor.DELEGATED)]
    documents = make_site_documents()
    required = list_requirements(wanted, documents, (), TODAY)
    assert [(one.whose, one.status) for one in required if one.named_on] == [
        (f"{SUB}, MD", "current"),
        ("Ana Ruiz", "missing"),
    ]
    (gap,) = find_gaps(wanted, documents, required)
    assert summary(gap) == ("PACKET_INCOMPLETE", "delegation-log", "")
    assert gap.facts["absent"] == "Ana Ruiz"
    assert gap.facts["lacking"] == "GCP certificate"


def test_documents_that_agree_cause_no_gap():
    assert found(make_site_documents()) == []


@pytest.mark.parametrize(("changes", "expected"), CASES, ids=str)
def test_each_difference_causes_one_kind_of_gap(changes, expected):
    assert {summary(gap) for gap in found(make_site_documents(changes))} == {expected}


@pytest.mark.parametrize(
    "gap", [found(make_site_documents(changes))[0] for changes, _ in CASES], ids=str
)
def test_the_messages_of_a_gap_name_both_documents_and_values(gap):
    """The chosen wordings are those of gaps, which name both documents."""
    texts = format_sentences(gap.code, gap.facts)
    for part in (MESSAGES[gap.code].what, MESSAGES[gap.code].do):
        worded = next(each for each in part if list_placeholders(each) <= {"type", *gap.facts})
        assert "one" in list_placeholders(worded)
    for value in ("expected", "named", "absent"):
        assert gap.facts.get(value, "") in texts.what


def test_the_document_that_differs_from_most_others_is_reported():
    wrong_form = found(make_site_documents({FORM: {"investigator": "Helena Brandt"}}))
    pairs = [summary(gap) for gap in wrong_form if gap.facts.get("named") == "Helena Brandt"]
    assert pairs == [("PERSON_MISMATCH", PAGE, FORM)]


def test_a_value_that_may_be_misread_causes_no_gap():
    blurred = site_document(PAGE, 1, confidence=60.0, values={
        **VALUES[PAGE], "investigator": "Helena Brandt", "protocol_version": "2.0",
    })  # fmt: skip
    assert found(make_site_documents({PAGE: blurred})) == []


@pytest.mark.parametrize("kind", VALUES)
def test_a_missing_field_causes_no_gap(kind):
    silent = site_document(kind, list(VALUES).index(kind) + 1, person="margaret-whitfield")
    assert [gap for gap in found(make_site_documents({kind: silent})) if gap.other] == []


@pytest.mark.parametrize("state", ["REJECTED", "RETURNED", "WITHDRAWN", "RECEIVED"])
def test_only_documents_on_file_or_in_review_are_compared(state):
    other = site_document(PAGE, 1, state=state, values={"investigator": "Helena Brandt"})
    assert [gap for gap in found(make_site_documents({PAGE: other})) if gap.other] == []
    other = site_document(PAGE, 1, state="IN_REVIEW", values={"investigator": "Helena Brandt"})
    assert found(make_site_documents({PAGE: other}))


def test_the_newest_document_of_a_type_is_compared():
    old = site_document(PAGE, 0, values={"protocol_version": "2.0"})
    assert found([old, *make_site_documents()]) == []


def test_documents_of_other_staff_cause_no_gap():
    coordinator = site_document("cv", 90, values={"person": "Ana Ruiz"})
    assert found([*make_site_documents(), coordinator]) == []


def test_a_filed_form_may_list_further_protocols():
    documents = make_site_documents({FORM: {"protocol_number": "ABC-999"}})
    assert found(documents, protocol="SLX-301") == []
    assert [gap.code for gap in found(documents)] == ["PROTOCOL_MISMATCH"]


def test_a_waiver_closes_the_gap_of_a_missing_document():
    documents = make_site_documents(with_sub=False)
    kinds = ("cv", "gcp-certificate", "financial-disclosure")
    assert [gap.facts["lacking"] for gap in found(documents)] == [
        "CV", "GCP certificate", "financial disclosure",
    ]  # fmt: skip
    assert (
        found(documents, [WaivedRequirement(kind, "Left the study.", SUB) for kind in kinds]) == []
    )


def test_the_message_for_a_person_who_is_not_on_the_log():
    (gap,) = found(make_site_documents({"delegation-log": {"persons": f"{PI}; Ana Ruiz"}}))
    texts = format_sentences(gap.code, gap.facts)
    assert texts.what == (
        "The Form FDA 1572 names Jonas Weber, MD, "
        "but the delegation log lists Margaret Whitfield, Ana Ruiz."
    )
    assert texts.do == (
        "Add Jonas Weber, MD to the delegation log and upload it, "
        "or upload a corrected Form FDA 1572."
    )


WRITINGS = st.sampled_from([PI, f"{PI}, MD", f"Dr. {PI}", "Whitfield, Margaret", "M. Whitfield"])
BOARDS = st.sampled_from([IRB, "Cedar Ridge IRB", "CEDAR RIDGE I.R.B."])


@given(st.randoms(), st.lists(WRITINGS, min_size=4, max_size=4), BOARDS, BOARDS)
def test_equal_values_cause_no_gap_in_any_spelling_and_order(random, people, board, other):
    kinds = (FORM, PAGE, LETTER, "delegation-log")
    changes = {kind: {"investigator": person} for kind, person in zip(kinds, people, strict=True)}
    changes[LETTER]["irb_name"], changes[FORM]["irb"] = board, other
    documents = make_site_documents(changes)
    assert found(random.sample(documents, len(documents))) == []


@settings(max_examples=settings().max_examples // 4)
@given(st.randoms(), st.sampled_from([changes for changes, _ in CASES]))
def test_gaps_do_not_depend_on_the_order_of_the_documents(random, changes):
    strangers = [site_document("cv", key, values={"person": f"{key} Brandt"}) for key in (91, 92)]
    documents = [*make_site_documents(changes, without=["cv"]), *strangers]
    assert found(random.sample(documents, len(documents))) == found(documents)


@pytest.mark.parametrize("read", [PI, ""], ids=["another name", "no name"])
def test_a_gap_does_not_claim_that_a_document_names_the_declared_person(read):
    """Such a document has its own finding, so the gap does not mention the declared person."""
    documents = [each for each in make_site_documents() if each.document_type != "gcp-certificate"]
    sent_for = site_document("gcp-certificate", 99, person="Helena Brandt", values={"person": read})
    assert not [
        gap for gap in found([*documents, sent_for]) if "Helena Brandt" in gap.facts.values()
    ]
