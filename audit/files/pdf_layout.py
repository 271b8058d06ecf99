"""How our PDFs look: fonts, facts, tables, numbered pages. The same content, the same bytes."""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from reportlab.lib import colors
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import LongTable, Paragraph, SimpleDocTemplate, Spacer, TableStyle

MAX_TABLE_ROWS = 500  # rows: a longer table is set in quadratic time

# reportlab brings these fonts, so that a sheet looks the same wherever it is made.
_PLAIN, _BOLD = TTFont("Vera", "Vera.ttf"), TTFont("VeraBd", "VeraBd.ttf")
for _font in (_PLAIN, _BOLD):
    pdfmetrics.registerFont(_font)
TEXT = ParagraphStyle("text", fontName="Vera", fontSize=7, leading=9, splitLongWords=1)
BOLD = ParagraphStyle("bold", TEXT, fontName="VeraBd")
_HEAD = ParagraphStyle("head", TEXT, fontName="VeraBd", textColor=colors.white)
_TITLE = ParagraphStyle("title", fontName="VeraBd", fontSize=15, leading=20, spaceAfter=8)
_SECTION = ParagraphStyle("section", _TITLE, fontSize=10, leading=14, spaceBefore=12)
_MARGIN = 36.0  # points
_PADDING = 6.0  # of reportlab's frame, within the margin
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
    """Pages of one size. `title` and `author` are the file's, `footer` is on each page."""

    def __init__(self, size: Size, *, title: str, author: str, footer: str) -> None:
        self._size, self._footer = size, footer
        self._named = {"title": title, "author": author}
        self._width = size[0] - 2 * (_MARGIN + _PADDING)

    def write(self, target: Path | IO[bytes], story: Iterable[Any]) -> None:
        margins = dict.fromkeys(("leftMargin", "rightMargin", "topMargin", "bottomMargin"), _MARGIN)
        file = str(target) if isinstance(target, Path) else target
        sheet = SimpleDocTemplate(file, pagesize=self._size, **margins, **self._named, invariant=1)
        sheet.build(list(story), canvasmaker=self._canvas)

    def _canvas(self, *args: Any, **options: Any) -> Canvas:
        return _Numbered(self._footer, self._width, *args, **options)

    def facts(self, facts: Mapping[str, str], names: float = 0.18) -> LongTable:
        """`names`: their part of the width."""
        rows = [[cell(name, BOLD), cell(text)] for name, text in facts.items()]
        widths = [names * self._width, (1 - names) * self._width]
        return LongTable(rows, colWidths=widths, style=_FACTS)

    def section(
        self, name: str, header: Row, widths: Sequence[float], rows: Sequence[Row]
    ) -> Iterator[Any]:
        """A table under its heading; `widths` are parts of the whole one."""
        yield heading(name)
        for start in range(0, len(rows), MAX_TABLE_ROWS):
            cells = [[cell(text) for text in row] for row in rows[start : start + MAX_TABLE_ROWS]]
            yield LongTable(
                [[cell(text, _HEAD) for text in header], *cells],
                colWidths=[width * self._width for width in widths],
                repeatRows=1,
                style=_GRID,
            )
        yield Spacer(1, 6)


def title(text: str) -> Paragraph:
    return Paragraph(_shown(text), _TITLE)


def heading(text: str) -> Paragraph:
    return Paragraph(_shown(text), _SECTION)


def cell(text: str, style: ParagraphStyle = TEXT) -> Paragraph:
    return Paragraph(_shown(text), style)


def _shown(text: str) -> str:
    """As the font can print it: what it lacks is named by its code point. The CSV has it all."""
    known = _PLAIN.face.charToGlyph
    printed = "".join(c if c == "\n" or ord(c) in known else f"[U+{ord(c):04X}]" for c in text)
    return html.escape(printed).replace("\n", "<br/>")


class _Numbered(Canvas):  # type: ignore[misc] # reportlab has no types
    """Knows the number of the last page when it prints that of the first."""

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
