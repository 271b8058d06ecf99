"""Makes the building blocks of a sample page: paragraphs, tables and the space between them."""

from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import Flowable, Paragraph, Spacer, Table

BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=11, leading=14.5, spaceAfter=6)
SMALL = ParagraphStyle("small", parent=BODY, fontSize=9.5, leading=12, spaceAfter=3)
PLAIN = ParagraphStyle("plain", fontName="Helvetica", fontSize=9.5, leading=12.5)
HEADING = ParagraphStyle(
    "heading", fontName="Helvetica-Bold", fontSize=11, leading=14, spaceBefore=9, spaceAfter=4
)
TITLE = ParagraphStyle(
    "title", fontName="Helvetica-Bold", fontSize=16, leading=20, alignment=TA_CENTER, spaceAfter=8
)
CENTRED = ParagraphStyle("centred", parent=BODY, alignment=TA_CENTER)


def make_paragraph(content: str, style: Any = BODY) -> Any:
    """Return a paragraph of plain text, in which nothing is interpreted as markup."""
    return Paragraph(escape(content), style)


def make_markup_paragraph(content: str, style: Any = BODY) -> Any:
    """Return a paragraph of reportlab's markup (<b>, <i>, <br/>)."""
    return Paragraph(content, style)


def make_vertical_space(points: float) -> Any:
    """Return empty space of this height."""
    return Spacer(1, points)


def make_captioned_lines(rows: Iterable[tuple[str, str]]) -> Any:
    """Return one line for each row: the caption in bold, followed by its value.

    There is one column, because OCR may read a page column by column and separate captions from
    their values.
    """
    cells = [
        [make_markup_paragraph(f"<b>{escape(caption)}</b> {escape(value)}", PLAIN)]
        for caption, value in rows
    ]
    return _unruled(cells, ["100%"])


def make_dated_lines(rows: Iterable[tuple[str, str]], *, widths: Sequence[float]) -> Any:
    """Return a table of two columns: a period and what happened in it."""
    cells = [
        [make_markup_paragraph(f"<b>{escape(when)}</b>", PLAIN), make_paragraph(what, PLAIN)]
        for when, what in rows
    ]
    return _unruled(cells, widths)


def _unruled(cells: Sequence[Sequence[Any]], widths: Sequence[Any]) -> Any:
    table = Table(cells, colWidths=widths, hAlign="LEFT")
    table.setStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("BOTTOMPADDING", (0, 0), (-1, -1), 2)])
    return table


def make_ruled_table(
    rows: Sequence[Sequence[Any]], *, widths: Sequence[float], heads: int = 1
) -> Any:
    """Return a ruled table. Its first `heads` rows are the header and repeat on every page."""
    table = Table(rows, colWidths=widths, repeatRows=heads)
    style: list[Any] = [
        ("GRID", (0, 0), (-1, -1), 0.5, colors.Color(0.35, 0.35, 0.35)),
        ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
        ("LEFTPADDING", (0, 0), (-1, -1), 4),
        ("RIGHTPADDING", (0, 0), (-1, -1), 4),
    ]
    if heads:
        style.append(("BACKGROUND", (0, 0), (-1, heads - 1), colors.Color(0.92, 0.92, 0.92)))
    table.setStyle(style)
    return table


class FillRemainingHeight(Flowable):  # type: ignore[misc] # reportlab has no types
    """Fills the remaining height of the page except for `keep` points at the bottom."""

    def __init__(self, keep: float) -> None:
        super().__init__()
        self.keep = keep

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        return width, max(0.0, height - self.keep - 1)

    def draw(self) -> None:
        """Draw nothing."""
