"""The name of a course within a sentence, such as "completed a course in Good Clinical Practice".

The name is what stands between quotation marks, or the words with capital letters around a phrase
by which courses are known. This module is pure. It knows neither document types nor pages.
"""

import re
from collections.abc import Iterable, Sequence

from ingestion.reading.results import Word
from ingestion.rules import fuzzy_phrases

_IN_SENTENCE = re.compile(
    r"(?i)\b(?:ha(?:s|ve|ving)|complet(?:ed|ing)|attend(?:ed|ing)|certif(?:y|ies)|participated|passed"
    r"|instruction|(?:course|training|seminar|workshop|module|programme?) (?:in|on)"
    r"|the (?:course|training|module|workshop))\b"
)
_QUOTED = re.compile(r"[\u201c\"\u00ab](?P<text>[^\u201c\u201d\"\u00bb]{4,200})[\u201d\"\u00bb]")
_CONNECTING = frozenset({"of", "in", "for", "and", "the", "to", "on", "with", "&", "a", "an"})
_AROUND = 160  # characters before and after a phrase in which the name is searched


def in_sentence(text: str, phrase: str, words: Sequence[Word]) -> str:
    """Return the name of the course around a phrase, or "" if its line is not a sentence.

    `words` are those of the line in which the phrase stands.
    """
    if not _IN_SENTENCE.search(" ".join(word.text for word in words)):
        return ""
    line = " ".join(word.text for word in words)
    matches = fuzzy_phrases.compile_phrase(phrase).finditer(text)
    match = next((each for each in matches if _is_in_line(text, each, line)), None)
    if match is None:
        return ""
    start = max(0, match.start() - _AROUND)
    around = " ".join(text[start : match.end() + _AROUND].split())
    for quoted in _QUOTED.finditer(around):
        if fuzzy_phrases.contains_phrase(quoted["text"], phrase):
            return quoted["text"].strip(" ,;.")
    before = text[start : match.start()].rpartition("\n")[2].split()
    after = text[match.end() : match.end() + _AROUND].partition("\n")[0]
    kept_before = _named_words(reversed(before), ends_before=True)[::-1]
    kept_after = [] if after[:1].strip() else _named_words(after.split(), ends_before=False)
    name = " ".join([*kept_before, *match[0].split(), *kept_after]).strip(" ,;.")
    return name if any(sign.isupper() for sign in name) else ""


def _is_in_line(text: str, match: re.Match[str], line: str) -> bool:
    """Return whether the line of a text in which a match begins is a part of another text."""
    before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    return f"{before}{match[0].partition(chr(10))[0]}".strip() in line


def _named_words(words: Iterable[str], *, ends_before: bool) -> list[str]:
    """Return the words that belong to a name, up to a small word or the end of a clause."""
    kept: list[str] = []
    for word in words:
        has_end = word.endswith((",", ";", ":", "."))
        if ends_before and has_end:
            break
        is_small = word in _CONNECTING and (ends_before or word != "the")
        if not (word[0].isupper() or word[0].isdigit() or is_small or word[0] == "("):
            break
        kept.append(word)
        if has_end:
            break
    while kept and kept[-1] in _CONNECTING:
        kept.pop()
    return kept
