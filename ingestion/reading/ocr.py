"""Reading a page from its picture.

The plain grey page goes to tesseract: nearly everything that tutorials do to it first makes it
worse (reading.md, section 4.2). A bilevel fax is smoothed; a page that comes out badly is tried
upside down and sideways.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median

import cv2
import numpy as np

from .engines import Engine, Layout, Token
from .facts import Box, Page, TextSource, Word
from .marks import find_marks, is_blank
from .render import POINTS, Grey, PageUnreadable, Picture

BILEVEL = 0.97  # share of pixels that are black or white
GOOD = 70.0  # confidence; below, the page may lie upside down
TURNS = {180: cv2.ROTATE_180, 270: cv2.ROTATE_90_COUNTERCLOCKWISE}
RETRY_SHARE = 0.5  # of the page's time that must be left for another try

# What the engine may have passed over, in heights of the page's usual word.
LOW, HIGH, GAP = 0.6, 2.2, 3.0
LONG = 2.0  # times its own height
MOST_PASSED_OVER = 6  # on one page; a drawing has many such marks
LEAST_SECONDS = 1.0
RIM = (12.0, 6.0)  # points beside and above it: its small ends may not have made a mark


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
    deadline = time.monotonic() + seconds
    best = _upright(_best_pass(picture, engine, seconds))
    own = tuple(
        Word(word.text, _turn_box(word.box, best.turn, page), word.confidence)
        for word in page.words
    )
    words, text = _added(best, own, page.text)
    marks = find_marks(best.picture, words)
    for lines in _passed_over(best.picture, marks, words, engine, deadline):
        words, text = _added(lines, words, text)
    return replace(
        page,
        width=best.picture.width,
        height=best.picture.height,
        text=text,
        source=TextSource.OCR,
        words=words,
        marks=marks,
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


def _passed_over(
    picture: Picture,
    marks: Sequence[Box],
    words: Sequence[Word],
    engine: Engine,
    deadline: float,
) -> Iterator[Pass]:
    """Lines that the engine took for no text, each looked at by itself.

    Tesseract leaves out a short line now and then, as a date beside a signature, and is sure of all
    the others: no confidence tells. What it left is among the marks, and stays there, for it may be
    somebody's hand after all.
    """
    sure = [word.box.bottom - word.box.top for word in words if word.confidence >= GOOD]
    usual = median(sure) if sure else 0.0
    for line in _lines_in(marks, usual)[:MOST_PASSED_OVER]:
        left = deadline - time.monotonic()
        if left < LEAST_SECONDS:
            return
        piece, x, y = _cut_out(picture, line)
        try:
            tokens = engine.tokens(smoothed(piece), round(picture.dpi), left, Layout.LINE)
        except PageUnreadable:
            return
        read = [
            replace(token, left=token.left + x, top=token.top + y)
            for token in tokens
            if token.confidence >= GOOD
        ]
        yield Pass(picture, read)


def _lines_in(marks: Sequence[Box], usual: float) -> list[Box]:
    """What is as high as one of the page's lines, which may run askew, joined to such lines."""
    lines: list[Box] = []
    for mark in sorted(marks):  # from the left
        if not LOW * usual < mark.bottom - mark.top < HIGH * usual:
            continue
        near = (n for n, line in enumerate(lines) if _goes_on(line, mark, GAP * usual))
        at = next(near, None)
        if at is None:
            lines.append(mark)
        else:
            left, top, right, bottom = lines[at]
            right, bottom = max(right, mark.right), max(bottom, mark.bottom)
            lines[at] = Box(left, min(top, mark.top), right, bottom)
    return [line for line in lines if line.right - line.left > LONG * (line.bottom - line.top)]


def _goes_on(line: Box, mark: Box, gap: float) -> bool:
    return mark.left - line.right < gap and line.top < (mark.top + mark.bottom) / 2 < line.bottom


def _cut_out(picture: Picture, line: Box) -> tuple[Grey, int, int]:
    """With a rim, from which tesseract knows the paper; and where it was."""
    scale, (high, wide) = picture.dpi / POINTS, picture.grey.shape
    (x, y) = RIM
    left, top = max(int((line.left - x) * scale), 0), max(int((line.top - y) * scale), 0)
    right, bottom = int((line.right + x) * scale), int((line.bottom + y) * scale)
    piece = picture.grey[top : min(bottom, high), left : min(right, wide)]
    return np.ascontiguousarray(piece), left, top


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
