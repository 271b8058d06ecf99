"""Reading a page from its picture.

The plain grey page goes to tesseract: nearly everything that tutorials do to it first makes it
worse (reading.md, section 4.2). A bilevel fax is smoothed. Only a page that comes out badly is
looked at in other ways (`views`): when the engine is unsure of its words, or passed over much ink.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median

import cv2
import numpy as np

from .engines import Engine, Layout, OcrFailed, Token, TookTooLong
from .facts import Box, Page, TextSource, Word
from .marks import find_marks
from .paper import is_blank
from .render import POINTS, Grey, Picture
from .uncovered import uncovered_share
from .views import View, skew_of

BILEVEL = 0.97  # share of pixels that are black or white
GOOD = 70.0  # confidence; below, the page may lie upside down
MOST_UNCOVERED = 0.1  # share of a page's letters that are in no word; above, much was passed over
FIRST_SHARE = 0.6  # of the page's time is the first look's; the rest is for a coarser one
RETRY_SHARE = 0.5  # of the page's time that must be left for another try

# What the engine may have passed over, in heights of the page's usual word.
LOW, HIGH, GAP = 0.6, 2.2, 3.0
LONG = 2.0  # times its own height
MOST_PASSED_OVER = 6  # on one page; a drawing has many such marks
LEAST_SECONDS = 1.0
RIM = (12.0, 6.0)  # points beside and above it: its small ends may not have made a mark


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass of the engine read."""

    view: View
    tokens: list[Token]
    uncovered: float  # share of the letters that are in no word, from 0 to 1

    @property
    def confidence(self) -> float:
        return float(np.mean([token.confidence for token in self.tokens])) if self.tokens else 0.0

    @property
    def good_characters(self) -> int:
        return sum(len(token.text) for token in self.tokens if token.confidence >= GOOD)

    @property
    def is_good(self) -> bool:
        return self.confidence >= GOOD and self.uncovered <= MOST_UNCOVERED


def read_picture(picture: Picture, page: Page, engine: Engine, seconds: float) -> Page:
    """`page`, with what can be read on its picture added to what its text layer has.

    A page that was scanned upside down, sideways or far askew is given upright: its boxes, width
    and height are those of the turned page. One that the engine fails at is given with that as its
    error: with all its ink as marks, for some of it may be somebody's hand.
    """
    view = View.of(picture, page)
    if is_blank(view.sheet):
        return replace(page, is_blank=not page.text)
    deadline = time.monotonic() + seconds
    page = replace(page, source=TextSource.OCR, dpi=round(picture.dpi))
    try:
        best = _upright(_best_pass(view, engine, seconds))
    except OcrFailed as error:
        return replace(page, marks=find_marks(view.sheet, page.words), error=str(error))
    view = best.view
    words, text = _added(view, best.tokens, view.page.words, page.text)
    marks = find_marks(view.sheet, words)
    uncovered = best.uncovered
    for tokens in filter(None, _passed_over(view.picture, marks, words, engine, deadline)):
        words, text = _added(view, tokens, words, text)
        uncovered = uncovered_share(view.sheet, words)
    return replace(
        view.page,
        source=TextSource.OCR,
        text=text,
        words=words,
        marks=marks,
        confidence=round(best.confidence, 1),
        uncovered=round(uncovered, 3),
        dpi=round(view.picture.dpi),
    )


def _best_pass(view: View, engine: Engine, seconds: float) -> Pass:
    """Raises OcrFailed if even the first look fails."""
    deadline = time.monotonic() + seconds
    passes = [_first_pass(view, engine, seconds)]
    for other in _other_views(view, passes):
        left = deadline - time.monotonic()
        if left < seconds * RETRY_SHARE:
            break
        try:
            passes.append(_pass(other, engine, left))
        except OcrFailed:
            break  # what was read before stands
    return _best(passes)


def _first_pass(view: View, engine: Engine, seconds: float) -> Pass:
    began = time.monotonic()
    try:
        return _pass(view, engine, seconds * FIRST_SHARE)
    except TookTooLong:
        return _pass(view.coarse(), engine, seconds - (time.monotonic() - began))


def _other_views(view: View, passes: Sequence[Pass]) -> Iterator[View]:
    """What may be read better, as long as it has not been read well."""
    if passes[0].is_good:
        return
    if skew := skew_of(view.sheet):
        view = view.straightened(skew)
        yield view
    for turn in (180, 270):
        if max(each.confidence for each in passes) >= GOOD:
            break
        yield view.turned(turn)
    if (best := _best(passes)).uncovered > MOST_UNCOVERED:
        yield best.view.evenly_lit()


def _best(passes: Sequence[Pass]) -> Pass:
    return max(passes, key=lambda each: each.good_characters)


def _pass(view: View, engine: Engine, seconds: float) -> Pass:
    picture = view.picture
    tokens = engine.tokens(smoothed(picture.grey), round(picture.dpi), seconds)
    words = (*view.page.words, *_words(tokens, picture.dpi))
    return Pass(view, tokens, uncovered_share(view.sheet, words))


def _passed_over(
    picture: Picture,
    marks: Sequence[Box],
    words: Sequence[Word],
    engine: Engine,
    deadline: float,
) -> Iterator[list[Token]]:
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
        except OcrFailed:
            return
        yield [
            replace(token, left=token.left + x, top=token.top + y)
            for token in tokens
            if token.confidence >= GOOD
        ]


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
    wide = read.view.picture.grey.shape[1]
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
    return replace(read, view=read.view.turned(270), tokens=tokens)


def _added(
    view: View, tokens: Sequence[Token], own: Sequence[Word], text: str
) -> tuple[tuple[Word, ...], str]:
    """The text layer's words stand; of the picture's, those that are not drawn by it."""
    placed = zip(tokens, _words(tokens, view.picture.dpi), strict=True)
    new = [each for each in placed if not any(_covers(word.box, each[1].box) for word in own)]
    lines = _lines(token for token, _ in new)
    return (*own, *(word for _, word in new)), "\n".join(filter(None, (text, lines)))


def _words(tokens: Iterable[Token], dpi: float) -> list[Word]:
    return [Word(token.text, _box(token, dpi), token.confidence) for token in tokens]


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
