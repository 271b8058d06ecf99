"""Tests of the JSON of an assessment, which other programs read (docs/assessment.md)."""

from ingestion.assessment.assess import NO_SITE, AssessedDocument, AssessedFile, list_skipped
from ingestion.assessment.scores import Totals
from ingestion.rules.checks.check_input import SiteFacts
from ingestion.rules.classification.classify import TypeCandidate
from ingestion.rules.fields.values import FieldValue

CANDIDATES = tuple(
    TypeCandidate(slug, probability, "evidence")
    for slug, probability in (("cv", 0.91234), ("nih-biosketch", 0.05), ("irb-roster", 0.01))
)
DOCUMENT = AssessedDocument(
    (2, 3),
    "cv",
    "ARCHIVED",
    (),
    CANDIDATES,
    (
        FieldValue("person", "A. Marsh", 2, "native", 99.0),
        FieldValue("document_date", "2026-03-12", 2, "native", 70.0),
    ),
    "en",
)


def test_a_file_has_its_state_its_codes_and_its_documents():
    file = AssessedFile("IN_REVIEW", ("MULTIPLE_DOCUMENTS",), 3, (DOCUMENT,), 1.2345)
    assert file.as_json("folder/file.pdf") == {
        "file": "folder/file.pdf",
        "state": "IN_REVIEW",
        "codes": ["MULTIPLE_DOCUMENTS"],
        "seconds": 1.23,
        "documents": [
            {
                "pages": [2, 3],
                "type": "cv",
                "candidates": [["cv", 0.912], ["nih-biosketch", 0.05], ["irb-roster", 0.01]],
                "language": "en",
                "state": "ARCHIVED",
                "codes": [],
                "fields": {"person": "A. Marsh", "document_date": "2026-03-12"},
                "in_doubt": ["document_date"],
            }
        ],
    }


def test_a_document_that_was_not_recognised_has_no_type_and_no_language():
    unknown = AssessedDocument((1, 1), "", "IN_REVIEW", ("DOC_TYPE_UNRECOGNIZED",))
    json = unknown.as_json()
    assert (json["type"], json["language"], json["candidates"]) == (None, None, [])
    assert json["codes"] == ["DOC_TYPE_UNRECOGNIZED"]


def test_only_a_part_of_a_sheet_has_a_region():
    half = AssessedDocument((4, 4), "cv", "ARCHIVED", (), region=(0.0, 0.0, 0.5, 1.0))
    assert half.as_json()["region"] == [0.0, 0.0, 0.5, 1.0]
    assert "region" not in DOCUMENT.as_json()


def test_a_file_that_cannot_be_read_has_no_documents():
    json = AssessedFile("REJECTED", ("FILE_UNREADABLE",)).as_json("letter.docx")
    assert (json["state"], json["documents"]) == ("REJECTED", [])


def test_the_totals_have_the_figures_of_every_criterion():
    assert set(Totals().as_json()) >= {
        "recognised",
        "recognised_in_three",
        "false_types",
        "false_acceptances",
        "false_rejections",
        "values_exact",
        "values_wrong",
        "boundaries_f1",
        "types",
    }


def test_checks_of_the_register_are_named_without_a_site_and_checks_between_files_always():
    with_site, without = list_skipped(SiteFacts("1001")), list_skipped(NO_SITE)
    assert with_site == ["LAB_MISMATCH", "IRB_MISMATCH", "PACKET_INCOMPLETE", "DUPLICATE_CONTENT"]
    assert set(without) - set(with_site) == {
        "SITE_MISMATCH",
        "PROTOCOL_MISMATCH",
        "PROTOCOL_VERSION_MISMATCH",
    }
