"""The text layer of a page: its text, and its words with the boxes they fill."""

import re
import unicodedata
from collections.abc import Callable

import pypdfium2
import pypdfium2.raw as pdfium

from .facts import Box, Word

Rect = tuple[float, float, float, float]  # left, bottom, right, top; PDF's own, upwards

HYPHEN = "\x02"  # what pdfium gives for a hyphen at a line's end
IS_TEXT = "\r\n\t" + HYPHEN


def text_layer(page: pypdfium2.PdfPage) -> tuple[str, tuple[Word, ...]]:
    layer = page.get_textpage()
    try:
        count = layer.count_chars()
        raw = "".join(chr(pdfium.FPDFText_GetUnicode(layer, at)) for at in range(count))
        upright = to_points(page)
        words = (
            Word(clean(match[0]), upright(rect), 100.0)
            for match in re.finditer(r"\S+", raw)
            if (rect := _rect(layer, match.start(), len(match[0]))) is not None
        )
        return clean(raw), tuple(words)
    finally:
        layer.close()


def clean(raw: str) -> str:
    """Plain text: line feeds only, half surrogates joined, nothing that cannot be stored."""
    whole = raw.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    whole = whole.replace("\r\n", "\n").replace("\r", "\n").replace(HYPHEN, "-")
    return "".join(each for each in whole.replace("\xa0", " ") if each != "\0").strip()


def unreadable_share(text: str) -> float:
    """The share of characters that mean nothing: control, private use, not a character."""
    bad = sum(
        unicodedata.category(each) in {"Cc", "Co", "Cn"} for each in text if each not in IS_TEXT
    )
    bad += text.count("\ufffd")
    return bad / len(text) if text else 0.0


def to_points(page: pypdfium2.PdfPage) -> Callable[[Rect], Box]:
    """From PDF's coordinates to points from the top left, after the page's rotation."""
    left, bottom, right, top = page.get_bbox()
    moves: dict[int, Callable[[float, float], tuple[float, float]]] = {
        0: lambda x, y: (x - left, top - y),
        90: lambda x, y: (y - bottom, x - left),
        180: lambda x, y: (right - x, y - bottom),
        270: lambda x, y: (top - y, right - x),
    }
    move = moves[page.get_rotation()]

    def convert(rect: Rect) -> Box:
        (x1, y1), (x2, y2) = move(rect[0], rect[1]), move(rect[2], rect[3])
        return Box(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))

    return convert


def _rect(layer: pypdfium2.PdfTextPage, start: int, length: int) -> Rect | None:
    """The union of a word's pieces: one per run of the same font."""
    pieces = [layer.get_rect(at) for at in range(layer.count_rects(start, length))]
    if not pieces:
        return None
    lefts, bottoms, rights, tops = zip(*pieces, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)
