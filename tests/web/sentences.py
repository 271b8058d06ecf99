"""Findings that say what a document is, with the sentences that the page of the document shows."""

from ingestion.reading.results import Box
from ingestion.rules.document_types import TYPES
from ingestion.rules.findings import RuleFinding, format_area

APPROVAL = TYPES["irb-approval"].name
AREA = format_area(Box(180.0, 300.0, 430.0, 420.0))


def _instead_of_approval(detected):
    return RuleFinding(
        "DOC_TYPE_CONFLICT", facts={"detected": TYPES[detected].name, "declared": APPROVAL}
    )


# State of the document, finding, sentence about it, and advice.
SENTENCES = [
    (
        "IN_REVIEW",
        RuleFinding(
            "MULTIPLE_DOCUMENTS",
            2,
            {
                "document_count": 3,
                "documents": "irb-approval:1-1 cv:2-2 delegation-log:3-3",
            },
        ),
        (
            "This file holds 3 documents: IRB approval on page 1; CV on page 2; delegation log on"
            " page 3."
        ),
        (
            "Do nothing if every document is complete. QA will divide the file. Next time, put a"
            " separator sheet in front of each document."
        ),
    ),
    (
        "REJECTED",
        RuleFinding(
            "SCHEMA_MISMATCH",
            1,
            {"box": "box 4", "field": "clinical laboratories", "page": 1},
        ),
        "Box 4 is empty. It asks for the clinical laboratories.",
        "Fill in box 4.",
    ),
    (
        "REJECTED",
        RuleFinding(
            "SCHEMA_MISMATCH",
            1,
            {"choice": "box 9", "field": "certification statement", "page": 1},
        ),
        "Nothing is ticked in box 9. It asks for the certification statement.",
        "Tick what applies in box 9",
    ),
    (
        "IN_REVIEW",
        RuleFinding(
            "FORM_PAGES_MIXED",
            2,
            {
                "page": 2,
                "form": "Form FDA 1572",
                "edition": "May 2006",
                "first_page": 1,
                "first_edition": "May 2009",
            },
        ),
        "Page 2 belongs to the May 2006 edition",
        "",
    ),
    (
        "REJECTED",
        RuleFinding("BLANK_FORM"),
        "This is the blank IRB approval. Nothing is filled in, and nobody has signed it.",
        "Fill in the IRB approval, have it signed, and upload it.",
    ),
    (
        "IN_REVIEW",
        RuleFinding("UNFILLED_TEMPLATE", 1, {"placeholder": "[Name of the site]", "page": 1}),
        "This is a template: page 1 still says “[Name of the site]”.",
        "Fill in what the template asks for",
    ),
    (
        "IN_REVIEW",
        _instead_of_approval("irb-changes-requested"),
        "This is an ethics committee's request for changes, not an IRB approval.",
        "Upload an IRB approval.",
    ),
    (
        "IN_REVIEW",
        _instead_of_approval("irb-disapproval"),
        "This is an ethics committee's disapproval, not an IRB approval.",
        "Upload an IRB approval.",
    ),
    (
        "IN_REVIEW",
        RuleFinding("NOT_FINAL", 1, {"phrase": "conditional approval", "page": 1}),
        "Page 1 says “conditional approval”, so this is not the final IRB approval.",
        "Upload the final IRB approval.",
    ),
    (
        "IN_REVIEW",
        RuleFinding(
            "DOC_TYPE_UNRECOGNIZED",
            facts={"resembled": "application to an ethics committee", "declared": APPROVAL},
        ),
        "This is an application to an ethics committee, not an IRB approval.",
        "Upload an IRB approval.",
    ),
    (
        "IN_REVIEW",
        RuleFinding(
            "DOC_TYPE_UNRECOGNIZED",
            facts={
                "resembled": "participant information sheet",
                "declared": TYPES["informed-consent-form"].name,
            },
        ),
        "This is a participant information sheet, not an informed consent form.",
        "Upload an informed consent form.",
    ),
    (
        "IN_REVIEW",
        RuleFinding(
            "DOC_TYPE_CONFLICT",
            facts={
                "detected": TYPES["rcr-certificate"].name,
                "declared": TYPES["gcp-certificate"].name,
            },
        ),
        (
            "This is a certificate of a course on the responsible conduct of research, not a GCP"
            " certificate."
        ),
        "Upload a GCP certificate.",
    ),
    (
        "REJECTED",
        RuleFinding("EXPIRED_DOCUMENT", 1, {"expires": "2026-03-12", "page": 1}),
        "This IRB approval expired on 12 March 2026.",
        "Upload the current one",
    ),
    *(
        (
            "IN_REVIEW",
            RuleFinding(code, 1, {"stamp": stamp, "page": 1, "area": AREA}),
            sentence,
            advice,
        )
        for code, stamp, sentence, advice in (
            ("STAMPED_VOID", "VOID", "Page 1 is stamped “VOID”.", "without this stamp"),
            (
                "STAMPED_SUPERSEDED",
                "SUPERSEDED",
                "this IRB approval was replaced by a newer one",
                "Upload the IRB approval that is in force now.",
            ),
            (
                "STAMPED_DRAFT",
                "DRAFT",
                "Page 1 is marked “DRAFT”, so this is not the final IRB approval.",
                "Upload the final IRB approval.",
            ),
        )
    ),
    (
        "IN_REVIEW",
        RuleFinding("TEXT_STRUCK_OUT", 1, {"struck": "SLX-301", "page": 1, "area": AREA}),
        "“SLX-301” is struck out on page 1, but not initialled and dated.",
        "Ask the person who struck it out to add initials and the date",
    ),
    (
        "IN_REVIEW",
        RuleFinding("TEXT_COVERED", 1, {"page": 1, "area": AREA}),
        "Something covers printed text on page 1, such as a sticker.",
        "Upload a copy without the cover.",
    ),
]  # fmt: skip
