"""Draws the outlines of words as PDF operators, without a font and without text.

Word writes a WordArt watermark in this way, and PDF editors convert text to outlines so.
"""

from collections.abc import Iterator
from ctypes import byref, c_float
from functools import cache
from typing import Any, NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

STANDARD_FONTS = (
    "Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Helvetica-BoldOblique",
    "Times-Roman", "Times-Bold", "Times-Italic", "Times-BoldItalic",
    "Courier", "Courier-Bold",
)  # fmt: skip
_SIZE = 1000.0  # of the font whose outlines are read


class Glyph(NamedTuple):
    """A letter: its width and its outline in units of the font's size."""

    width: float
    operators: str


def iter_word_outlines(words: str, font: str) -> Iterator[tuple[float, Glyph]]:
    """Yield each letter of the words with its distance from the start, in units of the size."""
    start = 0.0
    for letter in words:
        glyph = read_glyph_outline(letter, font)
        yield start, glyph
        start += glyph.width


def measure_words_width(words: str, font: str) -> float:
    """Return the width of the words in units of the font's size."""
    return sum(read_glyph_outline(letter, font).width for letter in words)


@cache
def read_glyph_outline(letter: str, font: str) -> Glyph:
    """Return a letter of one of the `STANDARD_FONTS`."""
    document = pdfium.PdfDocument.new()
    try:
        loaded = raw.FPDFText_LoadStandardFont(document.raw, font.encode())
        width = c_float()
        raw.FPDFFont_GetGlyphWidth(loaded, ord(letter), _SIZE, byref(width))
        path = raw.FPDFFont_GetGlyphPath(loaded, ord(letter), _SIZE)
        operators = " ".join(_operators(path)) if path else ""
        raw.FPDFFont_Close(loaded)
    finally:
        document.close()
    return Glyph(width.value / _SIZE, operators)


def _operators(path: Any) -> Iterator[str]:
    x, y = c_float(), c_float()
    curve: list[str] = []
    for index in range(raw.FPDFGlyphPath_CountGlyphSegments(path)):
        segment = raw.FPDFGlyphPath_GetGlyphPathSegment(path, index)
        raw.FPDFPathSegment_GetPoint(segment, byref(x), byref(y))
        point = f"{x.value:.4f} {y.value:.4f}"
        match raw.FPDFPathSegment_GetType(segment):
            case raw.FPDF_SEGMENT_MOVETO:
                yield f"{point} m"
            case raw.FPDF_SEGMENT_LINETO:
                yield f"{point} l"
            case _:
                curve.append(point)
                if len(curve) == 3:
                    yield " ".join([*curve, "c"])
                    curve.clear()
        if raw.FPDFPathSegment_GetClose(segment):
            yield "h"
