"""A second look at what was passed over on a page, or misread: one call of the engine for it all.

Tesseract leaves out a short line now and then, as a date beside a signature, and is sure of all the
others: no confidence tells. And it takes small print beside a taller heading, two lines of it, for
one line of garbage. Cut out and put beneath each other on one picture, both are read.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from .engines import GOOD, Engine, Layout, OcrFailed, Token
from .facts import Box, Word
from .marks import SURE
from .render import POINTS, Grey, Picture
from .views import smoothed

# What the engine may have passed over, in heights of the page's usual word.
LOW, HIGH, GAP = 0.6, 2.2, 3.0
LONG = 2.0  # times its own height

# What it may have misread: words that it was unsure of, close together, and few others among them.
FEWEST = 4  # words; out of a signature it seldom makes as many
REACH = (3.0, 0.5)  # sideways and down, in heights of the page's usual word
BETTER = 2.0  # times the letters that are probably right

MOST = 6  # places on one page; a drawing has many such marks
LEAST_SECONDS = 1.0
RIM = (12.0, 6.0)  # points beside and above it: its small ends may not have made a mark
APART = 12.0  # points of paper between two of them


@dataclass(frozen=True, slots=True)
class Piece:
    """A place on the page, and where it lies on the picture of all of them. Pixels."""

    place: Box  # points
    grey: Grey
    corner: tuple[int, int]  # on the page
    top: int  # on the picture


def look_again(
    picture: Picture,
    read: Sequence[Token],
    words: Sequence[Word],
    marks: Sequence[Box],
    engine: Engine,
    deadline: float,
) -> tuple[list[Token], list[Token]]:
    """What was `read`, with the garbage in it replaced; and what was passed over.

    `words` are all that are known of the page. What was passed over stays among its marks, as does
    what was misread, for it may be somebody's hand after all.
    """
    usual = _usual_height(words)
    garbage = _garbage(words, usual)
    known = [*garbage, *(word.box for word in words if word.confidence >= GOOD)]
    lines = [line for line in _lines_in(marks, usual) if not _is_known(line, known)]
    places = [*garbage, *lines][:MOST]
    left = deadline - time.monotonic()
    if not places or left < LEAST_SECONDS:
        return list(read), []
    try:
        found = _seen(picture, places, engine, left)
    except OcrFailed:
        return list(read), []
    now = list(read)
    for area, tokens in zip(garbage, found, strict=False):
        now = _replaced(now, area, tokens, picture.dpi)
    return now, [token for tokens in found[len(garbage) :] for token in tokens]


def _usual_height(words: Sequence[Word]) -> float:
    sure = [word.box.bottom - word.box.top for word in words if word.confidence >= GOOD]
    return median(sure) if sure else 0.0


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
            lines[at] = _around((lines[at], mark))
    long = [line for line in lines if line.right - line.left > LONG * (line.bottom - line.top)]
    return sorted(long, key=lambda line: line.top)


def _goes_on(line: Box, mark: Box, gap: float) -> bool:
    return mark.left - line.right < gap and line.top < (mark.top + mark.bottom) / 2 < line.bottom


def _is_known(line: Box, known: Iterable[Box]) -> bool:
    """Whether most of it was read, as a heading, which is a mark for its height."""
    there = (box for box in known if line.covers(box) or box.covers(line))
    return sum(box.right - box.left for box in there) > (line.right - line.left) / 2


def _garbage(words: Sequence[Word], usual: float) -> list[Box]:
    """From the top."""
    clusters: list[list[Box]] = []
    for word in words:
        if word.confidence < SURE:
            wide = _widened(word.box, REACH[0] * usual, REACH[1] * usual)
            near = [each for each in clusters if any(map(wide.touches, each))]
            clusters = [each for each in clusters if each not in near]
            clusters.append([word.box, *(box for each in near for box in each)])
    areas = [_around(boxes) for boxes in clusters if len(boxes) >= FEWEST]
    return sorted((area for area in areas if _is_misread(area, words)), key=lambda area: area.top)


def _is_misread(area: Box, words: Iterable[Word]) -> bool:
    """Not a line of which some words are unsure."""
    within = [word for word in words if area.covers(word.box)]
    sure = sum(len(word.text) for word in within if word.confidence >= GOOD)
    return sure < sum(len(word.text) for word in within) / 2


def _widened(box: Box, x: float, y: float) -> Box:
    left, top, right, bottom = box
    return Box(left - x, top - y, right + x, bottom + y)


def _around(boxes: Iterable[Box]) -> Box:
    left, top, right, bottom = zip(*boxes, strict=True)
    return Box(min(left), min(top), max(right), max(bottom))


def _seen(
    picture: Picture, places: Sequence[Box], engine: Engine, seconds: float
) -> list[list[Token]]:
    """What stands surely in each place, where it is on the page. Raises OcrFailed."""
    stack, pieces = _stacked(picture, places)
    tokens = engine.tokens(smoothed(stack), round(picture.dpi), seconds, Layout.BLOCK)
    # A stroke is the side of a box.
    sure = [token for token in tokens if token.confidence >= GOOD and token.text.strip("|")]
    return [_on_page(sure, piece, picture.dpi) for piece in pieces]


def _stacked(picture: Picture, places: Sequence[Box]) -> tuple[Grey, list[Piece]]:
    """The places beneath each other, on the page's own paper."""
    apart = int(APART * picture.dpi / POINTS)
    pieces, top = [], apart
    for place in places:
        piece = _cut_out(picture, place, top)
        pieces.append(piece)
        top += piece.grey.shape[0] + apart
    wide = max(piece.grey.shape[1] for piece in pieces)
    paper = np.median(picture.grey[::8, ::8])
    stack = np.full((top, wide), paper, np.uint8)
    for piece in pieces:
        high, wide = piece.grey.shape
        stack[piece.top : piece.top + high, :wide] = piece.grey
    return stack, pieces


def _cut_out(picture: Picture, place: Box, top: int) -> Piece:
    """With a rim, from which tesseract knows the paper."""
    scale = picture.dpi / POINTS
    left, above, right, below = (max(int(edge * scale), 0) for edge in _widened(place, *RIM))
    return Piece(place, picture.grey[above:below, left:right], (left, above), top)


def _on_page(tokens: Iterable[Token], piece: Piece, dpi: float) -> list[Token]:
    """Those of one piece; not what its rim shows of the lines above and below."""
    (x, y), end = piece.corner, piece.top + piece.grey.shape[0]
    moved = [
        # Block 0 is none of the page's own: theirs count from 1.
        replace(
            token,
            left=token.left + x,
            top=token.top - piece.top + y,
            line=(0, *token.line[1:]),
        )
        for token in tokens
        if piece.top <= token.top and token.top + token.height <= end
    ]
    place = _widened(piece.place, RIM[0], 0.0)
    return [token for token in moved if place.covers(token.word(dpi).box)]


def _replaced(read: list[Token], area: Box, found: Sequence[Token], dpi: float) -> list[Token]:
    """With what was found where the garbage stood, if it is clearly better."""
    garbage = [token for token in read if area.covers(token.word(dpi).box)]
    others = [token.word(dpi).box for token in read if token not in garbage]
    new = [
        token for token in found if not any(other.covers(token.word(dpi).box) for other in others)
    ]
    if not garbage or _probably_right(new) < BETTER * _probably_right(garbage):
        return read
    at = read.index(garbage[0])
    return [*read[:at], *new, *(token for token in read[at:] if token not in garbage)]


def _probably_right(tokens: Iterable[Token]) -> float:
    """Characters."""
    return sum(len(token.text) * token.confidence / 100 for token in tokens)
