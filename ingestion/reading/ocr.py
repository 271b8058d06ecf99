"""Reading a page from its picture.

The plain grey page goes to tesseract: nearly everything that tutorials do to it first makes it
worse (reading.md, section 4.2). A bilevel fax is smoothed; a page that comes out badly is tried
upside down and sideways.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import cv2
import numpy as np

from .engines import Engine, Token
from .facts import Box, Page, TextSource, Word
from .marks import find_marks, is_blank
from .render import POINTS, Grey, PageUnreadable, Picture

BILEVEL = 0.97  # share of pixels that are black or white
GOOD = 70.0  # confidence; below, the page may lie upside down
TURNS = {180: cv2.ROTATE_180, 270: cv2.ROTATE_90_COUNTERCLOCKWISE}
RETRY_SHARE = 0.5  # of the page's time that must be left for another try


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass of the engine read, on a picture turned clockwise by `turn` degrees."""

    picture: Picture
    tokens: list[Token]
    turn: int = 0

    @property
    def confidence(self) -> float:
        return float(np.mean([token.confidence for token in self.tokens])) if self.tokens else 0.0

    @property
    def good_characters(self) -> int:
        return sum(len(token.text) for token in self.tokens if token.confidence >= GOOD)


def read_picture(picture: Picture, page: Page, engine: Engine, seconds: float) -> Page:
    """`page`, with what can be read on its picture added to what its text layer has.

    A page that was scanned upside down or sideways is given upright: its boxes, width and height
    are those of the turned page. Raises PageUnreadable.
    """
    if is_blank(picture):
        return replace(page, is_blank=not page.text)
    best = _upright(_best_pass(picture, engine, seconds))
    own = tuple(
        Word(word.text, _turn_box(word.box, best.turn, page), word.confidence)
        for word in page.words
    )
    words, text = _added(best, own, page.text)
    return replace(
        page,
        width=best.picture.width,
        height=best.picture.height,
        text=text,
        source=TextSource.OCR,
        words=words,
        marks=find_marks(best.picture, words),
        confidence=round(best.confidence, 1),
        dpi=round(picture.dpi),
        turned=best.turn,
    )


def _best_pass(picture: Picture, engine: Engine, seconds: float) -> Pass:
    deadline = time.monotonic() + seconds
    grey = smoothed(picture.grey)
    passes = [Pass(picture, engine.tokens(grey, round(picture.dpi), seconds))]
    for turn, code in TURNS.items():
        left = deadline - time.monotonic()
        if max(each.confidence for each in passes) >= GOOD or left < seconds * RETRY_SHARE:
            break
        turned = Picture(cv2.rotate(grey, code), picture.dpi)
        try:
            passes.append(Pass(turned, engine.tokens(turned.grey, round(picture.dpi), left), turn))
        except PageUnreadable:
            break  # what the first pass read stands
    return max(passes, key=lambda each: each.good_characters)


def smoothed(grey: Grey) -> Grey:
    """A fax has no greys: without some smoothing its jagged edges cost a tenth of the words."""
    extremes = np.count_nonzero((grey < 3) | (grey > 252)) / grey.size
    return cv2.GaussianBlur(grey, (3, 3), 0) if extremes > BILEVEL else grey


def _upright(read: Pass) -> Pass:
    """Tesseract reads a page that lies on its right side, but leaves the boxes lying."""
    lengths = [token for token in read.tokens if len(token.text) > 3]
    lying = sum(token.height > 1.5 * token.width for token in lengths)
    if not lengths or lying < len(lengths) / 2:
        return read
    wide = read.picture.grey.shape[1]
    tokens = [
        replace(
            token,
            left=token.top,
            top=wide - token.left - token.width,
            width=token.height,
            height=token.width,
        )
        for token in read.tokens
    ]
    grey = cv2.rotate(read.picture.grey, cv2.ROTATE_90_COUNTERCLOCKWISE)
    return Pass(Picture(grey, read.picture.dpi), tokens, (read.turn + 270) % 360)


def _added(read: Pass, own: Sequence[Word], text: str) -> tuple[tuple[Word, ...], str]:
    """The text layer's words stand; of the picture's, those that are not drawn by it."""
    placed = [(token, _box(token, read.picture.dpi)) for token in read.tokens]
    new = [(token, box) for token, box in placed if not any(_covers(word.box, box) for word in own)]
    words = tuple(Word(token.text, box, token.confidence) for token, box in new)
    lines = _lines(token for token, _ in new)
    return (*own, *words), "\n".join(filter(None, (text, lines)))


def _lines(tokens: Iterable[Token]) -> str:
    lines = groupby(tokens, key=lambda token: token.line)
    return "\n".join(" ".join(token.text for token in line) for _, line in lines)


def _box(token: Token, dpi: float) -> Box:
    scale = POINTS / dpi
    right, bottom = token.left + token.width, token.top + token.height
    return Box(token.left * scale, token.top * scale, right * scale, bottom * scale)


def _covers(outer: Box, inner: Box) -> bool:
    """Whether the middle of one box lies in the other."""
    x, y = (inner.left + inner.right) / 2, (inner.top + inner.bottom) / 2
    return outer.left <= x <= outer.right and outer.top <= y <= outer.bottom


def _turn_box(box: Box, turn: int, page: Page) -> Box:
    """Where a box of the page is once the page is turned clockwise."""
    wide, high = page.width, page.height
    turned = {
        0: box,
        90: Box(high - box.bottom, box.left, high - box.top, box.right),
        180: Box(wide - box.right, high - box.bottom, wide - box.left, high - box.top),
        270: Box(box.top, wide - box.right, box.bottom, wide - box.left),
    }
    return turned[turn]
