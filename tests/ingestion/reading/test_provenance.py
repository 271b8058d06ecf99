"""The provenance of a reading."""

import dataclasses
import pickle

import orjson
import pytest

from ingestion.reading.provenance import describe_provenance, restore_page_map, unpack_words
from ingestion.reading.results import CorrectionKind
from tests.ingestion.reading.documents import LINES, make_pdf, make_scan, read, render, save, skew


def test_a_page_with_a_text_layer_has_its_source_and_no_words(tmp_path):
    reading = read(save(tmp_path, make_pdf(pages=2)))
    kept = describe_provenance(reading)
    assert [(page["number"], page["source"]) for page in kept.pages] == [
        (1, "native"),
        (2, "native"),
    ]
    assert "confidence" not in kept.pages[0]
    assert (kept.words, kept.engine, kept.repaired) == (b"", "", False)


def test_a_scan_has_resolution_confidence_engine_and_every_word(tmp_path):
    reading = read(save(tmp_path, make_scan(render(make_pdf()))))
    kept = describe_provenance(reading)
    [page] = kept.pages
    assert (page["source"], page["dpi"]) == ("ocr", 200)
    assert page["confidence"] == reading.pages[0].confidence > 70
    assert page["uncovered"] == round(reading.pages[0].uncovered, 3)
    assert "tesseract" in kept.engine
    words = unpack_words(kept.words)[1]
    assert [word for word, _, _ in words] == [word.text for word in reading.pages[0].words]
    for (_, box, confidence), word in zip(words, reading.pages[0].words, strict=True):
        assert all(abs(kept - side) <= 0.05 for kept, side in zip(box, word.box, strict=True))
        assert abs(confidence - word.confidence) <= 0.05


def test_an_unreadable_page_has_its_error(tmp_path):
    reading = read(save(tmp_path, make_pdf()))
    broken = dataclasses.replace(reading.pages[0], error="timeout")
    kept = describe_provenance(dataclasses.replace(reading, pages=(broken,)))
    assert kept.pages[0]["error"] == "timeout"


def test_empty_bytes_unpack_to_no_words():
    assert unpack_words(b"") == {}


def test_the_provenance_of_a_text_layer_is_small_when_pickled(tmp_path):
    kept = describe_provenance(read(save(tmp_path, make_pdf(lines=["word " * 12] * 40))))
    assert len(pickle.dumps(kept)) < 1_000


def test_the_corrections_and_the_places_on_the_original_are_recorded(tmp_path):
    scan = skew(render(make_pdf(lines=LINES * 2, signed=True)), 6)
    reading = read(save(tmp_path, make_scan(scan)))
    (page,) = describe_provenance(reading).pages
    kinds = [kind for kind, _ in page["corrections"]]
    assert CorrectionKind.DESKEWED in kinds
    restored = restore_page_map(orjson.loads(orjson.dumps(page)))
    word = next(word for word in reading.pages[0].words if word.text == "Signature")
    size = (reading.pages[0].width, reading.pages[0].height)
    assert restored.locate(word.box, *size) == pytest.approx(
        reading.pages[0].page_map.locate(word.box, *size), abs=0.1
    )
    assert restored.width == pytest.approx(scan.width * 72 / 200, abs=0.1)


def test_a_page_that_was_only_rotated_has_no_places_on_the_original(tmp_path):
    reading = read(save(tmp_path, make_scan(render(make_pdf()).rotate(180))))
    (page,) = describe_provenance(reading).pages
    assert page["turned"] == 180
    assert restore_page_map(page) is None
