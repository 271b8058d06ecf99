"""Finds the cells below the head of a column of a table.

A row is the head of a table if a row below has cells at the left edges of its own. This module is
pure. It knows neither document types nor pages.
"""

from collections.abc import Sequence

from ingestion.rules.fields import geometry
from ingestion.rules.fields.text_lines import TextLine, find_column

_MAX_OFFSET = 6.0  # points between the left edges of the cells of a column
_MAX_HEAD_WORDS = 5


def find_cells_below(head: TextLine, lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the cells of the column below a line; none if the line is in no head of a table."""
    others = [
        line for line in lines if line is not head and geometry.is_on_same_line(line.box, head.box)
    ]
    if not others or not all(map(_may_be_head, [head, *others])):
        return []
    column = find_column(head, lines, max_offset=_MAX_OFFSET)
    below_others = [
        each[0] for other in others if (each := find_column(other, lines, max_offset=_MAX_OFFSET))
    ]
    if not column or not any(
        geometry.is_on_same_line(column[0].box, each.box) for each in below_others
    ):
        return []
    rows = [
        cell
        for cell in column
        if any(geometry.is_on_same_line(cell.box, each.box) for each in _columns(others, lines))
    ]
    return rows if rows and rows[0] is column[0] else []


def _columns(heads: Sequence[TextLine], lines: Sequence[TextLine]) -> list[TextLine]:
    return [cell for head in heads for cell in find_column(head, lines, max_offset=_MAX_OFFSET)]


def _may_be_head(line: TextLine) -> bool:
    has_digit = any(sign.isdigit() for sign in line.text)
    return (
        not has_digit
        and line.text[:1].isupper()
        and len(line.text.split()) <= _MAX_HEAD_WORDS
        and not line.text.endswith((":", "."))
    )
