"""Where words stand on a page, and what stands beside them: points from the top left, y downwards.

Text alone does not tell which value belongs to a caption: a scan's columns may be read one
after the other. So values are looked for by place, behind a caption and below it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ingestion.reading import results
from ingestion.reading.results import (
    Box,
    PageReading,
    TextSource,
    Word,
)
from ingestion.rules import fuzzy_phrases

_EDGE_PUNCTUATION = (
    " .,:;?()[]#*_'\"-\u2013"  # what may hang on to a word; a ? may be a colon in a scan
)
_MAX_VALUE_DROP = 30.0  # points below a caption within which its value begins
_MAX_VALUE_OUTDENT = 20.0  # points by which that value may begin further left
_MAX_VALUE_INDENT = 60.0  # points by which it may begin further right
_MAX_LIST_LINE_DROP = 45.0  # points below a line within which the next line of a list begins
_MAX_LIST_LINES = 40  # of a list
_MIN_CAPTION_GAP = 9.0  # points of white that set a caption apart from running text
_MIN_WORD_CONFIDENCE = 50.0  # of 100; what recognition was less sure of may be no word at all
_COLUMN_RULE = "|"  # what recognition makes of one between two columns
_MAX_SMALL_PRINT_HEIGHT = 20.0  # points; what is no higher may stand beside small print


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Some of a page's words, from `start` to before `end`."""

    box: Box
    confidence: float  # of the worst of its words
    start: int
    end: int


def occurrences(page: PageReading, phrase: str) -> Iterator[TextSpan]:
    """Wherever these words stand, whatever their case, punctuation and likely misreadings.

    A scan's words may be run together or torn apart: letters are counted, not words.
    """
    if not fuzzy_phrases.holds(page.text, phrase):
        return
    pattern, wanted, letters = (
        fuzzy_phrases.phrase(phrase),
        fuzzy_phrases.letters(phrase),
        fuzzy_phrases.letters,
    )
    for start, word in enumerate(page.words):
        seen = letters(word.text)
        if not seen or not (wanted.startswith(seen) or seen.startswith(wanted)):
            continue
        end = _reach(page.words, start, len(wanted))
        words = page.words[start:end]
        if pattern.fullmatch(" ".join(word.text for word in words).strip(_EDGE_PUNCTUATION)):
            yield TextSpan(around(words), min(word.confidence for word in words), start, end)


def behind(page: PageReading, place: TextSpan) -> tuple[Word, ...]:
    """The words to the right on the same line, which may run a little askew."""
    line: list[Word] = []
    last = page.words[place.end - 1].box
    edge = last.right - 1
    to_the_right = [word for word in page.words if word.box.left > edge]
    is_picture = page.source is TextSource.OCR
    for word in sorted(to_the_right, key=_left):
        if is_picture and not line and word.text == _COLUMN_RULE:
            continue
        if word.box.left > last.right - 1 and _goes_on(last, word):
            line.append(word)
            last = word.box
    return tuple(line)


def below(page: PageReading, place: TextSpan) -> tuple[Word, ...]:
    """The words of the next line down, from what stands under the caption on.

    Under a centred caption the value may begin further left: what is joined to it belongs to it.
    """
    box = place.box
    under = [
        word
        for word in page.words
        if box.left - _MAX_VALUE_OUTDENT < word.box.left < box.right + _MIN_CAPTION_GAP
        and box.bottom - 2 < (word.box.top + word.box.bottom) / 2 < box.bottom + _MAX_VALUE_DROP
        and alike(box, word.box)
    ]
    if not under:
        return ()
    first = min(under, key=lambda word: (round(word.box.top / 4), word.box.left))
    first = first_joined(page, first)
    return (first, *behind(page, at(page, first)))


def lines_beneath(page: PageReading, place: TextSpan) -> Iterator[tuple[Word, ...]]:
    """From a caption down; under the head of a table, within its column.

    Each line is followed from its left end, which alone tells on a page that runs askew.
    """
    caption = first_joined(page, page.words[place.end - 1])
    is_head = caption is page.words[place.start] and ends_alone(page, place)
    beside = behind(page, place) if is_head else ()
    edge = beside[0].box.left - _MIN_CAPTION_GAP if beside else page.width
    for _ in range(_MAX_LIST_LINES):
        around_it = _near(page, caption.box)
        near = [word for word in around_it.words if _begins_below(word.box, caption.box)]
        if not near:
            return
        caption = first_joined(around_it, min(near, key=lambda word: word.box.top))
        line = (caption, *behind(around_it, at(around_it, caption)))
        yield tuple(word for word in line if word.box.left < edge)


def run(page: PageReading, place: TextSpan) -> tuple[Word, ...]:
    """The words that a place stands among, with no more white between them than in running text."""
    words = [first_joined(page, page.words[place.start])]
    for word in behind(page, at(page, words[0])):
        if not joins(words[-1].box, word.box):
            break
        words.append(word)
    return tuple(words)


def first_joined(page: PageReading, word: Word) -> Word:
    """Where the run of words begins that this one belongs to."""
    while before := next((each for each in page.words if joins(each.box, word.box)), None):
        word = before
    return word


def at(page: PageReading, word: Word) -> TextSpan:
    """The place of one of the page's own words."""
    start = next(number for number, each in enumerate(page.words) if each is word)
    return TextSpan(word.box, word.confidence, start, start + 1)


def begins_alone(page: PageReading, place: TextSpan) -> bool:
    """Nothing but a number, as in "11. Signature", stands right before it on its line."""
    before = (word for word in page.words if joins(word.box, place.box))
    return all(re.fullmatch(r"\W*\d*\W*", word.text) for word in before)


def ends_alone(page: PageReading, place: TextSpan) -> bool:
    """A colon ends it, or nothing that could carry it on stands right behind it on its line."""
    if page.words[place.end - 1].text.endswith(":"):
        return True
    line = behind(page, place)[:1]
    return not any(joins(place.box, word.box) and word.text[0].isalnum() for word in line)


def joins(left: Box, right: Box) -> bool:
    """One behind the other on a line, with no more white between them than in running text."""
    gap = right.left - left.right
    return -2 <= gap < _MIN_CAPTION_GAP and same_line(left, right) and left.left < right.left


def around(words: Iterable[Word]) -> Box:
    return results.bounding_box(word.box for word in words)


def distance(one: Box, other: Box) -> float:
    """Between their left ends; a line up or down counts more than a step to the side."""
    return abs(one.left - other.left) + 4 * abs(one.top - other.top)


def same_line(one: Box, other: Box) -> bool:
    """Whether the middle of either lies within the height of the other."""
    _, top, _, bottom = one
    _, its_top, _, its_bottom = other
    return top < (its_top + its_bottom) / 2 < bottom or its_top < (top + bottom) / 2 < its_bottom


def on_each_other(one: Box, other: Box) -> bool:
    """Whether the middle of each lies within the height of the other."""
    middle, its_middle = (one.top + one.bottom) / 2, (other.top + other.bottom) / 2
    return one.top < its_middle < one.bottom and other.top < middle < other.bottom


def _near(page: PageReading, box: Box) -> PageReading:
    """As much of the page as the next line can be on: to look through all of it takes long."""
    top, bottom = box.bottom - _MAX_SMALL_PRINT_HEIGHT, box.bottom + 2 * _MAX_LIST_LINE_DROP
    return replace(page, words=[word for word in page.words if top < word.box.bottom < bottom])


def _begins_below(box: Box, caption: Box) -> bool:
    """As the next line does: near the left end of the caption, and close below it."""
    middle = (box.top + box.bottom) / 2
    is_aligned = caption.left - _MAX_VALUE_OUTDENT < box.left < caption.left + _MAX_VALUE_INDENT
    return (
        is_aligned
        and caption.bottom < middle < caption.bottom + _MAX_LIST_LINE_DROP
        and alike(caption, box)
    )


def _goes_on(last: Box, word: Word) -> bool:
    """Not with what recognition is unsure of and is off the line: made of a rule or a drawing."""
    if not same_line(last, word.box) or not alike(last, word.box):
        return False
    return word.confidence >= _MIN_WORD_CONFIDENCE or on_each_other(last, word.box)


def _left(word: Word) -> float:
    return word.box.left


def alike(one: Box, other: Box) -> bool:
    """Of sizes that stand on one line: a watermark across the page is on none."""
    high, higher = sorted((one.bottom - one.top, other.bottom - other.top))
    return higher <= max(3 * high, _MAX_SMALL_PRINT_HEIGHT)


def _reach(words: Sequence[Word], start: int, length: int) -> int:
    """Behind the word with which the letters from `start` on come to this length."""
    end, count = start + 1, len(fuzzy_phrases.letters(words[start].text))
    while count < length and end < len(words):
        count += len(fuzzy_phrases.letters(words[end].text))
        end += 1
    return end
