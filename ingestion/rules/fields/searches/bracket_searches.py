"""Finds texts at captions in brackets, as in "Basic course" above "(Stage)" on a certificate."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import geometry
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.searches.found_values import FoundValue
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.text_lines import TextLine
from ingestion.rules.fields.values import DOUBTFUL_CONFIDENCE, value_of_line

_MAX_OFFSET = 3.0  # points
# In the place of a text that would repeat that of another caption, as "Same as Curriculum Group".
_SAME_AS_OTHER = re.compile(r"(?i)(?:(?:the )?same as\b|as above|see above|ditto)")


def search_bracketed_captions(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the text before captions in brackets, as in "Basic course" above "(Stage)".

    The same captions may stand before the text, with a colon. The texts of several captions are
    joined by a stroke. A joined text is printed nowhere as a whole, so it is in doubt.
    """
    for page in document.reading.pages[:1] if spec.bracketed else ():
        parts: list[str] = []
        first: TextLine | None = None
        is_confirmed = True
        lines = document.lines_of(page)
        for label in spec.bracketed:
            for at, line in enumerate(lines):
                found = _text_of_bracketed(label, line, _line_before(at, lines), page.text)
                if found is None:
                    continue
                text, used, is_in_order = found
                if used is line:
                    text = " ".join([text, *_rest_of_cell(line, lines)])
                if text not in parts and not _SAME_AS_OTHER.match(text):
                    parts.append(text)
                first = first or used
                is_confirmed &= is_in_order
        if first:
            ways = {Way.PLACE, Way.TEXT} if is_confirmed else {Way.PLACE}
            value = value_of_line(page, first.words, spec, " / ".join(parts))
            confidence = DOUBTFUL_CONFIDENCE if len(parts) > 1 else value.confidence
            value = replace(value, confidence=min(value.confidence, confidence))
            yield FoundValue(value, frozenset(ways), 0)


def _rest_of_cell(line: TextLine, lines: Sequence[TextLine]) -> Iterator[str]:
    """Yield the lines below a cell that continue it: in its column, with no caption of their own.

    Only the cell of a table is continued, which has its caption to the left.
    """
    if not _has_text_before(line, lines):
        return
    last = line
    for below in lines:
        drop = below.box.top - last.box.bottom
        if drop < 0 or abs(below.box.left - line.box.left) > _MAX_OFFSET:
            continue
        if drop > (line.box.bottom - line.box.top) or _has_text_before(below, lines):
            return
        yield below.text.strip()
        last = below


def _has_text_before(line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether another text stands to the left of a line, level with it."""
    return any(
        each.box.right <= line.box.left and geometry.is_on_same_line(each.box, line.box)
        for each in lines
    )


def _text_of_bracketed(
    label: str, line: TextLine, previous: TextLine | None, page_text: str
) -> tuple[str, TextLine, bool] | None:
    """Return the text that a line has a caption for, its line, and whether the text agrees."""
    text, bracketed = line.text.strip(), f"({label})".casefold()
    folded = text.casefold()
    before = folded.removesuffix(bracketed)
    if before != folded and not any(map(str.isalnum, before)) and previous:
        text = previous.text.strip()
        is_in_order = any(f"{text}{gap}{line.text}" in page_text for gap in "\n ")
        return text, previous, is_in_order
    if folded.endswith(bracketed):
        return text[: -len(bracketed)].strip(), line, True
    is_value = previous and previous.text.strip(" \u2022*-").casefold() == f"{label}:".casefold()
    if is_value and previous and geometry.is_level_with(previous.box, line.box):
        return text, line, f"{previous.text} {line.text}" in page_text
    plain = text.lstrip(" \u2022*-")
    if plain.casefold().startswith(f"{label}: ".casefold()):
        return plain[len(label) + 1 :].strip(), line, True
    return None


def _line_before(at: int, lines: Sequence[TextLine]) -> TextLine | None:
    """Return the text to the left of a line, or else the line above it."""
    box = lines[at].box
    beside = [
        each
        for each in lines[max(0, at - 2) : at + 3]
        if each.box.right <= box.left and geometry.is_level_with(each.box, box)
    ]
    if beside:
        return max(beside, key=lambda each: each.box.right)
    return lines[at - 1] if at else None
