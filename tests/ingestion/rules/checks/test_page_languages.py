"""Tests of documents with pages in a language that is not installed."""

from ingestion.core.states import DocumentState
from ingestion.reading.results import TextSource
from ingestion.rules.finding_texts import format_sentences
from tests.ingestion.rules.documents import CV
from tests.ingestion.rules.pages import checked, make_page, make_reading


def test_a_document_with_a_page_in_a_language_that_is_not_installed_is_held():
    read = make_page(*CV, source=TextSource.OCR, signed="Signature")
    unread = make_page(
        "Le comite de protection", number=2, source=TextSource.OCR, confidence=40.0,
        language="fra", is_language_missing=True,
    )  # fmt: skip
    verdict = checked(make_reading(read, unread), declared="cv")
    assert verdict.state is DocumentState.HELD
    (finding,) = verdict.findings
    assert (finding.code, finding.page) == ("LANGUAGE_NOT_INSTALLED", 2)
    site = format_sentences(finding.code, finding.facts)
    staff = format_sentences(finding.code, finding.facts, for_staff=True)
    assert site.what == "Page 2 is in French; we cannot read scans in this language yet."
    assert staff.do == "Add fra to OCR_LANGUAGES and restart the workers, which read it again."
