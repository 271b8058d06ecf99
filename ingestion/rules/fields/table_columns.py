"""The cells below the head of a column of a table.

A row is the head of a table if a row below has cells at the left edges of its own. This module is
pure. It knows neither document types nor pages.
"""

from collections.abc import Sequence

from ingestion.rules.fields import geometry
from ingestion.rules.fields.text_lines import TextLine

_MAX_DROP = 30.0  # points from a row to the next one
_MAX_OFFSET = 6.0  # points between the left edges of the cells of a column
_MAX_HEAD_WORDS = 5


def cells_below(head: TextLine, lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the cells of the column below a line; none if the line is in no head of a table."""
    others = [
        line for line in lines if line is not head and geometry.is_on_same_line(line.box, head.box)
    ]
    if not others or not all(map(_may_be_head, [head, *others])):
        return []
    column = _column(head, lines)
    below_others = [each[0] for other in others if (each := _column(other, lines))]
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
    return [cell for head in heads for cell in _column(head, lines)]


def _may_be_head(line: TextLine) -> bool:
    has_digit = any(sign.isdigit() for sign in line.text)
    return (
        not has_digit
        and line.text[:1].isupper()
        and len(line.text.split()) <= _MAX_HEAD_WORDS
        and not line.text.endswith((":", "."))
    )


def _column(head: TextLine, lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines below a head at its left edge, each near the one above it."""
    found: list[TextLine] = []
    last = head.box
    for line in sorted(lines, key=lambda each: each.box.top):
        if (
            line.box.top >= last.bottom - 1
            and line.box.top - last.bottom < _MAX_DROP
            and abs(line.box.left - head.box.left) < _MAX_OFFSET
        ):
            found.append(line)
            last = line.box
    return found
