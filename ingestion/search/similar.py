"""Finds words of the index that look like a word of a query, because one of them may be misread.

All words that differ by one letter, or by one confusion of an OCR engine, are looked up by name.
Words that differ more, and words that contain the word because blanks between words were lost, are
found by their trigrams (PostgreSQL: pg_trgm; SQLite: FTS5).

The words come from all indexed pages, also from those that the person may not see. They are used in
queries only, and never shown.
"""

from collections.abc import Iterable

from django.db import connection
from rapidfuzz.distance import Levenshtein

from ingestion.search import indexes
from ingestion.search.tokens import MIN_SIMILAR_CHARACTERS

MAX_SIMILAR_WORDS = 60  # of one word, without those that differ by one letter
MIN_TWO_ERROR_CHARACTERS = 7  # of a word that may differ by two letters
MIN_CONTAINED_CHARACTERS = 6  # of a word that is also found within longer ones
_DIGITS_IN_WORDS = "0156892"  # digits that an OCR engine reads in the place of letters
_ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ",
    "αβγδεζηθικλμνξοπρσςτυφχψω",
)
# What OCR engines confuse, in both directions.
_CONFUSIONS = (
    ("rn", "m"), ("ri", "n"), ("cl", "d"), ("vv", "w"), ("ii", "u"), ("li", "h"), ("nn", "m"),
    ("0", "o"), ("1", "l"), ("1", "i"), ("5", "s"), ("8", "b"), ("6", "b"), ("9", "g"),
    ("2", "z"), ("fi", "h"), ("tt", "it"), ("iii", "m"), ("lc", "k"), ("ni", "m"),
)  # fmt: skip
_LOOKALIKES = str.maketrans("0156892", "olsbbgz")


def find_similar(word: str) -> list[str]:
    """Return words of the index that may be the same word, the nearest first."""
    if len(word) < MIN_SIMILAR_CHARACTERS:
        return []
    near = indexes.find_known(_vary(word))
    far: list[tuple[int, str]] = []
    if len(word) >= MIN_TWO_ERROR_CHARACTERS and indexes.has_trigrams():
        candidates = indexes.find_by_trigrams(connection, word) - near
        limit = 2
        far += [
            (distance, other)
            for other in candidates
            if (distance := measure_distance(word, other, limit)) <= limit
        ]
    if len(word) >= MIN_CONTAINED_CHARACTERS and indexes.has_trigrams():
        known = near | {other for _, other in far}
        longer = indexes.find_containing(connection, word) - known
        far += [(len(other), other) for other in longer]
    near = {other for other in near if is_alike(word, other)}
    near.discard(word)
    return [*sorted(near), *(other for _, other in sorted(far)[:MAX_SIMILAR_WORDS])]


def _vary(word: str) -> set[str]:
    """Return all words that differ by one letter or by one confusion, with lookalikes of digits."""
    letters = next((each for each in _ALPHABETS if any(c in each for c in word)), _ALPHABETS[0])
    letters += _DIGITS_IN_WORDS
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    varied = {before + after[1:] for before, after in cuts if after}
    varied |= {before + after[1] + after[0] + after[2:] for before, after in cuts if len(after) > 1}
    varied |= {before + c + after[1:] for before, after in cuts if after for c in letters}
    varied |= {before + c + after for before, after in cuts for c in letters}
    for pair in _CONFUSIONS:
        for old, new in (pair, pair[::-1]):
            varied |= {
                before + new + after[len(old) :] for before, after in cuts if after.startswith(old)
            }
    varied.add(word.translate(_LOOKALIKES))
    varied.discard(word)
    return varied


def is_alike(word: str, other: str) -> bool:
    """Return whether two words have the same digits, apart from those that look like letters.

    A number with another digit is another number, even within a word such as "ct1234".
    """
    return _list_digits(word, other) == _list_digits(other, word)


def _list_digits(word: str, other: str) -> list[str]:
    if any(c.isdigit() for c in word) and any(c.isdigit() for c in other):
        return [c for c in word.translate(_BACK) if c.isdigit()]
    return []


# Letters that an OCR engine reads in the place of digits, for words that have digits.
_BACK = str.maketrans("olisbgz", "0115892")


def measure_distance(word: str, other: str, limit: int) -> int:
    """Return how many letters have to be changed to make one word the other (Levenshtein).

    Letters that an OCR engine confuses count as the same if the result is smaller then. Returns
    `limit` + 1 if it is more than the limit, or if the words have other digits.
    """
    if not is_alike(word, other):
        return limit + 1
    pairs = ((word, other), (_merge(word), _merge(other)))
    return min(Levenshtein.distance(*pair, score_cutoff=limit) for pair in pairs)


def _merge(word: str) -> str:
    """Return a word in which letters that an OCR engine confuses are the same."""
    merged = word.translate(_LOOKALIKES).replace("rn", "m").replace("cl", "d").replace("vv", "w")
    return merged.replace("i", "l")


def find_all_similar(words: Iterable[str]) -> dict[str, list[str]]:
    """Return the similar words of each word."""
    return {word: find_similar(word) for word in words}
