"""Describes the provenance of a reading: the source and the confidence of each page.

The description is plain data.

Words of a text layer can be extracted from the file again at any time. Words that an OCR engine
read may differ with the next version of that engine, so they are kept with their bounding boxes.
All words are described once more in a compact form, for the index of the full-text search.
"""

import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import orjson

from .pdf.lazy import LazyReadError
from .results import Box, DocumentReading, PageMap, PageReading, TextSource, Word

MAX_SIDE = 2**15 - 1  # points; the largest number that a packed box can have
_PAGE_WORDS_LEVEL = 6  # of zlib
_UNKNOWN_BOX = (0.0, 0.0, 0.0, 0.0)


class PlacedWord(NamedTuple):
    """A word with its place on the page, in whole points; None if the place is unknown."""

    text: str
    box: Box | None


@dataclass(frozen=True, slots=True)
class Provenance:
    """The record of how a document was read.

    `pages` has one mapping for each page. Lengths in it are in points, confidences from 0 to 100,
    `uncovered` from 0 to 1, angles in degrees clockwise. Places are those of the corrected page.
    Where its geometry was corrected, `original` says where they are on the original. `words` are
    the words of OCR in packed form (see `unpack_words`), or b"" if no page went through OCR.
    `page_words` are the words of each page for the index, in packed form (see
    `unpack_page_words`).
    """

    pages: tuple[Mapping[str, object], ...]
    words: bytes = b""
    engine: str = ""
    repaired: bool = False
    flags: tuple[str, ...] = ()
    page_words: Mapping[int, bytes] = field(default_factory=dict)


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
        page_words={page.number: pack_page_words(_list_words(page)) for page in reading.pages},
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


def pack_page_words(words: Sequence[PlacedWord | Word]) -> bytes:
    """Return the words of a page with their boxes, rounded to points, in compressed form.

    A box whose sides do not fit, of a page of more than 11 m, is stored as unknown.
    """
    texts = [word.text for word in words]
    boxes = [word.box or _UNKNOWN_BOX for word in words]
    if len("\n".join(texts).split()) != len(texts) or any("\0" in text for text in texts):
        texts = ["".join(text.split()).replace("\0", "") for text in texts]
        boxes = [box for text, box in zip(texts, boxes, strict=True) if text]
        texts = [text for text in texts if text]
    sides = list(map(round, chain.from_iterable(boxes)))  # faster than box by box
    if sides and not -MAX_SIDE <= min(sides) <= max(sides) <= MAX_SIDE:
        boxes = [box if max(map(abs, box)) < MAX_SIDE else _UNKNOWN_BOX for box in boxes]
        sides = list(map(round, chain.from_iterable(boxes)))
    numbers = array("h", [side for at in range(4) for side in sides[at::4]])
    if array("h", [1]).tobytes() != b"\x01\x00":  # stored as little-endian numbers
        numbers.byteswap()
    text_bytes = "\n".join(texts).encode("utf-8", "replace")
    return zlib.compress(text_bytes + b"\0" + numbers.tobytes(), _PAGE_WORDS_LEVEL)


def unpack_page_words(packed: bytes) -> list[PlacedWord]:
    """Return the words that `pack_page_words` packed, in reading order."""
    text_bytes, _, sides = zlib.decompress(packed).partition(b"\0")
    if not text_bytes:
        return []
    texts = text_bytes.decode().split("\n")
    numbers = array("h", sides)
    if array("h", [1]).tobytes() != b"\x01\x00":
        numbers.byteswap()
    count = len(texts)
    lefts, tops, rights, bottoms = (numbers[at * count : (at + 1) * count] for at in range(4))
    boxes = zip(lefts, tops, rights, bottoms, strict=True)
    return [
        PlacedWord(text, Box(*box) if any(box) else None)
        for text, box in zip(texts, boxes, strict=True)
    ]


def _list_words(page: PageReading) -> Sequence[PlacedWord | Word]:
    """Return the words of a page. If they cannot be located, only their texts are known.

    The page was read, so a failure to locate its words must not make it unreadable.
    """
    try:
        return page.words if len(page.words) else _split_text(page)
    except LazyReadError:
        return _split_text(page)


def _split_text(page: PageReading) -> list[PlacedWord]:
    return [PlacedWord(text, None) for text in page.text.split()]


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
    if page.unfinished:
        description["unfinished"] = list(page.unfinished)
    return description
