"""Tests of suggesting the type of an uploaded file."""

from datetime import date

import pytest

from ingestion.documents.separator_sheets import SeparatorSheet, render_sheets
from ingestion.intake import type_detection
from ingestion.intake.registration import SEVERAL_DOCUMENTS
from samples.binders import make_binder
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.renditions import Rendition, make_scan
from sites.models import Site, Study

SITE = Site(site_id="1001", name="Cedar Ridge", study=Study(protocol_number="SLX-301"))


@pytest.fixture
def suggest(tmp_path, settings):
    settings.GUESS_SECONDS = 30.0

    def suggest_for(content):
        path = tmp_path / "a file"
        path.write_bytes(content)
        suggestion = type_detection.detect_contents(path)
        return suggestion and suggestion.document_type

    return suggest_for


@pytest.mark.parametrize("kind", ["irb-approval", "cv"])
def test_a_file_is_recognised_by_its_text(suggest, kind):
    assert suggest(make_sample(kind, today=date(2026, 11, 1))) == kind


@pytest.mark.slow
def test_a_scan_is_recognised_by_its_title(suggest):
    scan = make_sample("delegation-log", today=date(2026, 11, 1), rendition=Rendition.SCAN)
    assert suggest(scan) == "delegation-log"


@pytest.mark.slow
def test_the_documents_of_a_scan_are_known_from_its_separator_sheets_alone(tmp_path, settings):
    settings.GUESS_SECONDS = 60.0
    kinds = ("irb-approval", "delegation-log")
    sheets = (render_sheets(SITE, [SeparatorSheet(kind)]) for kind in kinds)
    papers = (make_sample(kind, today=date(2026, 11, 1)) for kind in kinds)
    pairs = zip(sheets, papers, strict=True)
    path = tmp_path / "scan.pdf"
    path.write_bytes(make_scan(make_binder([each for pair in pairs for each in pair]), seed="a"))
    suggestion = type_detection.detect_contents(path)
    assert suggestion.document_type == SEVERAL_DOCUMENTS
    cut = suggestion.cut
    assert [part.type for part in cut.parts] == list(kinds)
    assert (cut.separators, cut.is_certain) == ((1, 3), True)


def test_a_digital_file_with_several_documents_has_a_proposal(suggest):
    papers = [make_sample(kind, today=date(2026, 11, 1)) for kind in ("irb-approval", "cv")]
    assert suggest(make_binder(papers)) == SEVERAL_DOCUMENTS


@pytest.mark.slow
def test_a_scan_whose_pages_were_not_all_read_has_no_proposal(suggest):
    papers = [make_sample("delegation-log", today=date(2026, 11, 1), seed=n) for n in range(3)]
    assert suggest(make_scan(make_binder(papers), seed="b")) == "delegation-log"


@pytest.mark.parametrize("content", [b"%PDF-1.7 nothing", b"PK\3\4", b""])
def test_an_unreadable_file_has_no_suggestion(suggest, content):
    assert suggest(content) == ""


def test_an_encrypted_file_has_no_suggestion(suggest):
    locked = make_sample("irb-approval", today=date(2026, 11, 1), fault=DocumentFault.ENCRYPTED)
    assert suggest(locked) == ""


def test_there_is_no_suggestion_after_the_time_limit(suggest, settings):
    settings.GUESS_SECONDS = 0.001
    assert suggest(make_sample("cv", today=date(2026, 11, 1))) is None


def test_with_a_limit_of_0_no_file_is_opened(settings, tmp_path):
    settings.GUESS_SECONDS = 0
    assert type_detection.detect_contents(tmp_path / "is not even there") is None


def test_there_is_no_suggestion_while_all_slots_are_in_use(suggest, settings):
    settings.GUESS_SECONDS = 0.05
    for _ in range(type_detection.MAX_CONCURRENT_DETECTIONS):
        type_detection._slots.acquire()
    try:
        assert suggest(b"%PDF-1.7") is None
    finally:
        for _ in range(type_detection.MAX_CONCURRENT_DETECTIONS):
            type_detection._slots.release()
