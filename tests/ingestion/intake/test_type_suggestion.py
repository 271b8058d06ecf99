"""Tests of suggesting the type of an uploaded file."""

from datetime import date

import pytest

from ingestion.intake import type_suggestion
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.renditions import Rendition


@pytest.fixture
def suggest(tmp_path, settings):
    settings.GUESS_SECONDS = 30.0

    def suggest_for(content):
        path = tmp_path / "a file"
        path.write_bytes(content)
        suggestion = type_suggestion.suggest_contents(path)
        return suggestion and suggestion.document_type

    return suggest_for


@pytest.mark.parametrize("kind", ["irb-approval", "cv"])
def test_a_file_is_recognised_by_its_text(suggest, kind):
    assert suggest(make_sample(kind, today=date(2026, 11, 1))) == kind


def test_a_scan_is_recognised_by_its_title(suggest):
    scan = make_sample("delegation-log", today=date(2026, 11, 1), rendition=Rendition.SCAN)
    assert suggest(scan) == "delegation-log"


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
    assert type_suggestion.suggest_contents(tmp_path / "is not even there") is None


def test_there_is_no_suggestion_while_all_slots_are_in_use(suggest, settings):
    settings.GUESS_SECONDS = 0.05
    for _ in range(type_suggestion.MAX_CONCURRENT_SUGGESTIONS):
        type_suggestion._slots.acquire()
    try:
        assert suggest(b"%PDF-1.7") is None
    finally:
        for _ in range(type_suggestion.MAX_CONCURRENT_SUGGESTIONS):
            type_suggestion._slots.release()
