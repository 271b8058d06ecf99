"""Lays out PDFs: fonts, lists of facts, tables and numbered pages.

The same content always results in the same bytes.
"""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from reportlab.lib import colors
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import LongTable, Paragraph, SimpleDocTemplate, Spacer, TableStyle

MAX_TABLE_ROWS = 500  # of one table, because the layout of a table takes quadratic time

# These fonts are part of reportlab, so that a PDF looks the same on every machine.
_PLAIN, _BOLD = TTFont("Vera", "Vera.ttf"), TTFont("VeraBd", "VeraBd.ttf")
for _font in (_PLAIN, _BOLD):
    pdfmetrics.registerFont(_font)
TEXT = ParagraphStyle("text", fontName="Vera", fontSize=7, leading=9, splitLongWords=1)
BOLD = ParagraphStyle("bold", TEXT, fontName="VeraBd")
_HEAD = ParagraphStyle("head", TEXT, fontName="VeraBd", textColor=colors.white)
_TITLE = ParagraphStyle("title", fontName="VeraBd", fontSize=15, leading=20, spaceAfter=8)
_SECTION = ParagraphStyle("section", _TITLE, fontSize=10, leading=14, spaceBefore=12)
_MARGIN = 36.0  # points
_PADDING = 6.0  # points, of reportlab's frame inside the margin
_GRID = TableStyle(
    [
        ("GRID", (0, 0), (-1, -1), 0.25, colors.grey),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#1f3a5f")),
    ]
)
_FACTS = TableStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (0, -1), 0)])

Row = Sequence[str]
Size = tuple[float, float]  # points


class PdfDocument:
    """A PDF with pages of one size.

    `title` and `author` are metadata of the file. `footer` is printed on each page.
    """

    def __init__(self, size: Size, *, title: str, author: str, footer: str) -> None:
        self._size, self._footer = size, footer
        self._metadata = {"title": title, "author": author}
        self._width = size[0] - 2 * (_MARGIN + _PADDING)

    def write(self, target: Path | IO[bytes], story: Iterable[Any]) -> None:
        """Lay out the flowables of `story` and write the file."""
        margins = dict.fromkeys(("leftMargin", "rightMargin", "topMargin", "bottomMargin"), _MARGIN)
        file = str(target) if isinstance(target, Path) else target
        template = SimpleDocTemplate(
            file, pagesize=self._size, **margins, **self._metadata, invariant=1
        )
        canvas = partial(_NumberedCanvas, self._footer, self._width)
        template.build(list(story), canvasmaker=canvas)

    def facts(self, facts: Mapping[str, str], name_width: float = 0.18) -> LongTable:
        """Return a table of names and values. `name_width` is a fraction of the whole width."""
        rows = [[make_cell(name, BOLD), make_cell(text)] for name, text in facts.items()]
        widths = [name_width * self._width, (1 - name_width) * self._width]
        return LongTable(rows, colWidths=widths, style=_FACTS)

    def section(
        self, name: str, header: Row, widths: Sequence[float], rows: Sequence[Row]
    ) -> Iterator[Any]:
        """Yield a heading and its table. `widths` are fractions of the whole width."""
        yield make_heading(name)
        for start in range(0, len(rows), MAX_TABLE_ROWS):
            cells = [
                [make_cell(text) for text in row] for row in rows[start : start + MAX_TABLE_ROWS]
            ]
            yield LongTable(
                [[make_cell(text, _HEAD) for text in header], *cells],
                colWidths=[width * self._width for width in widths],
                repeatRows=1,
                style=_GRID,
            )
        yield Spacer(1, 6)


def make_title(text: str) -> Paragraph:
    """Return the paragraph of a document's title."""
    return Paragraph(_markup(text), _TITLE)


def make_heading(text: str) -> Paragraph:
    """Return the paragraph of a section's heading."""
    return Paragraph(_markup(text), _SECTION)


def make_cell(text: str, style: ParagraphStyle = TEXT) -> Paragraph:
    """Return the paragraph of a table's cell, whose text is plain and not markup."""
    return Paragraph(_markup(text), style)


def _markup(text: str) -> str:
    """Return the text as markup of a paragraph.

    Characters that the font does not have are replaced by their code points. The CSV file has them.
    """
    known = _PLAIN.face.charToGlyph
    printed = "".join(c if c == "\n" or ord(c) in known else f"[U+{ord(c):04X}]" for c in text)
    return html.escape(printed).replace("\n", "<br/>")


class _NumberedCanvas(Canvas):  # type: ignore[misc] # reportlab has no types
    """Prints the footer on each page when all pages are laid out and their number is known.

    reportlab has no interface to return to a page. As in its own documentation, the attributes of
    the canvas are kept at the end of each page, and set again when the page is written.
    """

    def __init__(self, footer: str, width: float, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._footer, self._right = footer, _MARGIN + _PADDING + width
        self._pages = list[dict[str, Any]]()

    def showPage(self) -> None:  # noqa: N802 - reportlab's name
        self._pages.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        for number, page in enumerate(self._pages, start=1):
            self.__dict__.update(page)
            self.setFont("Vera", 7)
            self.drawString(_MARGIN + _PADDING, 20, self._footer)
            self.drawRightString(self._right, 20, f"Page {number} of {len(self._pages)}")
            super().showPage()
        super().save()
