"""Joins names that a form divides: the given names in one cell and the surname in another.

The cells stand beside their captions, or below them in a table. This module is pure. It knows
neither document types nor pages.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingestion.rules.fields import geometry
from ingestion.rules.fields.persons import person_names
from ingestion.rules.fields.text_lines import TextLine, find_column

_END = r"(?: ?\(s\)|s)?(?: ?\([^()]*\))?\s*(?P<colon>:?)"
_ITEM = r"(?:\d{1,2}[.)]\s*)?"  # the number of a line
_GIVEN = re.compile(rf"(?i){_ITEM}(?:(?:first|given|christian|fore)[ -]?name){_END}")
_MIDDLE = re.compile(rf"(?i){_ITEM}(?:middle (?:name|initial)|m\.?i\.?){_END}")
_FAMILY = re.compile(rf"(?i){_ITEM}(?:(?:last|family|sur)[ -]?name|surname){_END}")
_WITH_VALUE = re.compile(
    r"(?i)(?P<caption>(?:first|given|christian|fore|last|family|sur|middle)[ -]?name(?:\(s\)|s)?)"
    r"\s?:\s*(?P<value>[^:]+?)(?=\s+(?:first|given|christian|fore|last|family|sur|middle)[ -]?name"
    r"|\s+[\w ]{3,20}:|$)"
)
_OTHER_HEAD = re.compile(
    r"(?i)\b(?:title|role|id|no|site|sites|e-?mail|function|position|credentials?|degrees?|date|status)\b"
)
_PART = re.compile(r"[^\W\d_][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,4}")
_MAX_ROWS_APART = 60.0  # points between the parts of a name
_MAX_OFFSET = 12.0  # points between the left edges of the head of a column and its cells


@dataclass(frozen=True, slots=True)
class NameInParts:
    """A name that was composed, and the line with its first part."""

    text: str
    line: TextLine
    is_only: bool  # whether no other name stands below it in the same columns


def find_names_in_parts(lines: Sequence[TextLine]) -> Iterator[NameInParts]:
    """Yield the names whose given names and surname have captions of their own."""
    given = list(_values_of(_GIVEN, lines))
    family = list(_values_of(_FAMILY, lines)) if given else []
    middle = list(_values_of(_MIDDLE, lines)) if family else []
    for text, line, below in given:
        near = [each for each in family if _is_near(line, each[1])]
        if not near:
            continue
        surname, _, others = min(near, key=lambda each: _drop(line, each[1]))
        between = next((each[0] for each in middle if _is_near(line, each[1])), "")
        name = " ".join(filter(None, (text, between, surname)))
        if person_names.is_full_name(name) and person_names.may_be_name(name):
            is_list = any(
                geometry.is_on_same_line(one.box, other.box) for one in below for other in others
            )
            yield NameInParts(name, line, not is_list)


def _values_of(
    caption: re.Pattern[str], lines: Sequence[TextLine]
) -> Iterator[tuple[str, TextLine, Sequence[TextLine]]]:
    """Yield the texts at captions of a part, with their lines and those below in the column."""
    for line in lines:
        if caption.fullmatch(line.text):
            cells = _cell_at(line, lines)
            if cells and _PART.fullmatch(cells[0].text.strip(" ,;")):
                yield cells[0].text.strip(" ,;"), cells[0], cells[1:]
        elif ":" in line.text:
            for match in _WITH_VALUE.finditer(line.text):
                value_text = match["value"].strip(" ,;_")
                if caption.fullmatch(match["caption"]) and _PART.fullmatch(value_text):
                    yield value_text, line, ()


def _cell_at(caption: TextLine, lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the cell beside a caption, or those below it in a table."""
    beside = [
        line
        for line in lines
        if line.box.left >= caption.box.right and geometry.is_on_same_line(line.box, caption.box)
    ]
    if beside:
        nearest = min(beside, key=lambda line: line.box.left)
        has_colon = caption.text.rstrip().endswith(":")
        if has_colon or not _is_head_of_column(caption, nearest, lines):
            return [] if _is_caption(nearest) else [nearest]
    return find_column(caption, lines, max_offset=_MAX_OFFSET)


def _is_head_of_column(caption: TextLine, beside: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether another part of the name has its caption in the same row of a table."""
    if _is_caption(beside):
        return True
    if person_names.may_be_name(beside.text) and not _OTHER_HEAD.search(beside.text):
        return False
    own, other = (
        find_column(caption, lines, max_offset=_MAX_OFFSET),
        find_column(beside, lines, max_offset=_MAX_OFFSET),
    )
    is_table = bool(own and other) and geometry.is_on_same_line(own[0].box, other[0].box)
    return is_table and any(
        line is not caption
        and _is_caption(line)
        and geometry.is_on_same_line(line.box, caption.box)
        for line in lines
    )


def _is_caption(line: TextLine) -> bool:
    return any(each.fullmatch(line.text) for each in (_GIVEN, _MIDDLE, _FAMILY))


def _is_near(one: TextLine, other: TextLine) -> bool:
    return _drop(one, other) < _MAX_ROWS_APART


def _drop(one: TextLine, other: TextLine) -> float:
    return abs(one.box.top - other.box.top)
