"""How a document was read, as plain data to be kept: where its text is from, and how sure that is.

Words that stand in a file can be found in it again, by anybody. What an engine made of a picture
may come out otherwise with the next version of that engine: those words are kept, with their boxes.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from .results import DocumentReading, PageReading, TextSource


@dataclass(frozen=True, slots=True)
class Provenance:
    """Each page as a mapping; the words packed (`words_of`), b"" when no page went through OCR."""

    pages: tuple[Mapping[str, object], ...]
    words: bytes = b""
    engine: str = ""
    repaired: bool = False
    flags: tuple[str, ...] = ()


def describe_provenance(reading: DocumentReading) -> Provenance:
    return Provenance(
        pages=tuple(map(_page, reading.pages)),
        words=_packed(reading),
        engine=reading.engine,
        repaired=reading.repaired,
        flags=tuple(sorted(reading.flags)),
    )


def unpack_words(packed: bytes) -> Mapping[int, list[tuple[str, list[float], float]]]:
    """By page: each word read by OCR, its box (left, top, right, bottom in points), confidence."""
    if not packed:
        return {}
    return {int(number): words for number, words in orjson.loads(zlib.decompress(packed)).items()}


def _page(page: PageReading) -> Mapping[str, object]:
    """Lengths in points, confidences from 0 to 100, `uncovered` from 0 to 1, turns in degrees."""
    told = {
        "number": page.number,
        "source": page.source.value,
        "width": round(page.width, 1),
        "height": round(page.height, 1),
    }
    if page.source is TextSource.OCR:
        told |= {
            "dpi": page.dpi,
            "confidence": page.confidence,
            "uncovered": round(page.uncovered, 3),
            "turned": page.rotation,
            "askew": page.skew,
        }
    if page.is_blank:
        told["blank"] = True
    if page.error:
        told["error"] = page.error
    return told


def _packed(reading: DocumentReading) -> bytes:
    if not reading.used_ocr:
        return b""
    words = {
        str(page.number): [
            (word.text, [round(side, 1) for side in word.box], round(word.confidence, 1))
            for word in page.words
        ]
        for page in reading.pages
        if page.source is TextSource.OCR
    }
    return zlib.compress(orjson.dumps(words))
