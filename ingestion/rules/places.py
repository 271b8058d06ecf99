"""Where words stand on a page, and what stands beside them: points from the top left, y downwards.

Text alone does not tell which value belongs to a caption: a scan's columns may be read one
after the other. So values are looked for by place, behind a caption and below it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingestion.reading.facts import Box, Page, Word
from ingestion.rules import wording

_AROUND = " .,:;()[]#*_'\"-\u2013"  # what may hang on to a word
_BELOW = 30.0  # points below a caption within which its value begins
_ASIDE = 20.0  # points by which that value may begin further left
_APART = 8.0  # points of white between a caption and what does not belong to it


@dataclass(frozen=True, slots=True)
class Place:
    """Some of a page's words, from `start` to before `end`."""

    box: Box
    confidence: float  # of the worst of its words
    start: int
    end: int


def occurrences(page: Page, phrase: str) -> Iterator[Place]:
    """Wherever these words stand, whatever their case, punctuation and likely misreadings.

    A scan's words may be run together or torn apart: letters are counted, not words.
    """
    pattern, length = wording.phrase(phrase), len(wording.bare(phrase))
    if not pattern.search(page.text):
        return
    for start in range(len(page.words)):
        end = _reach(page.words, start, length)
        words = page.words[start:end]
        if words and pattern.fullmatch(" ".join(word.text for word in words).strip(_AROUND)):
            yield Place(around(words), min(word.confidence for word in words), start, end)


def behind(page: Page, place: Place) -> tuple[Word, ...]:
    """The words to the right on the same line, which may run a little askew."""
    line: list[Word] = []
    last = page.words[place.end - 1].box
    rest = sorted((word for word in page.words), key=lambda word: word.box.left)
    for word in rest:
        if word.box.left > last.right - 1 and same_line(last, word.box):
            line.append(word)
            last = word.box
    return tuple(line)


def below(page: Page, place: Place) -> tuple[Word, ...]:
    """The words of the next line down that begin under the caption or right of it."""
    box = place.box
    under = [
        word
        for word in page.words
        if box.left - _ASIDE < word.box.left
        and box.bottom - 2 < (word.box.top + word.box.bottom) / 2 < box.bottom + _BELOW
    ]
    if not under:
        return ()
    first = min(under, key=lambda word: (round(word.box.top / 4), word.box.left))
    start = next(at for at, word in enumerate(page.words) if word is first)
    return (first, *behind(page, Place(first.box, first.confidence, start, start + 1)))


def is_apart(page: Page, place: Place) -> bool:
    """Nothing follows closely on the same line, or a colon ends it: a caption, not a sentence."""
    line = behind(page, place)
    ends = page.words[place.end - 1].text.endswith(":")
    return ends or not line or line[0].box.left - place.box.right > _APART


def around(words: Sequence[Word]) -> Box:
    return Box(
        min(word.box.left for word in words),
        min(word.box.top for word in words),
        max(word.box.right for word in words),
        max(word.box.bottom for word in words),
    )


def distance(one: Box, other: Box) -> float:
    """Between their left ends; a line up or down counts more than a step to the side."""
    return abs(one.left - other.left) + 4 * abs(one.top - other.top)


def touches(one: Box, other: Box) -> bool:
    return (
        one.left < other.right
        and other.left < one.right
        and one.top < other.bottom
        and other.top < one.bottom
    )


def same_line(one: Box, other: Box) -> bool:
    """Whether the middle of either lies within the height of the other."""
    return one.top < (other.top + other.bottom) / 2 < one.bottom or (
        other.top < (one.top + one.bottom) / 2 < other.bottom
    )


def _reach(words: Sequence[Word], start: int, length: int) -> int:
    """Behind the word with which the letters from `start` on come to this length."""
    end, letters = start, len(wording.bare(words[start].text))
    if not letters:
        return start
    while letters < length and end + 1 < len(words):
        end += 1
        letters += len(wording.bare(words[end].text))
    return end + 1
