"""Splits captions of several values, as "Protocol Number / Version: AB-12 / 3.0".

The caption and its value have as many parts, which slashes separate. This module is pure. It knows
neither document types nor pages.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from ingestion.rules.fields.text_lines import TextLine, captions_of

_BETWEEN_CAPTIONS = re.compile(r"\s*/\s*|\s+(?:and|&)\s+")
_BETWEEN_VALUES = re.compile(r"\s+/\s+")
_MAX_CAPTION_LENGTH = 60  # characters
_MAX_PARTS = 4


@dataclass(frozen=True, slots=True)
class SlashedValue:
    """A part of a value, with the captions that it may have, and the line that contains it."""

    captions: tuple[str, ...]
    text: str
    line: TextLine
    start: int  # of the part in the text of the line


def find_slashed_values(lines: Sequence[TextLine]) -> Iterator[SlashedValue]:
    """Yield the parts of the values whose captions have as many parts."""
    for line in lines:
        if "/" not in line.text:
            continue
        caption, colon, _ = line.text.partition(":")
        captions = [caption] if colon else [each.text for each in captions_of(line.box, lines)]
        start = len(caption) + 1 if colon else 0
        for each in captions:
            if len(each) > _MAX_CAPTION_LENGTH:
                continue
            parts = list(_split(line, start, each.strip(" :")))
            yield from parts
            if parts:
                break


def _split(line: TextLine, start: int, caption: str) -> Iterator[SlashedValue]:
    """Yield the parts of the text of a line from a place on, if the caption has as many."""
    names = [each.strip(" .#") for each in _BETWEEN_CAPTIONS.split(caption)]
    value = line.text[start:]
    separators = [match.span() for match in _BETWEEN_VALUES.finditer(value)]
    if len(separators) != len(names) - 1 and "/" in caption:
        separators = [match.span() for match in re.finditer("/", value)]
    if not 1 < len(names) <= _MAX_PARTS or len(separators) != len(names) - 1 or not all(names):
        return
    edges = [0, *chain.from_iterable(separators), len(value)]
    for place, name in enumerate(names):
        first, last = edges[2 * place], edges[2 * place + 1]
        part = value[first:last]
        # "Version" behind "Protocol Number" is the version of the protocol.
        whole = f"{names[0].split()[0]} {name}"
        captions = (name,) if place == 0 else (whole, name)
        if place and name.casefold() == "name":
            captions = (whole,)  # "Site number / name"
        plain = part.strip()
        yield SlashedValue(captions, plain, line, start + first + part.find(plain))
