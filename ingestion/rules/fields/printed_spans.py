"""Lists the texts of a document that may be a name of a committee, an institution or a course.

Such a value is a span: some words in the order of the text, over one or more lines. The model of
values (`value_model`) ranks first where it may begin, and then where it may end. Both have features
of the words around that place, like the candidates of `printed_candidates`.

This module is pure. It does not know document types.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ingestion.reading.results import PageReading

MAX_PAGES = 1  # of a document whose words are listed
MAX_WORDS = 1_500  # of a document
MAX_LENGTH = 45  # words of a span
_SIGNS = ".,;:()[]\"'*\u2018\u2019\u201c\u201d"
_OPENING, _ENDING = '(["\u2018\u201c', '.,;:)]"\u201d'
_BREAKS = ':;,.-)]|"\u2013\u2014\u201d'  # signs behind which a span may begin
_DASHES = "-|\u2013\u2014"
_LENGTHS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 28, 36)  # words
_BODY = re.compile(
    r"committee|board|irb|university|hospital|college|institute|centre|center|commission"
)
_SENTENCE_INSIDE = re.compile(r"[.?!]\s+[A-Z]")
_CHARACTERS_PER_STEP, _LINES_PER_STEP, _WORDS_PER_STEP = 10, 3, 2


@dataclass(frozen=True, slots=True)
class PrintedWord:
    """A word in the text of a document."""

    text: str
    folded: str  # without signs around it, in small letters
    shape: str  # "low", "Cap", "CAP", "9", "a9" or "sign"
    line: int  # in `PrintedWords.lines`


class PrintedWords:
    """The words of the first pages of a document, in the order of the text."""

    def __init__(self, pages: Sequence[PageReading]) -> None:
        self.words: list[PrintedWord] = []
        self.lines: list[tuple[int, int]] = []  # the first word, and the one after the last
        self._places: list[tuple[int, int]] = []  # of each line: the page, and the line on it
        self._pages = pages[:MAX_PAGES]
        for number, page in enumerate(self._pages):
            for place, line in enumerate(page.text.split("\n")):
                start = len(self.words)
                for text in line.split()[: MAX_WORDS - start]:
                    folded = text.strip(_SIGNS).casefold() or text
                    self.words.append(PrintedWord(text, folded, _shape_of(text), len(self.lines)))
                if len(self.words) > start:
                    self.lines.append((start, len(self.words)))
                    self._places.append((number, place))

    def page_of(self, at: int) -> PageReading:
        """Return the page on which a word is printed."""
        return self._pages[self._places[self.words[at].line][0]]

    def text_of(self, start: int, end: int) -> str:
        """Return the text from one word to another one, without the signs around it."""
        text = " ".join([word.text for word in self.words[start : end + 1]])
        text = text.strip(' .,;:*"\u2018\u201c\u201d')
        return text[:-1] if text.endswith(")") and "(" not in text else text

    @cached_property
    def starts(self) -> list[int]:
        """The words with which a span may begin."""
        return [at for at in range(len(self.words)) if self._may_begin(at)]

    def ends_of(self, start: int) -> list[int]:
        """Return the words with which a span may end that begins with a word."""
        last = min(start + MAX_LENGTH, len(self.words))
        return [
            at
            for at in range(start, last)
            if self.page_of(at) is self.page_of(start) and self._may_end(at)
        ]

    def _may_begin(self, at: int) -> bool:
        word = self.words[at]
        if self._is_first(at) or word.text[0] in _OPENING:
            return True
        before = self.words[at - 1]
        return before.text[-1] in _BREAKS or (word.shape != "low" and before.shape[0] != "C")

    def _may_end(self, at: int) -> bool:
        word = self.words[at]
        if self._is_last(at) or word.text[-1] in _ENDING:
            return True
        after = self.words[at + 1]
        is_break = after.text[0] in _OPENING + _DASHES
        return is_break or (after.shape == "low" and word.shape != "low")

    def _is_first(self, at: int) -> bool:
        return self.lines[self.words[at].line][0] == at

    def _is_last(self, at: int) -> bool:
        return self.lines[self.words[at].line][1] == at + 1

    @cached_property
    def _lengths(self) -> list[int]:
        """The characters of each line."""
        return [
            sum(len(word.text) + 1 for word in self.words[first:end]) for first, end in self.lines
        ]

    def _fits_in_line_before(self, at: int) -> bool:
        """Return whether the first word of a line would have had space in the line before it."""
        before = self._lengths[self.words[at].line - 1]
        return before + len(self.words[at].text) < max(self._lengths)

    def features_of_start(self, at: int) -> frozenset[str]:
        """Return the features of a word with which a span may begin."""
        word = self.words[at]
        page, place = self._places[word.line]
        first, end = self.lines[word.line]
        following = self.words[at + 1].folded if at + 1 < len(self.words) else ""
        features = {
            f"page={page}",
            f"place={min(place // _LINES_PER_STEP, 12)}",
            f"shape={word.shape}",
            f"word={word.folded}",
            f"pair={word.folded} {following}",
            f"line={min((end - first) // _WORDS_PER_STEP, 8)}",
            *(f"ahead={each.folded}" for each in self.words[at : at + 9] if len(each.folded) > 2),
        }
        if word.text[0] in _OPENING:
            features.add(f"opening={word.text[0]}")
        if all(each.shape in {"CAP", "9", "sign"} for each in self.words[first:end]):
            features.add("capitals")
        return frozenset(features.union(self._features_before(at)))

    def _features_before(self, at: int) -> Iterator[str]:
        """Yield the features of the words before a word."""
        if at == 0:
            yield "first"
            return
        before, line = self.words[at - 1], self.words[at].line
        sign = before.text[-1] if not before.text[-1].isalnum() else ""
        if self._is_first(at):
            yield "line start"
            yield f"directly above={before.folded}"
            yield f"sign above={sign}"
            yield f"shape above={before.shape}"
            yield f"first above={self.words[self.lines[line - 1][0]].folded}"
            yield f"length above={min(self._lengths[line - 1] // _CHARACTERS_PER_STEP, 12)}"
            yield f"fits above={self._fits_in_line_before(at)}"
            yield from (f"above={each.folded}" for each in self.words[max(0, at - 4) : at])
            return
        first = self.lines[line][0]
        same = [each.folded for each in self.words[max(first, at - 6) : at]]
        yield f"directly before={before.folded}"
        yield f"pair before={' '.join(same[-2:])}"
        yield f"shape before={before.shape}{sign}"
        yield f"first={self.words[first].folded}"
        yield from (f"before={each}" for each in same)
        if sign in _BREAKS:
            yield f"sign before={sign}"
        if sign == ":":
            yield f"caption={' '.join(same[-3:])}"

    def features_of_end(self, start: int, at: int) -> frozenset[str]:
        """Return the features of a word with which a span may end that begins at `start`."""
        word, span = self.words[at], self.words[start : at + 1]
        text = " ".join([each.text for each in span])
        length = sum(step <= len(span) for step in _LENGTHS)
        features = {
            f"length={length}",
            f"lines={min(word.line - span[0].line, 6)}",
            f"word={word.folded}",
            f"shape={word.shape}",
            f"same shape={word.shape == span[0].shape}",
            f"open brackets={max(-1, min(1, text.count('(') - text.count(')')))}",
            *(f"in={each.folded}" for each in span[-6:]),
            *(f"has={each.folded}" for each in span if _BODY.fullmatch(each.folded)),
        }
        if word.text[-1] in _ENDING:
            features.add(f"sign={word.text[-1]}")
        if span[0].text[0] in '"\u201c':
            features.add(f"quoted={word.text.rstrip('.,')[-1:] in {chr(34), chr(0x201D)}}")
        if _SENTENCE_INSIDE.search(text):
            features.add("sentence inside")
        if ":" in text:
            features.add("colon inside")
        return frozenset(features.union(self._features_after(at)))

    def _features_after(self, at: int) -> Iterator[str]:
        """Yield the features of the words behind a word."""
        line = self.words[at].line
        if not self._is_last(at):
            after = self.words[at + 1]
            yield f"directly after={after.folded}"
            yield f"shape after={after.shape}"
            if after.text[0] in _OPENING + _DASHES:
                yield f"sign after={after.text[0]}"
            return
        yield "line end"
        yield f"length={min(self._lengths[line] // _CHARACTERS_PER_STEP, 12)} of line"
        if at + 1 == len(self.words):
            return
        first, end = self.lines[line + 1]
        below = self.words[first:end]
        yield f"below={below[0].folded}"
        yield f"pair below={' '.join([each.folded for each in below[:2]])}"
        yield f"shape below={below[0].shape}"
        yield f"line below={min(len(below) // _WORDS_PER_STEP, 8)}"
        yield f"fits below={self._fits_in_line_before(first)}"
        if any(each.text.endswith(":") for each in below[:6]):
            yield "caption below"


def _shape_of(text: str) -> str:
    """Return the form of a word."""
    plain = text.strip(_SIGNS)
    if not plain:
        return "sign"
    if plain.isdigit():
        return "9"
    if plain.isupper() and len(plain) > 1:
        return "CAP"
    if plain[0].isupper():
        return "Cap"
    return "a9" if any(map(str.isdigit, plain)) else "low"
