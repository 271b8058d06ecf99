"""Turns words into tokens: what is compared when documents are searched.

The same code runs before indexing and for queries, on every database, so that a token never
depends on the settings of a database. Case and accents are removed. Scripts that put no blanks
between words, such as Chinese, are indexed as pairs of neighbouring characters.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ingestion.reading.provenance import PlacedWord

MAX_TOKEN_CHARACTERS = 64  # the rest of a longer token is cut off
# Blocks of scripts without blanks between words: Thai, Lao, Myanmar, Khmer, Japanese, Chinese and
# Korean, whose words have blanks between them, but take particles without one.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
# Combining marks are part of the letters of many scripts, such as Thai and Devanagari.
_MARKS = "".join(
    re.escape(chr(code))
    for code in range(0x300, 0xFFFF)
    if unicodedata.category(chr(code)).startswith("M")
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_PIECE = re.compile(f"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])(?:[^\\W_]|[{_MARKS}]))+")
_ACCENTS = re.compile("[\u0300-\u036f]+")  # of Latin, Greek and Cyrillic letters
# Letters that do not consist of a base and an accent.
_LETTERS = str.maketrans(
    {
        "ł": "l",
        "ø": "o",
        "đ": "d",
        "ħ": "h",
        "\u0131": "i",
        "æ": "ae",
        "œ": "oe",
        "þ": "th",
        "ð": "d",
    }
)


_PUNCTUATION = ".,;:!?()[]\"'-/"  # at the beginning or the end of most words that have any


class Token(NamedTuple):
    """A token of a sequence of words, with the positions of the words that it comes from."""

    text: str
    first: int
    last: int


def fold(text: str) -> str:
    """Return a text without differences of case, accents and width."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = unicodedata.normalize("NFKC", _ACCENTS.sub("", decomposed))
    return plain.casefold().translate(_LETTERS)


def is_unspaced(token: str) -> bool:
    """Return whether a token is of a script without blanks between words."""
    return _IS_UNSPACED.match(token) is not None


def tokenise(words: Sequence[PlacedWord]) -> list[Token]:
    """Return the tokens of words in reading order.

    A word that is divided by a hyphen at the end of a line is also a token as a whole.
    """
    tokens: list[Token] = []
    run: list[tuple[str, int]] = []  # characters of an unspaced script, with their words
    for number, word in enumerate(words):
        folded = fold(word.text)
        bare = folded.strip(_PUNCTUATION)
        if bare.isascii() and bare.isalnum():  # most words
            tokens += _end_run(run) if run else ()
            tokens.append(Token(bare[:MAX_TOKEN_CHARACTERS], number, number))
        else:
            tokens += _tokenise_word(folded, number, run)
        is_divided = number and words[number - 1].text.endswith("-")
        if is_divided and (joined := _join_hyphenated(words[number - 1], word)):
            tokens.append(Token(joined, number - 1, number))
    return [*tokens, *_end_run(run)]


def _tokenise_word(folded: str, number: int, run: list[tuple[str, int]]) -> Iterator[Token]:
    """Yield the tokens of a word. The run of unspaced characters may go on in the next word."""
    end = 0  # of the part of the word that was tokenised
    for match in _PIECE.finditer(folded):
        piece = match[0]
        is_run = is_unspaced(piece)
        if not is_run or match.start() > end:
            yield from _end_run(run)
        if is_run:
            run.extend((character, number) for character in piece)
        else:
            yield Token(piece[:MAX_TOKEN_CHARACTERS], number, number)
        end = match.end()
    if end < len(folded):
        yield from _end_run(run)


def tokenise_text(text: str) -> list[str]:
    """Return the tokens of a text without places, such as a part of a query."""
    return [token.text for token in tokenise([PlacedWord(word, None) for word in text.split()])]


def _end_run(run: list[tuple[str, int]]) -> Iterator[Token]:
    """Yield each pair of neighbouring characters, and the last character alone. Empties the run.

    So every character begins a token, and one character is found as the beginning of a token.
    """
    for (first, number), (second, next_number) in pairwise(run):
        yield Token(first + second, number, next_number)
    if run:
        last, number = run[-1]
        yield Token(last, number, number)
    run.clear()


def _join_hyphenated(before: PlacedWord, word: PlacedWord) -> str:
    """Return the word of which the part before a hyphen is at the end of a line, or ""."""
    if not word.text[:1].islower():
        return ""
    if before.box and word.box and word.box.left >= before.box.left:
        return ""  # they are in one line
    first, second = fold(before.text[:-1]), fold(word.text).strip(".,;:!?)]\u201d\"'")
    joined = first.lstrip("([\u201c\"'") + second
    return joined[:MAX_TOKEN_CHARACTERS] if first and second and joined.isalnum() else ""


def list_vocabulary(tokens: Iterable[str]) -> set[str]:
    """Return the tokens that a misspelt word may stand for.

    Numbers are left out, because a similar number is another number, and so are pairs of
    characters and very short words.
    """
    return {
        token
        for token in tokens
        if len(token) >= MIN_SIMILAR_CHARACTERS and not token.isdigit() and not is_unspaced(token)
    }


MIN_SIMILAR_CHARACTERS = 4  # of a word that is compared with similar ones
