"""Describes the provenance of a reading: the source and the confidence of each page.

The description is plain data.

Words of a text layer can be extracted from the file again at any time. Words that an OCR engine
read may differ with the next version of that engine, so they are kept with their bounding boxes.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from .results import DocumentReading, PageMap, PageReading, TextSource


@dataclass(frozen=True, slots=True)
class Provenance:
    """The record of how a document was read.

    `pages` has one mapping for each page. Lengths in it are in points, confidences from 0 to 100,
    `uncovered` from 0 to 1, angles in degrees clockwise. Places are those of the corrected page.
    Where its geometry was corrected, `original` says where they are on the original. `words` are
    the words of OCR in packed form (see `unpack_words`), or b"" if no page went through OCR.
    """

    pages: tuple[Mapping[str, object], ...]
    words: bytes = b""
    engine: str = ""
    repaired: bool = False
    flags: tuple[str, ...] = ()


def describe_provenance(reading: DocumentReading) -> Provenance:
    """Return the provenance of a reading."""
    words = b""
    if reading.used_ocr:
        by_page = {
            str(page.number): [
                (word.text, [round(side, 1) for side in word.box], round(word.confidence, 1))
                for word in page.words
            ]
            for page in reading.pages
            if page.source is TextSource.OCR
        }
        words = zlib.compress(orjson.dumps(by_page))
    return Provenance(
        pages=tuple(map(_describe_page, reading.pages)),
        words=words,
        engine=reading.engine,
        repaired=reading.repaired,
        flags=tuple(sorted(reading.flags)),
    )


def unpack_words(packed: bytes) -> Mapping[int, list[tuple[str, list[float], float]]]:
    """Return the words of OCR by page number.

    Each word is its text, its bounding box (left, top, right, bottom in points) and its confidence
    (0 to 100).
    """
    if not packed:
        return {}
    return {int(number): words for number, words in orjson.loads(zlib.decompress(packed)).items()}


def restore_page_map(page: Mapping[str, Any]) -> PageMap | None:
    """Return the map of a page from its part of `Provenance.pages`, or None if it has none."""
    if not (original := page.get("original")):
        return None
    return PageMap(original["width"], original["height"], original["points"])


def _describe_page(page: PageReading) -> Mapping[str, object]:
    """Return a page's part of `Provenance.pages`, whose keys are stored and must not change."""
    description: dict[str, object] = {
        "number": page.number,
        "source": page.source.value,
        "width": round(page.width, 1),
        "height": round(page.height, 1),
    }
    if page.source is TextSource.OCR:
        description |= {
            "dpi": page.dpi,
            "confidence": page.confidence,
            "uncovered": round(page.uncovered, 3),
            "turned": page.rotation,
            "askew": page.skew,
        }
    if page.corrections:
        description["corrections"] = [list(each) for each in page.corrections]
    if page.language:
        description["language"] = page.language
    if page.page_map:
        width, height, points = page.page_map
        description["original"] = {
            "width": round(width, 1),
            "height": round(height, 1),
            "points": [[list(point) for point in row] for row in points],
        }
    if page.is_blank:
        description["blank"] = True
    if page.error:
        description["error"] = page.error
    return description
