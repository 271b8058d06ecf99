"""What a page is set from: paragraphs, tables, and the room between them."""

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


def text(content: str, style: Any = BODY) -> Any:
    """A paragraph of plain text: nothing in it is markup."""
    return Paragraph(escape(content), style)


def marked_up(content: str, style: Any = BODY) -> Any:
    """A paragraph of reportlab's markup: <b>, <i>, <br/>."""
    return Paragraph(content, style)


def gap(points: float) -> Any:
    return Spacer(1, points)


def particulars(rows: Iterable[tuple[str, str]]) -> Any:
    """One line for each: the caption in bold, and its value behind it on the same line.

    Not in two columns: OCR may read a page column by column, and part a caption from its value.
    """
    cells = [
        [marked_up(f"<b>{escape(caption)}</b> {escape(value)}", PLAIN)] for caption, value in rows
    ]
    return _unruled(cells, ["100%"])


def chronicle(rows: Iterable[tuple[str, str]], *, widths: Sequence[float]) -> Any:
    """Two columns: when, and what."""
    cells = [[marked_up(f"<b>{escape(when)}</b>", PLAIN), text(what, PLAIN)] for when, what in rows]
    return _unruled(cells, widths)


def _unruled(cells: Sequence[Sequence[Any]], widths: Sequence[Any]) -> Any:
    table = Table(cells, colWidths=widths, hAlign="LEFT")
    table.setStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("BOTTOMPADDING", (0, 0), (-1, -1), 2)])
    return table


def grid(rows: Sequence[Sequence[Any]], *, widths: Sequence[float], heads: int = 1) -> Any:
    """A ruled table whose first `heads` rows are its header, repeated on every page."""
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


class PushDown(Flowable):  # type: ignore[misc] # reportlab has no types
    """Takes the room that is left on the page, but for `keep` points at its foot."""

    def __init__(self, keep: float) -> None:
        super().__init__()
        self.keep = keep

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        return width, max(0.0, height - self.keep - 1)

    def draw(self) -> None:
        """Nothing: it is room."""
