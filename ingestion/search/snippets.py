"""Shows the words of a page around the matches of a query, and where they are on the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ingestion.reading.provenance import PlacedWord
from ingestion.reading.results import Box
from ingestion.search.query import Expression, Phrase, iter_phrases
from ingestion.search.tokens import Token, tokenise

MAX_SNIPPET_WORDS = 32
WORDS_BEFORE = 8  # before the first match of a snippet
MAX_WORD_CHARACTERS = 60  # of a word in a snippet; the rest is left out


@dataclass(frozen=True, slots=True)
class SnippetPart:
    """A part of a snippet, which is a match or is not."""

    text: str
    is_match: bool


@dataclass(frozen=True, slots=True)
class FoundWords:
    """The matches on a page: their positions in its words, and the words."""

    words: Sequence[PlacedWord]
    positions: frozenset[int]

    @property
    def boxes(self) -> list[Box]:
        """Return the places of the matches on the page, in reading order."""
        return [box for at in sorted(self.positions) if (box := self.words[at].box)]

    @property
    def snippet(self) -> list[SnippetPart]:
        """Return the words around the first matches, of which neighbours are joined."""
        if not self.words:
            return []
        first = min(self.positions, default=0)
        start = max(0, first - WORDS_BEFORE)
        end = min(len(self.words), start + MAX_SNIPPET_WORDS)
        parts: list[SnippetPart] = []
        for at in range(start, end):
            text, is_match = self.words[at].text[:MAX_WORD_CHARACTERS], at in self.positions
            if parts and parts[-1].is_match == is_match:
                parts[-1] = SnippetPart(f"{parts[-1].text} {text}", is_match)
            else:
                parts.append(SnippetPart(text, is_match))
        if start:
            parts.insert(0, SnippetPart("…", False))
        if end < len(self.words):
            parts.append(SnippetPart("…", False))
        return parts


def find_words(words: Sequence[PlacedWord], expression: Expression) -> FoundWords:
    """Return the words that match any phrase of an expression."""
    tokens = tokenise(words)
    places: dict[str, list[int]] = {}  # of each token
    for at, token in enumerate(tokens):
        places.setdefault(token.text, []).append(at)
    positions: set[int] = set()
    for phrase in iter_phrases(expression):
        positions |= _find_phrase(tokens, places, phrase)
    return FoundWords(words, frozenset(positions))


def _find_phrase(
    tokens: Sequence[Token], places: Mapping[str, Sequence[int]], phrase: Phrase
) -> set[int]:
    """Return the positions of the words of each place where a phrase is.

    `places` are those of each token in `tokens`.
    """
    *others, last = phrase.tokens
    lasts = [text for text in places if text.startswith(last)] if phrase.is_prefix else [last]
    found: set[int] = set()
    for end in chain.from_iterable(places.get(text, ()) for text in lasts):
        start = end - len(others)
        if start >= 0 and all(tokens[start + n].text == token for n, token in enumerate(others)):
            for token in tokens[start : end + 1]:
                found.update(range(token.first, token.last + 1))
    return found
