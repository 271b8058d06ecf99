"""Finds words by their positions on a page: in points from the top left corner, y downwards.

The order of a page's text does not show which value belongs to a caption, because OCR may read
columns one after the other. Values are therefore found by position: to the right of a caption and
below it.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from math import inf
from typing import NamedTuple

from ingestion.reading import results
from ingestion.reading.results import (
    Box,
    PageReading,
    TextSource,
    Word,
)
from ingestion.rules import fuzzy_phrases

_NUMBER_ALONE = re.compile(r"\W*\d*\W*")
# Punctuation that may be attached to a word. A question mark may be a misread colon.
_EDGE_PUNCTUATION = " .,:;?()[]#*_'\"-\u2013\u00b0"
_MAX_VALUE_DROP = 30.0  # points below a caption within which its value begins
_MAX_VALUE_OUTDENT = 20.0  # points by which that value may begin further left
_MAX_VALUE_INDENT = 60.0  # points by which it may begin further right
_MAX_LIST_LINE_DROP = 45.0  # points below a line within which the next line of a list begins
_MAX_LIST_LINES = 40  # lines of a list
_MAX_OVERLAP = 2.0  # points by which a word may begin before the end of the word before it
_MIN_COLUMN_GAP = 14.0  # points of white space that separate two columns of a table
_MIN_CAPTION_GAP = 9.0  # points of white space that separate a caption from other text
_MAX_SPACE = 0.6  # of the height of a word; a wider space separates it from the word before
_MIN_WORD_CONFIDENCE = 50.0  # percent; below it, what OCR read may not be a word
_COLUMN_RULE = "|"  # the character that OCR reads from a rule between two columns
_MAX_SMALL_PRINT_HEIGHT = 20.0  # points; words up to this height may stand beside small print


class TextSpan(NamedTuple):
    """Some of the words of a page, from number `start` to before number `end`."""

    box: Box
    confidence: float  # the lowest of its words, in percent
    start: int
    end: int


def find_phrase(page: PageReading, phrase: str) -> Iterator[TextSpan]:
    """Yield each occurrence of a phrase, with any case, punctuation and likely misreadings.

    OCR may join or split words, so the search counts letters and not words.
    """
    if not fuzzy_phrases.may_contain_phrase(page.text, phrase):
        return
    remaining = len(fuzzy_phrases.find_occurrences(page.text, phrase))
    if not remaining:
        return
    pattern, wanted = fuzzy_phrases.compile_phrase(phrase), fuzzy_phrases.fold_letters(phrase)
    index = _index_of(page)
    all_words, letters = index.words, index.letters
    for start in index.starts.get(wanted[:1], ()):
        folded = letters[start]
        if not (wanted.startswith(folded) or folded.startswith(wanted)):
            continue
        end, letter_count = start + 1, len(folded)
        while letter_count < len(wanted) and end < len(letters):
            letter_count += len(letters[end])
            end += 1
        words = all_words[start:end]
        if pattern.fullmatch(" ".join(word.text for word in words).strip(_EDGE_PUNCTUATION)):
            confidence = min([word.confidence for word in words])
            yield TextSpan(bounding_box(words), confidence, start, end)
            remaining -= 1
            if not remaining:
                return


class WordsByIdentity:
    """A cache key that compares words by identity, because comparing their contents is slow."""

    __slots__ = ("words",)

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordsByIdentity) and self.words is other.words

    def __hash__(self) -> int:
        return id(self.words)


class _WordIndex:
    """Some words by their first letter and by their edges, each order made when it is needed."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        # The words to the right of places, which several fields and checks need.
        self.lines: dict[tuple[Box, bool], tuple[Word, ...]] = {}

    @cached_property
    def letters(self) -> list[str]:
        """Return the folded letters of each word."""
        return fuzzy_phrases.fold_words([word.text for word in self.words])

    @cached_property
    def starts(self) -> dict[str, list[int]]:
        """Return the numbers of the words by their first letter."""
        starts: dict[str, list[int]] = {}
        for number, folded in enumerate(self.letters):
            if folded:
                starts.setdefault(folded[0], []).append(number)
        return starts

    @cached_property
    def _by_left(self) -> tuple[list[Word], list[float]]:
        """Return the words from left to right, and their left edges."""
        words = sorted(self.words, key=lambda word: word[1][0])
        return words, [word[1][0] for word in words]

    @cached_property
    def _by_right(self) -> tuple[list[int], list[float]]:
        """Return the numbers of the words in the order of their right edges, and these edges."""
        rights = sorted((word[1][2], number) for number, word in enumerate(self.words))
        return [number for _, number in rights], [right for right, _ in rights]

    @cached_property
    def with_colon(self) -> list[Word]:
        """Return the words that end with a colon."""
        return [word for word in self.words if word.text.endswith(":")]

    def beginning_after(self, edge: float, before: float = inf) -> Sequence[Word]:
        """Return the words whose left edge is between two edges, from left to right."""
        words, lefts = self._by_left
        return words[bisect_right(lefts, edge) : bisect_left(lefts, before)]

    def before(self, box: Box) -> Iterator[Word]:
        """Yield the words that a box comes next to on the line, in their order."""
        numbers, rights = self._by_right
        # One point more on each side, so that rounding excludes no word.
        first = bisect_left(rights, box.left - _max_space_before(box) - 1)
        last = bisect_right(rights, box.left + _MAX_OVERLAP + 1, lo=first)
        for number in sorted(numbers[first:last]):
            if is_followed_by(self.words[number].box, box):
                yield self.words[number]


@lru_cache(maxsize=64)
def _index_of_known(key: WordsByIdentity) -> _WordIndex:
    return _WordIndex(key.words)


def _index_of(page: PageReading) -> _WordIndex:
    """Return the index of the words of a page. That of a whole page is kept."""
    words = page.words[:]  # a tuple, even of lazy words
    if isinstance(words, tuple):
        return _index_of_known(WordsByIdentity(words))
    return _WordIndex(words)


def words_right_of(page: PageReading, span: TextSpan) -> tuple[Word, ...]:
    """Return the words to the right of a span on its line, which may be slightly skewed."""
    return _words_after(page, page.words[span.end - 1].box)


def _words_after(page: PageReading, box: Box) -> tuple[Word, ...]:
    """Return the words to the right of a box on its line."""
    index, is_picture = _index_of(page), page.source is TextSource.OCR
    key = (box, is_picture)
    if key not in index.lines:
        words = index.beginning_after(box.right - 1)
        index.lines[key] = _find_words_after(words, box, is_picture=is_picture)
    return index.lines[key]


def _find_words_after(words: Sequence[Word], last: Box, *, is_picture: bool) -> tuple[Word, ...]:
    """Return those of some words, from left to right, that continue the line of a box."""
    line: list[Word] = []
    _, top, right, bottom = last
    centre = (top + bottom) / 2
    for word in words:
        box = word[1]
        # Most words are not on the line, so this is found out without a call for each of them.
        if not (
            (top < (box[1] + box[3]) / 2 < bottom or box[1] < centre < box[3])
            and box[0] > right - 1
            and has_similar_height(last, box)
        ):
            continue
        # Words that OCR is unsure of and that are off the line are parts of rules or drawings.
        if word.confidence < _MIN_WORD_CONFIDENCE and not is_level_with(last, box):
            continue
        if is_picture and not line and word.text == _COLUMN_RULE:
            continue
        line.append(word)
        last = box
        _, top, right, bottom = last
        centre = (top + bottom) / 2
    return tuple(line)


def words_below(page: PageReading, span: TextSpan) -> tuple[Word, ...]:
    """Return the words of the next line, from the one below the span on.

    Below a centred caption the value may begin further left, so the words that are joined to the
    word below belong to it.
    """
    box = span.box
    near = _index_of(page).beginning_after(
        box.left - _MAX_VALUE_OUTDENT, before=box.right + _MIN_CAPTION_GAP
    )
    candidates = [
        word
        for word in near
        if box.bottom - 2 < (word.box.top + word.box.bottom) / 2 < box.bottom + _MAX_VALUE_DROP
        and has_similar_height(box, word.box)
    ]
    if not candidates:
        return ()
    first = min(candidates, key=lambda word: (round(word.box.top / 4), word.box.left))
    first = first_word_of_run(page, first)
    return (first, *_words_after(page, first.box))


def has_caption_before(page: PageReading, words: Sequence[Word]) -> bool:
    """Return whether a caption, with a colon, stands before some words in their line."""
    return bool(words) and any(
        word.box.right < words[0].box.left and is_level_with(word.box, words[0].box)
        for word in _index_of(page).with_colon
    )


def first_cell(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words of a line up to the space that separates two columns."""
    for number, (word, following) in enumerate(pairwise(words), 1):
        height = following.box.bottom - following.box.top
        if following.box.left - word.box.right > max(_MIN_COLUMN_GAP, 1.5 * height):
            return words[:number]
    return words


def lines_below(page: PageReading, span: TextSpan) -> Iterator[tuple[Word, ...]]:
    """Yield the lines below a caption; below the head of a table, only the words of its column.

    The next line is found from the left end of each line, because on a skewed page only the left
    ends show which line follows.
    """
    first = first_word_of_run(page, page.words[span.end - 1])
    is_table_head = first is page.words[span.start] and has_no_text_after(page, span)
    beside = words_right_of(page, span) if is_table_head else ()
    edge = beside[0].box.left - _MIN_CAPTION_GAP if beside else page.width
    for _ in range(_MAX_LIST_LINES):
        last = first.box
        near = _index_of(page).beginning_after(
            last.left - _MAX_VALUE_OUTDENT, before=last.left + _MAX_VALUE_INDENT
        )
        lowest = last.bottom + _MAX_LIST_LINE_DROP
        candidates = [
            word
            for word in near
            if last.bottom < (word.box.top + word.box.bottom) / 2 < lowest
            and has_similar_height(last, word.box)
        ]
        if not candidates:
            return
        first = first_word_of_run(page, min(candidates, key=lambda word: word.box.top))
        line = (first, *_words_after(page, first.box))
        yield tuple(word for word in line if word.box.left < edge)


def text_run_at(page: PageReading, span: TextSpan) -> tuple[Word, ...]:
    """Return the words around a span that are separated by no more space than in running text."""
    words = [first_word_of_run(page, page.words[span.start])]
    for word in _words_after(page, words[0].box):
        if not is_followed_by(words[-1].box, word.box):
            break
        words.append(word)
    return tuple(words)


def first_word_of_run(page: PageReading, word: Word) -> Word:
    """Return the first word of the run of words that a word belongs to."""
    index = _index_of(page)
    while before := next(index.before(word.box), None):
        word = before
    return word


def first_words_of_runs(words: Sequence[Word]) -> list[Word]:
    """Return those of some words that come next to none of the others on the line."""
    index = _WordIndex(words)
    return [word for word in words if next(index.before(word.box), None) is None]


def _max_space_before(box: Box) -> float:
    """Return the space in running text before a box. It grows with the type."""
    return max(_MIN_CAPTION_GAP, _MAX_SPACE * (box.bottom - box.top))


def span_of_word(page: PageReading, word: Word) -> TextSpan:
    """Return the span of one of the page's own word objects."""
    start = next(number for number, each in enumerate(page.words) if each is word)
    return TextSpan(word.box, word.confidence, start, start + 1)


def has_no_text_before(page: PageReading, span: TextSpan) -> bool:
    """Return whether no text, except a number as in "11. Signature", is directly left of a span."""
    before = _index_of(page).before(span.box)
    return all(_NUMBER_ALONE.fullmatch(word.text) for word in before)


def has_no_text_after(page: PageReading, span: TextSpan) -> bool:
    """Return whether a span ends with a colon, or no word that continues it follows on its line."""
    if page.words[span.end - 1].text.endswith(":"):
        return True
    following = words_right_of(page, span)[:1]
    return not any(
        is_followed_by(span.box, word.box) and word.text[0].isalnum() for word in following
    )


def is_in_one_column(page: PageReading, span: TextSpan) -> bool:
    """Return whether no wide space separates the words of a span that are on one line."""
    words = page.words[span.start : span.end]
    return all(
        not is_on_same_line(one.box, other.box)
        or other.box.left - one.box.right < max(_MIN_COLUMN_GAP, other.box.bottom - other.box.top)
        for one, other in pairwise(words)
    )


def is_followed_by(left: Box, right: Box) -> bool:
    """Return whether `right` comes next on the line, with no more space than in running text."""
    is_near = -_MAX_OVERLAP <= right.left - left.right < _max_space_before(right)
    return is_near and is_on_same_line(left, right) and left.left < right.left


def bounding_box(words: Iterable[Word]) -> Box:
    """Return the smallest box that contains all words."""
    boxes = [word[1] for word in words]
    return boxes[0] if len(boxes) == 1 else results.compute_bounding_box(boxes)


def distance(one: Box, other: Box) -> float:
    """Return the distance of the upper left corners; vertical points count four times."""
    return abs(one.left - other.left) + 4 * abs(one.top - other.top)


def is_on_same_line(one: Box, other: Box) -> bool:
    """Return whether the vertical centre of either box lies between top and bottom of the other."""
    # Both boxes are unpacked because this is called for every pair of words of a page.
    _, top, _, bottom = one
    _, other_top, _, other_bottom = other
    return (
        top < (other_top + other_bottom) / 2 < bottom
        or other_top < (top + bottom) / 2 < other_bottom
    )


def is_level_with(one: Box, other: Box) -> bool:
    """Return whether the vertical centre of each box lies between top and bottom of the other."""
    centre, other_centre = (one.top + one.bottom) / 2, (other.top + other.bottom) / 2
    return one.top < other_centre < one.bottom and other.top < centre < other.bottom


def has_similar_height(one: Box, other: Box) -> bool:
    """Return whether the heights of two boxes may occur on one line.

    A watermark across the page, for example, is on no line.
    """
    height, other_height = one[3] - one[1], other[3] - other[1]
    larger = max(height, other_height)
    return larger <= _MAX_SMALL_PRINT_HEIGHT or larger <= 3 * min(height, other_height)
