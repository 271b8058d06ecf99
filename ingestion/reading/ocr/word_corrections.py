"""Corrects what OCR reads from rules, check boxes and signatures, which are no words.

Engines read the vertical rule of a table, or a piece of it on a fax, as a narrow letter or sign
("|", "j", "("), and the English word "I" as a rule. They split an e-mail address at its sign.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from statistics import median

from ingestion.reading.languages import ENGLISH, UNKNOWN
from ingestion.reading.results import Box, Word

from .engines import MIN_WORD_CONFIDENCE, OcrWord

MAX_BAR_WIDTH = 0.4  # of a narrow letter or sign, in its own height
# In the median height of the words of a page. A piece of a rule is shorter or taller than a letter.
MIN_LETTER_HEIGHT, MAX_LETTER_HEIGHT = 0.65, 1.5
MAX_PRINT_HEIGHT = 4.0  # in the same unit, of a word that the engine is unsure of
MAX_CHECK_BOX_CHARACTERS = 3  # of a word that was read from a check box
MIN_BARS_PER_RULE = 3  # of letter height, above each other
MAX_WORD_GAP = 1.0  # between "I" or a part of an address and the next word, in its height

_RULES = frozenset("|¦_")
_BARS = frozenset("!lijJI()[]{}")
_PRONOUNS = frozenset("|¦[]{}JTl!")  # how "I" is misread
# A "1" is the pronoun only before a verb that no number can precede, and at the beginning of a
# sentence also before others.
_VERBS_OF_PRONOUN = frozenset(
    ("acknowledge", "agree", "certify", "confirm", "consent", "declare", "have")
)
_VERBS_AT_BEGINNING = frozenset(("am", "shall", "understand", "undertake", "was", "will"))
_DIGIT = re.compile(r"\d")
_DIGIT_OR_LETTER = re.compile(r"[^\W_]")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+[.,;)]?")


def correct_words(words: Sequence[OcrWord], language: str) -> list[OcrWord]:
    """Return the words of a page in `language`, without pieces of rules and uncertain signs."""
    if not words:
        return []
    usual_height = median(word.height for word in words)
    may_be_pronoun = language in (ENGLISH, UNKNOWN)
    rules = [_middle(word) for word in words if _RULES.issuperset(word.text)]
    corrected: list[OcrWord] = []
    for _, group in groupby(words, key=lambda word: word.line):
        line = list(group)
        kept: list[OcrWord] = []
        for word, following in zip(line, [*line[1:], None], strict=True):
            before = kept[-1] if kept else corrected[-1] if corrected else None
            if may_be_pronoun and _is_pronoun(before, word, following, usual_height):
                kept.append(replace(word, text="I"))
            elif not (_is_noise(word, usual_height) or _is_part_of_rule(word, rules)):
                kept.append(_without_bars(word))
        corrected += _join_addresses(kept)
    return corrected


def drop_drawn_words(words: Sequence[OcrWord], dpi: float, squares: Sequence[Box]) -> list[OcrWord]:
    """Return the words without what was read from handwriting and from empty check boxes.

    `squares` are the boxes of the check boxes, in points. A word with a digit remains, because it
    may be a date written by hand.
    """
    usual_height = median(word.height for word in words) if words else 0.0
    return [
        word
        for word in words
        if not _is_handwriting(word, usual_height)
        and not (squares and _is_check_box(word.to_word(dpi), squares))
    ]


def _is_handwriting(word: OcrWord, usual_height: float) -> bool:
    return (
        word.height > MAX_PRINT_HEIGHT * usual_height
        and word.confidence < MIN_WORD_CONFIDENCE
        and not _DIGIT.search(word.text)
    )


def _is_check_box(word: Word, squares: Sequence[Box]) -> bool:
    if len(word.text) > MAX_CHECK_BOX_CHARACTERS or (
        word.text.isalpha() and len(word.text) > 1 and word.confidence >= MIN_WORD_CONFIDENCE
    ):
        return False
    return any(
        square.contains_centre_of(word.box) and word.box.contains_centre_of(square)
        for square in squares
    )


def _is_narrow(word: OcrWord) -> bool:
    return len(word.text) == 1 and word.width <= MAX_BAR_WIDTH * word.height


def _has_height_of_letter(word: OcrWord, usual_height: float) -> bool:
    return MIN_LETTER_HEIGHT * usual_height <= word.height <= MAX_LETTER_HEIGHT * usual_height


def _is_pronoun(
    before: OcrWord | None, word: OcrWord, following: OcrWord | None, usual_height: float
) -> bool:
    """Return whether a narrow sign is the English word "I": a word in small letters follows."""
    return (
        following is not None
        and (word.text in _PRONOUNS or (word.text == "1" and _is_verb(before, following)))
        and following.text.isalpha()
        and following.text.islower()
        and following.left - word.left - word.width <= MAX_WORD_GAP * following.height
        and _is_narrow(word)
        and _has_height_of_letter(word, usual_height)
    )


def _is_verb(before: OcrWord | None, following: OcrWord) -> bool:
    """Return whether a word is a verb that follows the pronoun, and no number, after `before`."""
    begins_sentence = before is not None and before.text.endswith(".")
    return following.text in _VERBS_OF_PRONOUN or (
        begins_sentence and following.text in _VERBS_AT_BEGINNING
    )


def _is_noise(word: OcrWord, usual_height: float) -> bool:
    """Return whether a word is a piece of a rule, or a sign that the engine is unsure of."""
    has_height_of_letter = _has_height_of_letter(word, usual_height)
    is_certain = word.confidence >= MIN_WORD_CONFIDENCE
    if not _DIGIT_OR_LETTER.search(word.text):
        return not is_certain or (_RULES.issuperset(word.text) and not has_height_of_letter)
    return (
        word.text in _BARS
        and _is_narrow(word)
        and not (word.text == "I" and has_height_of_letter)
        and not (is_certain and has_height_of_letter)
    )


def _is_part_of_rule(word: OcrWord, rules: Sequence[float]) -> bool:
    """Return whether a vertical bar is above or below others, whose middles are `rules`."""
    if not _RULES.issuperset(word.text):
        return False
    near = sum(abs(middle - _middle(word)) <= word.height for middle in rules)
    return near >= MIN_BARS_PER_RULE


def _middle(word: OcrWord) -> float:
    return word.left + word.width / 2


def _without_bars(word: OcrWord) -> OcrWord:
    """Return a word without the rule of a table that was read at its edge."""
    text = word.text.strip("|¦")
    return replace(word, text=text) if text and text != word.text else word


def _join_addresses(line: Sequence[OcrWord]) -> Iterator[OcrWord]:
    """Yield the words of a line, with the parts of each e-mail address as one."""
    if not any("@" in word.text for word in line):
        yield from line
        return
    start = 0
    while start < len(line):
        end = next((end for end in (start + 3, start + 2) if _is_address(line[start:end])), 0)
        yield _joined(line[start:end]) if end else line[start]
        start = end or start + 1


def _is_address(parts: Sequence[OcrWord]) -> bool:
    """Return whether two or three words are an address that was split before or after its sign."""
    joined = "".join(part.text for part in parts)
    is_split_at_sign = any(
        first.text.endswith("@") or second.text.startswith("@") for first, second in pairwise(parts)
    )
    return (
        is_split_at_sign
        and bool(_ADDRESS.fullmatch(joined))
        and all(
            second.left - first.left - first.width
            <= MAX_WORD_GAP * max(first.height, second.height)
            for first, second in pairwise(parts)
        )
    )


def _joined(parts: Sequence[OcrWord]) -> OcrWord:
    left, top = min(part.left for part in parts), min(part.top for part in parts)
    right = max(part.left + part.width for part in parts)
    bottom = max(part.top + part.height for part in parts)
    text = "".join(part.text for part in parts)
    confidence = min(part.confidence for part in parts)
    return OcrWord(text, confidence, left, top, right - left, bottom - top, parts[0].line)
