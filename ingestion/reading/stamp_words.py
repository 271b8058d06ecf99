"""Recognises the words of stamps: which phrases are stamps, and how a line of one looks.

Each phrase is also an ordinary word ("a copy of this form", "void where prohibited"). A phrase
counts only in a line that says hardly anything else. Whether such a line is a stamp depends on its
size, its angle and its colour, which the callers measure.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from .results import AddedMarkKind

_VOID, _SUPERSEDED, _DRAFT, _COPY, _RECEIVED, *_ = AddedMarkKind

STAMP_PHRASES: Mapping[str, AddedMarkKind] = MappingProxyType(
    {
        "null and void": _VOID,
        "void": _VOID,
        "voided": _VOID,
        "cancelled": _VOID,
        "canceled": _VOID,
        "superseded": _SUPERSEDED,
        "obsolete": _SUPERSEDED,
        "no longer valid": _SUPERSEDED,
        "draft": _DRAFT,
        "not final": _DRAFT,
        "not approved": _DRAFT,
        "sample": _DRAFT,
        "copy": _COPY,
        "photocopy": _COPY,
        "duplicate": _COPY,
        "received": _RECEIVED,
        "not for use": _VOID,
        "do not use": _VOID,
    }
)
# Words that a stamp may contain beside its phrase, as in "DRAFT - NOT FOR USE" or "TRUE COPY".
_OTHER_WORDS = frozenset({
    "a", "and", "are", "by", "certified", "confidential", "controlled", "copy", "date", "document",
    "dated", "do", "file", "final", "for", "form", "in", "irb", "is", "no", "not", "of", "office",
    "on", "only", "original", "page", "photocopy", "record", "review", "scan", "the", "this",
    "time", "true", "uncontrolled", "use", "valid", "version", "jan", "feb", "mar", "apr", "may",
    "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "january", "february", "march",
    "april", "june", "july", "august", "september", "october", "november", "december",
})  # fmt: skip
MAX_STAMP_WORDS = 7
_WORD = re.compile(r"[^\W\d_]+")
_NOT_LETTERS = re.compile(r"[\W\d_]+")
# Beginnings of the phrases as stamps write them: in capitals, or with one capital letter.
_BEGINNINGS = tuple(
    written
    for phrase in (
        "void",
        "cancel",
        "supersede",
        "obsolete",
        "no longer",
        "draft",
        "not final",
        "not approved",
        "null and",
        "sample",
        "copy",
        "photocopy",
        "duplicate",
        "received",
        "not for use",
        "do not use",
    )
    for written in (phrase.upper(), phrase.capitalize())
) + tuple(" ".join(word) for word in ("VOID", "DRAFT", "COPY", "SUPERSEDED", "RECEIVED"))
_FIRST_WORDS = frozenset(phrase.split()[0] for phrase in STAMP_PHRASES)
# Letters may be spaced, as in "D R A F T".
_ANY_PHRASE = re.compile(
    "|".join(r"\s{0,2}".join(phrase.replace(" ", "")) for phrase in STAMP_PHRASES), re.IGNORECASE
)


class StampLine(NamedTuple):
    """A line of text that may be a stamp."""

    kind: AddedMarkKind
    phrase: str  # as printed, without spaces between letters
    is_capital: bool  # whether all letters of the line are capitals


def may_contain_stamp(text: str) -> bool:
    """Return whether a text contains a phrase, which is usually part of a sentence."""
    return any(beginning in text for beginning in _BEGINNINGS)


def find_phrases(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a phrase begins and ends in a text, unless its first letter is small."""
    for match in _ANY_PHRASE.finditer(text):
        if match[0][0].isupper():
            yield match.span()


def read_stamp_line(line: str) -> StampLine | None:
    """Return the stamp that a line consists of, or None.

    Beside the phrase, the line may contain digits and a few words that are usual on stamps.
    """
    letters = _NOT_LETTERS.sub("", line)
    if not letters:
        return None
    is_capital = letters.isupper()
    spaced = letters.casefold()
    if spaced in STAMP_PHRASES:  # also "D R A F T"
        return StampLine(STAMP_PHRASES[spaced], letters.upper(), is_capital)
    words = [word.casefold() for word in _WORD.findall(line)]
    if len(words) > MAX_STAMP_WORDS or _FIRST_WORDS.isdisjoint(words):
        return None
    for phrase, kind in STAMP_PHRASES.items():
        parts = phrase.split()
        for start in range(len(words) - len(parts) + 1):
            others = [*words[:start], *words[start + len(parts) :]]
            if words[start : start + len(parts)] == parts and _OTHER_WORDS.issuperset(others):
                return StampLine(kind, phrase.upper(), is_capital)
    return None
