"""Reads fields with several entries, such as the laboratories of Form FDA 1572.

The entries stand below a caption, one on each line. They end at one of the phrases that come next
on the form, or where no further line follows closely. One value contains all of them, joined by
SEPARATOR, so that it is stored and displayed like any other value.
"""

import re
from collections.abc import Iterator, Sequence

from ingestion.reading.results import PageReading, Word
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import geometry
from ingestion.rules.fields.geometry import TextSpan

SEPARATOR = "; "
Entry = tuple[str, Sequence[Word]]

NONE_ENTRY = "None"  # the value of a field that says that there are no entries

_NONE_WORDS = {"none", "na", "notapplicable"}
_BULLET = re.compile(r"^(?:\(?\d{1,2}[.)]|[-*\u2022\u25cf])\s+")


def read_entries_below(
    page: PageReading, caption: TextSpan, spec: FieldSpec, name_pattern: str
) -> list[Entry]:
    """Return the entries below a caption, each with the words of its line.

    `name_pattern` is a regular expression for the name of a person.
    """
    found: list[Entry] = []
    for line in geometry.lines_below(page, caption):
        text = " ".join(word.text for word in line)
        if any(fuzzy_phrases.contains_phrase(text, phrase) for phrase in spec.until):
            break
        found += [(entry, line) for entry in split_entries(text, spec, name_pattern)]
    return found


def split_entries(text: str, spec: FieldSpec, name_pattern: str) -> Iterator[str]:
    """Yield the entries of a line or of a form field; NONE_ENTRY for a word like "N/A"."""
    for part in re.split(r"[;\r\n]+", text):
        entry = _BULLET.sub("", part.strip()).strip(" ,")
        if fuzzy_phrases.strip_punctuation(entry) in _NONE_WORDS:
            yield NONE_ENTRY
        elif spec.kind == "lines" and any(sign.isalnum() for sign in entry):
            yield entry
        elif spec.kind == "names" and (match := re.match(name_pattern, entry)):
            yield match[0].strip(" ,")


def join_entries(entries: Sequence[str]) -> str:
    """Return the value of a field: each entry once, in order."""
    return SEPARATOR.join(dict.fromkeys(entries))
