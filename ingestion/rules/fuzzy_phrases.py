"""Finds printed phrases in text that OCR may have misread.

Letter case, spacing and punctuation never matter. Letters that OCR confuses are equal: 0 and O;
1, I and l; 5 and S; rn and m. This module is pure and does not know document types.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import compress
from operator import add
from typing import NamedTuple

from rapidfuzz import fuzz, process

# U+2000 to U+203F in UTF-8. On most pages, all signs that are not ASCII are among them.
GENERAL_PUNCTUATION = re.compile(rb"\xe2\x80.", re.DOTALL)

_LOOKALIKES = {
    "o": "o0",
    "0": "0oq",
    "i": "il1|!",
    "l": "l1i|!",
    "1": "1il|!",
    "s": "s5$",
    "5": "5s",
    "b": "b8",
    "8": "8b",
    "z": "z2",
}
_LOOKALIKE_PAIRS = {"m": "rn", "w": "vv"}
_OTHER_CASES = {"i": "\u0130\u0131", "s": "\u017f", "k": "\u212a"}  # besides the capital
_DIGITS = str.maketrans("OoQDIl|!SsBZz", "0000111155822")
# For each byte of UTF-8: its letter as `fold_letters` writes it, or a blank between words. To
# translate bytes is much faster than to translate a text that is not ASCII.
_BETWEEN_WORDS = re.sub(rb"[\w\n]", b"", bytes(range(128)))
_FOLDED_BYTES = bytes.maketrans(
    _BETWEEN_WORDS + b"0qi1|!5$82", b" " * len(_BETWEEN_WORDS) + b"oollllssbz"
)
_SIGNS_FOR_LETTERS = re.compile(r"[|!$]")  # they may also stand between words
_ACCENTS = re.compile("[\u0300-\u036f]")  # as Unicode separates them from their letters
# Characters of scripts whose texts have no spaces, and those of Korean
_UNSPACED = re.compile("[\u0e00-\u0e7f\u1100-\u11ff\u3041-\u30fe\u3400-\u9fff\uac00-\ud7a3]")
_PUNCTUATION = re.compile(r"[\W_]+")
_MIN_SIMILARITY = 0.86  # ratio of difflib; it allows about one wrong letter in seven
_MIN_FUZZY_LETTERS = 12  # letters; a shorter phrase resembles too many others
_NO_WORD = "\n"  # no phrase contains it
_MAX_LENGTH_DIFFERENCE = 2  # letters by which a misread phrase may be longer or shorter


@lru_cache(maxsize=8192)
def compile_phrase(text: str) -> re.Pattern[str]:
    """Return a pattern for the phrase as whole words. Apostrophes may be missing or curly."""
    words = re.findall(r"\w+", text.casefold())
    body = r"[\W_]*".join(map(_pattern_of_word, words))
    flags = 0 if body.isascii() or text.isascii() else re.IGNORECASE
    first = words[0][0] if words else ""
    end = "" if is_unspaced(words[-1][-1:] if words else "") else r"(?!\w)"
    if is_unspaced(first):
        return re.compile(f"{body}{end}", flags)
    if first and first not in _LOOKALIKE_PAIRS:
        # The search for one of some characters is fast, unless something is looked for before it.
        start = _pattern_of_letter(first)
        return re.compile(rf"{start}(?<!\w{start}){body[len(start) :]}{end}", flags)
    return re.compile(rf"(?<!\w){body}{end}", flags)


def is_unspaced(sign: str) -> bool:
    """Return whether a character may stand in a text without spaces between words.

    Korean has spaces, but particles are attached to its words.
    """
    return sign >= "\u0e00" and _UNSPACED.match(sign) is not None


def _pattern_of_word(word: str) -> str:
    """Return a pattern for a word. A line may end within one of a language without spaces."""
    letters = list(map(_pattern_of_letter, word))
    return (r"\s*" if is_unspaced(word[0]) else "").join(letters)


def _pattern_of_letter(letter: str) -> str:
    """Return a pattern for a letter in both cases, and for what OCR may read instead.

    It lists both cases, because a search that ignores the case is much slower.
    """
    if letter in _LOOKALIKE_PAIRS:
        pair = "".join(map(_both_cases, _LOOKALIKE_PAIRS[letter]))
        return f"(?:{_both_cases(letter)}|{pair})"
    if letter in _LOOKALIKES or letter.isascii():
        return _both_cases(_LOOKALIKES.get(letter, letter))
    plain = unicodedata.normalize("NFD", letter)[0]  # capitals are often printed without accents
    return _both_cases(letter if plain == letter else letter + _LOOKALIKES.get(plain, plain))


def _both_cases(letters: str) -> str:
    cases = (f"{each}{each.upper()}{_OTHER_CASES.get(each, '')}" for each in letters)
    return f"[{''.join(dict.fromkeys(''.join(cases)))}]"


def contains_phrase(text: str, phrase: str) -> bool:
    """Return whether the phrase occurs in the text. The usual case, that it does not, is fast."""
    return may_contain_phrase(text, phrase) and bool(find_occurrences(text, phrase))


@lru_cache(maxsize=1024)
def find_occurrences(text: str, phrase: str) -> tuple[tuple[int, int], ...]:
    """Return where each occurrence of the phrase in the text begins and ends.

    The same phrases are searched on the same page for several fields, types and checks.
    """
    return tuple(match.span() for match in compile_phrase(phrase).finditer(text))


def may_contain_phrase(text: str, phrase: str) -> bool:
    """Return False if the phrase occurs neither in the text nor in any part of it."""
    return fold_letters(phrase) in fold_page(text)


@lru_cache(maxsize=16_384)
def fold_letters(text: str) -> str:
    """Return the text without blanks, with one letter for all that `compile_phrase` confuses."""
    return _fold_signs(text).replace("\n", "").replace(" ", "")


def fold_words(words: Sequence[str]) -> list[str]:
    """Return `fold_letters` of each of many words, none of which contains a line break."""
    return _fold_signs("\n".join(words)).replace(" ", "").split("\n") if words else []


def _fold_signs(text: str) -> str:
    """Return the letters of a text as `fold_letters` does, with blanks and line feeds."""
    signs = text.casefold().encode("utf-8", "surrogatepass").translate(_FOLDED_BYTES)
    folded = GENERAL_PUNCTUATION.sub(b" ", signs).decode("utf-8", "surrogatepass")
    if not folded.isascii():
        folded = unicodedata.normalize("NFD", folded)
        for sign in set(folded):  # to search for those that are no letters takes longer
            if not sign.isalnum() and sign not in "_ \n":
                folded = folded.replace(sign, "" if _ACCENTS.match(sign) else " ")
    return folded.replace("rn", "m").replace("vv", "w").replace("_", "")


@lru_cache(maxsize=1024)  # its own cache, so that pages do not displace the words of `fold_letters`
def fold_page(text: str) -> str:
    """Return the letters of a long text, as `fold_letters` does."""
    return _fold_page_signs(text).replace("\n", "").replace(" ", "")


@lru_cache(maxsize=64)
def _fold_page_signs(text: str) -> str:
    return _fold_signs(text)


def find_letters(text: str, wanted: frozenset[str]) -> set[str]:
    """Return those of many folded phrases that whole words of a text may be.

    `compile_phrase` finds no others. Few pairs of words are those with which phrases begin.
    """
    phrases = _list_beginnings(wanted)
    if _SIGNS_FOR_LETTERS.search(text):
        folded = _fold_signs(_SIGNS_FOR_LETTERS.sub(r" \g<0> ", text))
    else:
        folded = _fold_page_signs(text)
    words = folded.split()
    found = set(wanted.intersection(words))
    pairs = list(map(add, words, words[1:]))
    words.append(_NO_WORD)
    for start in compress(range(len(pairs)), map(phrases.beginnings.__contains__, pairs)):
        letters, end = pairs[start], start + 2
        while letters in phrases.beginnings:
            if letters in wanted:
                found.add(letters)
            letters += words[end]
            end += 1
    if not folded.isascii():
        joined = "".join(words)
        found.update([each for each in phrases.unspaced if each in joined])
    return found


class _PhraseBeginnings(NamedTuple):
    """The beginnings of folded phrases, from the first letter of each to all its letters."""

    beginnings: frozenset[str]
    unspaced: Sequence[str]  # phrases that may begin or end within a text without spaces


@lru_cache(maxsize=64)  # phrases of a language, of which there are several kinds
def _list_beginnings(phrases: frozenset[str]) -> _PhraseBeginnings:
    unspaced = [each for each in phrases if is_unspaced(each[:1]) or is_unspaced(each[-1:])]
    beginnings = (
        each[:length] for each in phrases.difference(unspaced) for length in range(1, len(each) + 1)
    )
    return _PhraseBeginnings(frozenset(beginnings), unspaced)


def replace_by_digits(text: str) -> str:
    """Return the text with each letter that looks like a digit replaced by that digit."""
    return text.translate(_DIGITS)


def strip_punctuation(text: str) -> str:
    """Return only the letters and digits of the text, in lower case, to compare scanned words."""
    return _PUNCTUATION.sub("", text).casefold()


def remove_accents(text: str) -> str:
    """Return the text in lower case and without accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign))


def resembles_phrase(text: str, lines: Iterable[str]) -> bool:
    """Return whether a line contains nearly this phrase.

    The search is slow, so it is only for phrases that `compile_phrase` did not find. A phrase of
    fewer than 12 letters is never found.
    """
    wanted = strip_punctuation(text)
    if len(wanted) < _MIN_FUZZY_LETTERS:
        return False
    word_count = len(text.split())
    for line in lines:
        words = _stripped_words(line)
        for start in range(max(1, len(words) - word_count + 1)):
            candidate = "".join(words[start : start + word_count])
            if abs(len(wanted) - len(candidate)) > _MAX_LENGTH_DIFFERENCE:
                continue
            # The similarity of rapidfuzz is an upper bound of that of difflib, and much faster.
            if (
                fuzz.ratio(candidate, wanted) >= 100 * _MIN_SIMILARITY
                and SequenceMatcher(None, candidate, wanted, autojunk=False).ratio()
                >= _MIN_SIMILARITY
            ):
                return True
    return False


def find_similar_phrases(phrases: tuple[str, ...], lines: Iterable[str]) -> set[tuple[str, str]]:
    """Return the pairs of a phrase and a line that contains nearly this phrase.

    It compares as `resembles_phrase` does, but many phrases at once.
    """
    windows: dict[int, dict[str, set[str]]] = {}  # the lines by their groups of so many words
    for line in lines:
        words = _stripped_words(line)
        for count in _by_word_count(phrases):
            for start in range(max(1, len(words) - count + 1)):
                candidate = "".join(words[start : start + count])
                windows.setdefault(count, {}).setdefault(candidate, set()).add(line)
    pairs = set()
    for count, group in windows.items():
        wanted, candidates = _by_word_count(phrases)[count], list(group)
        scores = process.cdist(
            [letters for _, letters in wanted], candidates, score_cutoff=100 * _MIN_SIMILARITY
        )
        for row, column in zip(*scores.nonzero(), strict=True):
            (phrase, _), candidate = wanted[row], candidates[column]
            pairs |= {
                (phrase, line) for line in group[candidate] if resembles_phrase(phrase, (line,))
            }
    return pairs


@lru_cache(maxsize=8)
def _by_word_count(phrases: tuple[str, ...]) -> dict[int, list[tuple[str, str]]]:
    """Return the phrases that are long enough to be misread, with their letters."""
    groups: dict[int, list[tuple[str, str]]] = {}
    for phrase in dict.fromkeys(phrases):
        letters = strip_punctuation(phrase)
        if len(letters) >= _MIN_FUZZY_LETTERS:
            groups.setdefault(len(phrase.split()), []).append((phrase, letters))
    return groups


@lru_cache(maxsize=4096)
def _stripped_words(line: str) -> tuple[str, ...]:
    return tuple(map(strip_punctuation, line.split()))
