"""Tests that each decision of an ethics committee is recognised as what it is.

The letters are worded as committees of several countries write, without their names.
"""

import pytest

from ingestion.rules.classification.classify import TypeMatch, classify
from ingestion.rules.document_types import TYPES
from tests.ingestion.rules.pages import checked, codes, make_page, make_reading

AMERICAN = (
    "Brookhollow University",
    "Institutional Review Board",
    "To: Dr. Alma Teague, Department of Medicine",
    "From: Office of Research Compliance",
    "Date: 3 November 2026",
)
BRITISH = (
    "Fenwick Moor Research Ethics Committee",
    "3 November 2026",
    "Dear Dr Teague",
    "Study title: A study of oral iron",
    "REC reference: 26/FM/0411",
)
AUSTRALIAN = (
    "Tarlee Health Human Research Ethics Committee",
    "3 November 2026",
    "Dear Dr Teague",
    "HREC reference number: 2026/HRE00911",
)
CANADIAN = (
    "Windermere Research Ethics Board",
    "3 November 2026",
    "Principal Investigator: Dr. Alma Teague",
    "REB number: 2026-0611",
)
LETTERS = [
    (
        "irb-approval",
        (*AMERICAN, "Subject: Notice of Approval", "Type of review: expedited review"),
        ("The IRB has approved the new study named above.", "Approval date: 3 November 2026"),
    ),
    (
        "irb-approval",
        BRITISH,
        (
            "Thank you for your letter responding to the request of the committee.",
            "On behalf of the committee, I am pleased to confirm a favourable ethical opinion.",
            "The committee has approved the above research. Ethical approval is granted.",
            "Date of approval: 3 November 2026",
        ),
    ),
    (
        "irb-exemption",
        (*AMERICAN, "Subject: Exempt Determination"),
        (
            "Your project qualifies for exemption under category 4.",
            "Determination date: 3 November 2026",
        ),
    ),
    (
        "irb-exemption",
        CANADIAN,
        (
            "This is to confirm that the project is exempt from REB review.",
            "The work was determined to be exempt. It does not require continuing review.",
        ),
    ),
    (
        "irb-amendment-approval",
        (*AMERICAN, "Subject: Approval of Modification"),
        (
            "The IRB has approved the modification described below.",
            "Description of modification: one more questionnaire.",
            "The expiration date remains 2 May 2027.",
        ),
    ),
    (
        "irb-amendment-approval",
        BRITISH,
        (
            "Amendment number: 2. Amendment date: 12 October 2026.",
            "The members of the committee gave a favourable opinion of the amendment",
            "on the basis described in the notice of amendment form.",
        ),
    ),
    (
        "irb-continuing-review",
        (*AMERICAN, "Subject: Continuing Review Approval"),
        (
            "The IRB has approved the continuation of this research.",
            "Approval date: 3 November 2026. Expiration date: 2 November 2027.",
        ),
    ),
    (
        "irb-continuing-review",
        ("Pineford University", "CERTIFICATE OF APPROVAL - MINIMAL RISK RENEWAL", *CANADIAN),
        (
            "Approval date: 3 November 2026. Expiry date of this approval: 3 November 2027.",
            "The Annual Renewal for Study have been reviewed and the procedures were found to be",
            "acceptable on ethical grounds for research involving human subjects.",
            "This study has been approved by the full Research Ethics Board.",
        ),
    ),
    (
        "irb-continuing-review",
        AUSTRALIAN,
        (
            "Annual report and continuation of ethics approval",
            "The report was considered by the committee and accepted on 2 November 2026.",
            "Ethics approval is continued for a further year and will lapse on 3 November 2027.",
        ),
    ),
    (
        "irb-amendment-approval",
        (*AMERICAN, "NOTICE OF APPROVAL - PROTOCOL AMENDMENT"),
        (
            "The Board reviewed Amendment 2 and approved it at the meeting on 2 November 2026.",
            "The amendment is summarized as follows: one more visit, and a lower age.",
            "Approval of the study at your site expires on 28 March 2027.",
        ),
    ),
    (
        "irb-continuing-review",
        (*CANADIAN, "ANNUAL RENEWAL OF ETHICS APPROVAL"),
        (
            "The board has reviewed your annual report. Your approval has been renewed.",
            "Renewal date: 3 November 2026. Expiry date: 2 November 2027.",
        ),
    ),
    (
        "irb-continuing-review",
        ("Institutional Review Board", "CERTIFICATE OF APPROVAL", "(Continuing Review)"),
        (
            "Study title: A study of oral iron",
            "Document reviewed: continuing review report of 12 October 2026",
            "Date of approval: 3 November 2026. Approval expire date: 2 November 2027.",
        ),
    ),
    (
        "irb-continuing-review",
        ("Research Ethics Committee", "CERTIFICATE OF APPROVAL", "(2nd Renewal)"),
        ("The committee has approved the renewal.", "Date of approval: 3 November 2026"),
    ),
    (
        "irb-continuing-review",
        (*AMERICAN, "Subject: Scheduled Continuing Review [CR0041] Approved for [HS0077]"),
        (
            "The IRB has reviewed and approved the scheduled continuing review that was submitted.",
            "Current approval period: 3 November 2026 to 2 November 2027",
        ),
    ),
    (
        "irb-continuing-review",
        (*AMERICAN, "Submission type: Continuing Review/Progress Report", "Action: APPROVED"),
        (
            "Thank you for your submission of Continuing Review/Progress Report materials.",
            "The IRB has approved your submission. Approval date: 3 November 2026",
        ),
    ),
    (
        "irb-approval",  # a revision of the first submission
        (*AMERICAN, "Submission type: Revision", "Action: APPROVED"),
        (
            "Thank you for your submission of Revision materials for this project.",
            "The IRB has approved your submission. Approval date: 3 November 2026",
        ),
    ),
    (
        "irb-amendment-approval",
        (*AMERICAN, "Re: HREC reference 512/2026"),
        (
            "Thank you for your letter and the amendment form dated 12 October 2026.",
            "The committee has approved the following amendments: two more schools.",
        ),
    ),
    (
        "irb-amendment-approval",
        (*AUSTRALIAN, "Variation: Amendment 3, submitted 12 October 2026"),
        (
            "Thank you for submitting the request for variation above.",
            "I am pleased to advise that ethical approval has been granted for the change.",
        ),
    ),
    (
        "irb-amendment-approval",
        ("Domain Specific Review Board", "APPROVAL OF AMENDMENT", "Dear Dr Teague"),
        (
            "The board has approved the amendment to the above research project.",
            "The approval date for the amendment is 3 November 2026.",
        ),
    ),
    (
        "irb-acknowledgement",
        (*AMERICAN, "Subject: Acknowledgement of Safety Report"),
        ("The IRB acknowledges receipt of the following report.", "No further action is needed."),
    ),
    (
        "irb-acknowledgement",
        AUSTRALIAN,
        (
            "Thank you for notifying the committee of the annual progress report.",
            "The report was noted at the meeting of 2 November 2026. For information only.",
        ),
    ),
    (
        "irb-changes-requested",
        (*AMERICAN, "Subject: Modifications Required to Secure Approval"),
        (
            "The IRB requires modifications before approval can be granted.",
            "Please submit the revised documents within 60 days. Research may not begin.",
        ),
    ),
    (
        "irb-changes-requested",
        BRITISH,
        (
            "The committee is unable to give an ethical opinion on the basis of the information.",
            "Request for further information: please address the following points.",
            "Your response should be submitted within 30 days.",
        ),
    ),
    (
        "irb-changes-requested",
        AUSTRALIAN,
        (
            "The committee considered your application and deferred its decision.",
            "The following changes are needed. Please resubmit with tracked changes.",
            "The study must not commence until you receive the approval of the committee.",
        ),
    ),
    (
        "irb-changes-requested",
        (*CANADIAN, "CONDITIONAL APPROVAL"),
        (
            "The study is approved subject to the following conditions.",
            "This letter does not constitute approval. Submit the revised consent form.",
        ),
    ),
    (
        "irb-disapproval",
        (*AMERICAN, "Subject: Notice of Disapproval"),
        (
            "The convened board has disapproved the study.",
            "Reasons for disapproval: risks to participants. You may appeal in writing.",
        ),
    ),
    (
        "irb-disapproval",
        BRITISH,
        (
            "I am writing to inform you that the committee has given an unfavourable opinion.",
            "You may appeal against this decision, or submit a new application.",
        ),
    ),
]
DECISIONS = [slug for slug, kind in TYPES.items() if kind.family == "ethics-decision"]


def reading(head, body):
    return make_reading(make_page(*head, *body, "Signature of the chair", signed="Signature"))


@pytest.mark.parametrize(("slug", "head", "body"), LETTERS)
def test_a_decision_is_recognised_as_what_it_is(slug, head, body):
    assert classify(reading(head, body)).slug == slug


@pytest.mark.parametrize(("slug", "head", "body"), LETTERS)
def test_no_other_decision_is_filed_under_the_declared_type(slug, head, body):
    for declared in DECISIONS:
        if declared != slug:
            found = classify(reading(head, body), declared)
            assert (found.slug, found.fit) == (slug, TypeMatch.CONFLICT)


@pytest.mark.parametrize("slug", ["irb-changes-requested", "irb-disapproval"])
def test_the_finding_names_the_decision_that_was_sent_as_an_approval(slug):
    for own, head, body in LETTERS:
        if own == slug:
            verdict = checked(reading(head, body), declared="irb-approval")
            assert (verdict.state, codes(verdict)) == ("IN_REVIEW", ["DOC_TYPE_CONFLICT"])
            facts = verdict.primary.facts
            assert (facts["declared"], facts["detected"]) == ("IRB approval", TYPES[slug].name)


def test_a_letter_that_may_be_two_decisions_goes_to_review():
    body = (
        "The IRB has approved the study.",
        "Approval date: 3 November 2026",
        "The IRB has deferred its decision. Please resubmit within 60 days.",
    )
    for declared in ("", "irb-approval", "irb-changes-requested"):
        assert checked(reading(AMERICAN, body), declared=declared).state == "IN_REVIEW"


def test_words_of_a_decision_without_a_committee_are_none():
    body = ("Your claim has been rejected. You may appeal. The reasons for this decision follow.",)
    assert classify(make_reading(make_page("Dear Dr Teague", *body))).slug == ""
