"""Tests of blank forms, of templates with placeholders, and of documents that look like a type."""

import pytest

from ingestion.rules.checks.lookalikes import find_lookalike
from ingestion.rules.checks.unfilled import check_placeholders
from tests.ingestion.rules.documents import make_document
from tests.ingestion.rules.pages import checked, codes, make_page, make_reading


def found_in(*lines):
    return [
        finding.facts["placeholder"]
        for finding in check_placeholders(make_reading(make_page(*lines)))
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Name: [Name]",
        "Site: [insert the name of the hospital]",
        "Prepared by <Your Name>",
        "Effective from {{ date }}",
        "Click or tap here to enter text.",
        "Dear [Name of the researcher],",
        "[Please describe the study in two sentences.]",
    ],
)
def test_a_placeholder_shows_that_a_template_is_not_filled_in(line):
    assert found_in(line)


@pytest.mark.parametrize(
    "line",
    [
        "Signature (name): ____________",
        "as shown before [1, 2], and again [Smith 2019]",
        "if x < 5 and y > 3",
        "He [the participant] may leave.",
        "Write to <office@example.org>.",
        "(date)",
        "Enter the date here: ____",
        "[signed]",
    ],
)
def test_brackets_and_empty_lines_alone_are_no_placeholders(line):
    assert found_in(line) == []


def test_a_template_goes_to_review():
    verdict = checked(make_document("irb-approval", {"Number: SLX-301": "Number: [insert number]"}))
    assert (verdict.state, "UNFILLED_TEMPLATE" in codes(verdict)) == ("IN_REVIEW", True)


def test_a_long_placeholder_is_quoted_in_part():
    (quoted,) = found_in(f"[Insert {'a very long description ' * 5}]")
    assert len(quoted) <= 61
    assert quoted.endswith("…")


@pytest.mark.parametrize(
    ("lines", "noun"),
    [
        (["Participant Information Sheet", "You are invited."], "participant information sheet"),
        (["Debriefing", "Thank you for taking part."], "debriefing sheet for participants"),
        (["Application for Ethical Approval"], "application to an ethics committee"),
        (
            ["Section 2", "Please describe the study.", "If yes, please explain.",
             "Check all that apply."],
            "application to an ethics committee",
        ),
        (["Institutional Review Board", "The board has approved the study."], ""),
        (["Consent to take part in research"], ""),
    ],
)  # fmt: skip
def test_a_document_in_the_place_of_another_is_named(lines, noun):
    assert find_lookalike(make_reading(make_page(*lines))) == noun


def test_a_file_without_pages_resembles_nothing():
    assert find_lookalike(make_reading()) == ""
