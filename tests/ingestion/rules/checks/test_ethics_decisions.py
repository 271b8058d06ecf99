"""Tests that only a final approval of an ethics committee is filed as one."""

import pytest

from ingestion.rules.document_types import TYPES
from tests.ingestion.rules.pages import checked, codes, make_page, make_reading

SIGNATURE = "Signature of the chair: ______________"


def letter(sentence):
    return make_reading(
        make_page(
            "Institutional Review Board",
            "Notice of approval",
            "Dear Dr. Ruiz,",
            "Protocol number: SLX-301",
            "The board has reviewed and approved the research.",
            "Approval date: 2 November 2026",
            sentence,
            "",
            "",
            SIGNATURE,
            signed="Signature of the chair",
        )
    )


def test_a_final_approval_is_filed():
    verdict = checked(letter("Please report any changes to the board."))
    assert (verdict.document_type, verdict.state, codes(verdict)) == (
        "irb-approval",
        "ARCHIVED",
        [],
    )


@pytest.mark.parametrize("phrase", TYPES["irb-approval"].contradictions)
def test_a_decision_that_is_not_final_goes_to_review(phrase):
    verdict = checked(letter(f"The study: {phrase} of the committee."))
    assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["NOT_FINAL"])


@pytest.mark.parametrize(
    "sentence",
    [
        "At this time the study cannot be approved.",
        "The approval is subject to the conditions listed below.",
        "The board requires modifications before it decides.",
    ],
)
def test_letters_that_approve_nothing_yet_go_to_review(sentence):
    assert checked(letter(sentence)).state == "IN_REVIEW"
