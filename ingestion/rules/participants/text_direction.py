"""Turns pages whose text runs sideways or upside down, as a page layer of the wrong rotation does.

OCR turns such pages itself. A text layer has the places of its words as they are shown.
"""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

from ingestion.reading.results import Box, PageReading, TextSource

_MIN_PAIRS = 4  # of neighbouring words, that show in which direction the text runs
_MIN_SHARE = 0.6  # of the pairs that run in the direction of the text


def find_direction(page: PageReading) -> int:
    """Return the degrees clockwise by which the text of a page is turned: 0, 90, 180 or 270.

    It is the direction from most words to the next one of their line, in the order of reading. A
    page that OCR read is upright.
    """
    if page.source is TextSource.OCR:
        return 0
    boxes = [word.box for word in page.words]
    places = [(left + right, top + bottom) for left, top, right, bottom in boxes]
    directions = Counter(
        [
            (0 if dx > 0 else 180) if abs(dx) > abs(dy) else (90 if dy > 0 else 270)
            for (x, y), (next_x, next_y) in pairwise(places)
            if abs(dx := next_x - x) != abs(dy := next_y - y)
        ]
    )
    if directions.total() < _MIN_PAIRS:
        return 0
    ((direction, count),) = directions.most_common(1)
    return direction if count >= _MIN_SHARE * directions.total() else 0


def turn_upright(page: PageReading) -> PageReading:
    """Return a page whose text is upright, with its words turned if they are not."""
    direction = find_direction(page)
    if not direction:
        return page
    words = tuple(
        word.moved_to(_turn(word.box, -direction % 360, page.width, page.height))
        for word in page.words
    )
    width, height = (page.width, page.height)
    if direction in {90, 270}:
        width, height = height, width
    return replace(page, words=words, width=width, height=height)


def turn_back(box: Box, direction: int, page: PageReading) -> Box:
    """Return the place on the page as it is shown of a box on the page that was turned upright."""
    width, height = page.width, page.height
    if direction in {90, 270}:
        width, height = height, width
    return _turn(box, direction, width, height)


def _turn(box: Box, degrees: int, width: float, height: float) -> Box:
    """Return a box of a page of this size after the page was turned clockwise."""
    left, top, right, bottom = box
    if degrees == 90:
        return Box(height - bottom, left, height - top, right)
    if degrees == 180:
        return Box(width - right, height - bottom, width - left, height - top)
    if degrees == 270:
        return Box(top, width - right, bottom, width - left)
    return box
