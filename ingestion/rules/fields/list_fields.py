"""Entries beneath a caption, one on each line: the laboratories of a 1572, the names of a log.

A value holds them all, joined by SEPARATOR, so that it is kept and shown like any other. They end
at one of the phrases that come next on the form, or where nothing more follows closely.
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

NONE = "None"  # was written, and means that there are none

_NONE = {"none", "na", "notapplicable"}
_BULLET = re.compile(r"^(?:\(?\d{1,2}[.)]|[-*\u2022\u25cf])\s+")


def beneath(page: PageReading, place: TextSpan, spec: FieldSpec, name: str) -> list[Entry]:
    """`name`: the pattern of a person's name."""
    found: list[Entry] = []
    for line in geometry.lines_beneath(page, place):
        text = " ".join(word.text for word in line)
        if any(fuzzy_phrases.holds(text, phrase) for phrase in spec.until):
            break
        found += [(entry, line) for entry in entries(text, spec, name)]
    return found


def entries(text: str, spec: FieldSpec, name: str) -> Iterator[str]:
    """Those of a line, or of a form field with several; NONE where there are said to be none."""
    for part in re.split(r"[;\r\n]+", text):
        entry = _BULLET.sub("", part.strip()).strip(" ,")
        if fuzzy_phrases.bare(entry) in _NONE:
            yield NONE
        elif spec.kind == "lines" and any(sign.isalnum() for sign in entry):
            yield entry
        elif spec.kind == "names" and (match := re.match(name, entry)):
            yield match[0].strip(" ,")


def joined(entries: Sequence[str]) -> str:
    """Each of them once, in their order."""
    return SEPARATOR.join(dict.fromkeys(entries))
