"""What a file may be, by what it says: opened in a guarded child, in a time that people wait."""

from datetime import date

import pytest

from ingestion.intake import type_suggestion
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.renditions import Rendition


@pytest.fixture
def looked_at(tmp_path, settings):
    settings.GUESS_SECONDS = 30.0

    def look(content):
        path = tmp_path / "a file"
        path.write_bytes(content)
        return type_suggestion.suggest_type(path)

    return look


@pytest.mark.parametrize("kind", ["irb-approval", "cv"])
def test_a_file_is_known_by_what_it_says(looked_at, kind):
    assert looked_at(make_sample(kind, today=date(2026, 11, 1))) == kind


def test_a_scan_is_read_as_far_as_its_title(looked_at):
    scan = make_sample("delegation-log", today=date(2026, 11, 1), rendition=Rendition.SCAN)
    assert looked_at(scan) == "delegation-log"


@pytest.mark.parametrize("content", [b"%PDF-1.7 nothing", b"PK\3\4", b""])
def test_of_what_cannot_be_read_nobody_can_tell(looked_at, content):
    assert looked_at(content) == ""


def test_a_locked_file_says_nothing(looked_at):
    locked = make_sample("irb-approval", today=date(2026, 11, 1), fault=DocumentFault.ENCRYPTED)
    assert looked_at(locked) == ""


def test_when_time_is_up_nobody_has_looked(looked_at, settings):
    settings.GUESS_SECONDS = 0.001
    assert looked_at(make_sample("cv", today=date(2026, 11, 1))) is None


def test_switched_off_it_opens_nothing(settings, tmp_path):
    settings.GUESS_SECONDS = 0
    assert type_suggestion.suggest_type(tmp_path / "is not even there") is None


def test_who_finds_no_place_goes_by_the_name(looked_at, settings):
    settings.GUESS_SECONDS = 0.05
    for _ in range(type_suggestion.MAX_CONCURRENT_SUGGESTIONS):
        type_suggestion._slots.acquire()
    try:
        assert looked_at(b"%PDF-1.7") is None
    finally:
        for _ in range(type_suggestion.MAX_CONCURRENT_SUGGESTIONS):
            type_suggestion._slots.release()
