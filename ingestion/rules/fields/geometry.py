"""The positions of words on a page: in points from the top left corner, with y downwards.

The order of a page's text does not show which value belongs to a caption, because OCR may read
columns one after the other. Values are therefore found by position: to the right of a caption and
below it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from ingestion.reading import results
from ingestion.reading.results import (
    Box,
    PageReading,
    TextSource,
    Word,
)
from ingestion.rules import fuzzy_phrases

# Punctuation that may be attached to a word. A question mark may be a misread colon.
_EDGE_PUNCTUATION = " .,:;?()[]#*_'\"-\u2013"
_MAX_VALUE_DROP = 30.0  # points below a caption within which its value begins
_MAX_VALUE_OUTDENT = 20.0  # points by which that value may begin further left
_MAX_VALUE_INDENT = 60.0  # points by which it may begin further right
_MAX_LIST_LINE_DROP = 45.0  # points below a line within which the next line of a list begins
_MAX_LIST_LINES = 40  # lines of a list
_MIN_COLUMN_GAP = 14.0  # points of white space that separate two columns of a table
_MIN_CAPTION_GAP = 9.0  # points of white space that separate a caption from other text
_MAX_SPACE = 0.6  # of the height of a word; a wider space separates it from the word before
_MIN_WORD_CONFIDENCE = 50.0  # percent; below it, what OCR read may not be a word
_COLUMN_RULE = "|"  # the character that OCR reads from a rule between two columns
_MAX_SMALL_PRINT_HEIGHT = 20.0  # points; words up to this height may stand beside small print


@dataclass(frozen=True, slots=True)
class TextSpan:
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
    pattern, wanted = fuzzy_phrases.compile_phrase(phrase), fuzzy_phrases.fold_letters(phrase)
    remaining = sum(1 for _ in pattern.finditer(page.text))
    if not remaining:
        return
    all_words = page.words[:]  # a tuple, also of lazy words
    letters, starts = _fold_words(_Identity(all_words))
    for start in starts.get(wanted[:1], ()):
        folded = letters[start]
        if not (wanted.startswith(folded) or folded.startswith(wanted)):
            continue
        end, letter_count = start + 1, len(folded)
        while letter_count < len(wanted) and end < len(letters):
            letter_count += len(letters[end])
            end += 1
        words = all_words[start:end]
        if pattern.fullmatch(" ".join(word.text for word in words).strip(_EDGE_PUNCTUATION)):
            yield TextSpan(bounding_box(words), min(word.confidence for word in words), start, end)
            remaining -= 1
            if not remaining:
                return


class _Identity:
    """Some words as the key of a cache, by their identity, because to compare them takes long."""

    __slots__ = ("words",)

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.words is other.words

    def __hash__(self) -> int:
        return id(self.words)


@lru_cache(maxsize=16)
def _fold_words(key: _Identity) -> tuple[list[str], dict[str, list[int]]]:
    """Return the folded letters of some words, and the numbers of the words by first letter."""
    letters = [fuzzy_phrases.fold_letters(word.text) for word in key.words]
    starts: dict[str, list[int]] = {}
    for number, folded in enumerate(letters):
        if folded:
            starts.setdefault(folded[0], []).append(number)
    return letters, starts


def words_right_of(page: PageReading, span: TextSpan) -> tuple[Word, ...]:
    """Return the words to the right of a span on its line, which may be slightly skewed."""
    line: list[Word] = []
    last = page.words[span.end - 1].box
    edge = last.right - 1
    to_the_right = [word for word in page.words[:] if word[1][0] > edge]
    is_picture = page.source is TextSource.OCR
    for word in sorted(to_the_right, key=lambda word: word.box.left):
        if is_picture and not line and word.text == _COLUMN_RULE:
            continue
        is_continuation = (
            word.box.left > last.right - 1
            and is_on_same_line(last, word.box)
            and has_similar_height(last, word.box)
            # Words that OCR is unsure of and that are off the line are parts of rules or drawings.
            and (word.confidence >= _MIN_WORD_CONFIDENCE or is_level_with(last, word.box))
        )
        if is_continuation:
            line.append(word)
            last = word.box
    return tuple(line)


def words_below(page: PageReading, span: TextSpan) -> tuple[Word, ...]:
    """Return the words of the next line, from the one below the span on.

    Below a centred caption the value may begin further left, so the words that are joined to the
    word below belong to it.
    """
    box = span.box
    candidates = [
        word
        for word in page.words
        if box.left - _MAX_VALUE_OUTDENT < word.box.left < box.right + _MIN_CAPTION_GAP
        and box.bottom - 2 < (word.box.top + word.box.bottom) / 2 < box.bottom + _MAX_VALUE_DROP
        and has_similar_height(box, word.box)
    ]
    if not candidates:
        return ()
    first = min(candidates, key=lambda word: (round(word.box.top / 4), word.box.left))
    first = first_word_of_run(page, first)
    return (first, *words_right_of(page, span_of_word(page, first)))


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
        # A search in the part of the page that the next line can be on is much faster.
        top = last.bottom - _MAX_SMALL_PRINT_HEIGHT
        bottom = last.bottom + 2 * _MAX_LIST_LINE_DROP
        part = replace(page, words=[word for word in page.words if top < word.box.bottom < bottom])
        candidates = [
            word
            for word in part.words
            if last.left - _MAX_VALUE_OUTDENT < word.box.left < last.left + _MAX_VALUE_INDENT
            and last.bottom
            < (word.box.top + word.box.bottom) / 2
            < last.bottom + _MAX_LIST_LINE_DROP
            and has_similar_height(last, word.box)
        ]
        if not candidates:
            return
        first = first_word_of_run(part, min(candidates, key=lambda word: word.box.top))
        line = (first, *words_right_of(part, span_of_word(part, first)))
        yield tuple(word for word in line if word.box.left < edge)


def text_run_at(page: PageReading, span: TextSpan) -> tuple[Word, ...]:
    """Return the words around a span that are separated by no more space than in running text."""
    words = [first_word_of_run(page, page.words[span.start])]
    for word in words_right_of(page, span_of_word(page, words[0])):
        if not is_followed_by(words[-1].box, word.box):
            break
        words.append(word)
    return tuple(words)


def first_word_of_run(page: PageReading, word: Word) -> Word:
    """Return the first word of the run of words that a word belongs to."""
    words = page.words[:]
    while before := next(_words_before(words, word.box), None):
        word = before
    return word


def _words_before(words: Sequence[Word], box: Box) -> Iterator[Word]:
    """Yield the words that a box comes next to on the line."""
    # Most words are not near, so this is found out without a call for each word of the page.
    left, widest = box.left, _max_space_before(box)
    for word in words:
        if -2 <= left - word[1][2] < widest and is_followed_by(word.box, box):
            yield word


def _max_space_before(box: Box) -> float:
    """Return the space in running text before a box. It grows with the type."""
    return max(_MIN_CAPTION_GAP, _MAX_SPACE * (box.bottom - box.top))


def span_of_word(page: PageReading, word: Word) -> TextSpan:
    """Return the span of one of the page's own word objects."""
    start = next(number for number, each in enumerate(page.words) if each is word)
    return TextSpan(word.box, word.confidence, start, start + 1)


def has_no_text_before(page: PageReading, span: TextSpan) -> bool:
    """Return whether nothing but a number, as in "11. Signature", is joined to it on its left."""
    before = _words_before(page.words[:], span.box)
    return all(re.fullmatch(r"\W*\d*\W*", word.text) for word in before)


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
    is_near = -2 <= right.left - left.right < _max_space_before(right)
    return is_near and is_on_same_line(left, right) and left.left < right.left


def bounding_box(words: Iterable[Word]) -> Box:
    """Return the smallest box that contains all words."""
    return results.bounding_box(word.box for word in words)


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
    smaller, larger = sorted((one.bottom - one.top, other.bottom - other.top))
    return larger <= max(3 * smaller, _MAX_SMALL_PRINT_HEIGHT)
