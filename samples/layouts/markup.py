"""Parses the text of a layout into the flowables of a page.

A layout is written in lines. The first signs of a line say what it is:

    # Title             ## Heading            > centred    >> to the right    ^ small    * bullet
    |! head | cells     | cells               a ruled table; cells may be `~name` (a signature)
    : cell | cell       a table without rules
    [x] or [ ] caption  a tick box            @rule        @gap POINTS        @page (a new page)
    @logo name          a letterhead with a drawn logo     @seal initials
    @sign caption | name | date               a signature line, signed by hand
    @hand name          a signature without a line         @fill POINTS (space down to there)
    @box … @end         a frame               @columns WIDTHS … @column … @end

Other lines are paragraphs, which blank lines separate; line ends are kept. `**words**` are bold.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import Flowable, PageBreak, Table

from samples import blocks, marks

_FONTS = {
    "times": ("Times-Roman", "Times-Bold"),
    "helvetica": ("Helvetica", "Helvetica-Bold"),
    "courier": ("Courier", "Courier-Bold"),
}
# Fonts of Debian for letters that the standard fonts of PDF do not have, each with its file and
# that of its bold face. Those of East Asia have one weight.
_CJK = "cjk"
_FONT_FILES = {
    "dejavu": ("dejavu/DejaVuSerif.ttf", "dejavu/DejaVuSerif-Bold.ttf"),
    _CJK: ("droid/DroidSansFallbackFull.ttf", "droid/DroidSansFallbackFull.ttf"),
    "korean": ("baekmuk/batang.ttf", "baekmuk/batang.ttf"),
}
_FONT_FOLDER = Path("/usr/share/fonts/truetype")
_COLOURS = ("#1f3d6d", "#6b1d2a", "#1d5c3a", "#333333", "#5a3a7a", "#0b5d73")
_CELL_PADDING = 14.0  # points left and right of the text of a cell
_UNMARKED = re.compile(r"\*\*|\[[ x]\] ")  # marks that are not printed as they stand
_ALIGNMENTS = {"left": 0, "centre": 1, "right": 2}


@dataclass(frozen=True, slots=True)
class Typography:
    """The font and the size of a layout. `seed` determines the logo and the signatures."""

    font: str
    size: float  # points
    seed: str
    titles: str = "centre"  # alignment of titles

    def style(self, *, bold: bool = False, scale: float = 1.0, align: str = "left") -> Any:
        """Return a paragraph style. `scale` multiplies the size of the layout's font."""
        size = self.size * scale
        return ParagraphStyle(
            f"{self.font}{bold}{scale}{align}",
            fontName=find_font(self.font, bold=bold),
            wordWrap="CJK" if self.font == _CJK else None,
            fontSize=size,
            leading=size * 1.28,
            spaceAfter=size * 0.45,
            alignment=_ALIGNMENTS[align],
        )


@cache
def find_font(name: str, *, bold: bool) -> str:
    """Return the name of a font of reportlab. A font of Debian is registered with its first use."""
    if name in _FONTS:
        return _FONTS[name][bold]
    registered = f"{name}-bold" if bold else name
    pdfmetrics.registerFont(TTFont(registered, _FONT_FOLDER / _FONT_FILES[name][bold]))
    if bold:
        pdfmetrics.registerFontFamily(name, normal=name, bold=registered)
    return registered


def make_flowables(text: str, typography: Typography, width: float) -> list[Any]:
    """Return the flowables of a text. `width` is that of the text in points."""
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    return list(_Reader(lines, typography, width).read())


class Logo(Flowable):  # type: ignore[misc] # reportlab has no types
    """A letterhead: a drawn emblem with the name beside it."""

    def __init__(self, name: str, typography: Typography) -> None:
        super().__init__()
        self.name, self.typography, self.height = name, typography, 48.0

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        self.width = width
        return width, self.height

    def draw(self) -> None:
        canvas, rng = self.canv, random.Random(f"logo {self.typography.seed} {self.name}")
        canvas.setFillColor(colors.HexColor(rng.choice(_COLOURS)))
        shape = rng.randrange(4)
        if shape == 0:
            canvas.circle(20, 24, 17, fill=1, stroke=0)
        elif shape == 1:
            canvas.roundRect(3, 7, 34, 34, 6, fill=1, stroke=0)
        elif shape == 2:
            outline = canvas.beginPath()
            for place, point in enumerate(((3, 40), (37, 40), (37, 20), (20, 5), (3, 20))):
                (outline.lineTo if place else outline.moveTo)(*point)
            canvas.drawPath(outline, fill=1, stroke=0)
        else:
            for left in (4, 15, 26):
                canvas.rect(left, 8, 8, rng.randint(16, 34), fill=1, stroke=0)
        size = min(15.0, 15.0 * (self.width - 60) / (8.2 * max(len(self.name), 1)))
        canvas.setFont(find_font(self.typography.font, bold=True), max(8.0, size))
        canvas.drawString(48, 19, self.name)
        canvas.setFillColor(colors.black)


class Rule(Flowable):  # type: ignore[misc] # reportlab has no types
    """A horizontal line over the width of the text."""

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        self.width = width
        return width, 9.0

    def draw(self) -> None:
        self.canv.setLineWidth(0.7)
        self.canv.line(0, 5, self.width, 5)


class _Reader:
    """Reads the lines of a layout from the first to the last."""

    def __init__(self, lines: Sequence[str], typography: Typography, width: float) -> None:
        self.lines, self.typography, self.width, self.place = lines, typography, width, 0

    def read(self) -> Iterator[Any]:
        while self.place < len(self.lines):
            line = self.lines[self.place]
            if not line.strip():
                self.place += 1
            elif line.startswith("|"):
                yield self._table(ruled=True)
            elif line.startswith(": "):
                yield self._table(ruled=False)
            elif line.startswith("@"):
                yield self._command(line)
            elif (styled := self._styled(line)) is not None:
                self.place += 1
                yield styled
            else:
                yield self._paragraph()

    def _paragraph(self) -> Any:
        first = self.place
        self.place += 1  # a sign without the blank of a prefix is a part of the text
        while self.place < len(self.lines) and _is_plain(self.lines[self.place]):
            self.place += 1
        return _text("\n".join(self.lines[first : self.place]), self.typography.style())

    def _styled(self, line: str) -> Any:
        """Return the flowable of a line with a prefix, or None if it has none."""
        typography = self.typography
        styles: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("## ", lambda: typography.style(bold=True, scale=1.05)),
            ("# ", lambda: typography.style(bold=True, scale=1.5, align=typography.titles)),
            (">> ", lambda: typography.style(align="right")),
            ("> ", lambda: typography.style(align="centre")),
            ("^ ", lambda: typography.style(scale=0.82)),
            ("* ", typography.style),
        )
        if match := re.match(r"\[([ x])\] (.*)", line):
            return marks.TickBox(match[2], ticked=match[1] == "x")
        for prefix, style in styles:
            if line.startswith(prefix):
                content = line.removeprefix(prefix)
                return _text(f"• {content}" if prefix == "* " else content, style())
        return None

    def _table(self, *, ruled: bool) -> Any:
        prefix = "|" if ruled else ": "
        rows: list[list[str]] = []
        heads = 0
        while self.place < len(self.lines) and self.lines[self.place].startswith(prefix):
            content = self.lines[self.place].removeprefix(prefix)
            heads += content.startswith("!")
            rows.append([cell.strip() for cell in content.removeprefix("!").split("|")])
            self.place += 1
        count = max(map(len, rows))
        style, strong = (
            self.typography.style(scale=0.9),
            self.typography.style(scale=0.9, bold=True),
        )
        widths = _column_widths(rows, count, self.width, strong)
        cells = [
            [
                self._cell(cell, strong if place < heads else style, widths[column])
                for column, cell in enumerate([*row, *[""] * (count - len(row))])
            ]
            for place, row in enumerate(rows)
        ]
        if ruled:
            return blocks.make_ruled_table(cells, widths=widths, heads=heads)
        table = Table(cells, colWidths=widths, hAlign="LEFT")
        table.setStyle(
            [("VALIGN", (0, 0), (-1, -1), "TOP"), ("BOTTOMPADDING", (0, 0), (-1, -1), 1)]
        )
        return table

    def _cell(self, content: str, style: Any, width: float) -> Any:
        if content.startswith("~"):
            size = (min(110.0, width - 8), 20.0)
            return marks.HandwrittenSignature(content.removeprefix("~"), self.typography.seed, size)
        return _text(content, style)

    def _command(self, line: str) -> Any:
        """Return the flowable of a command. Raises ValueError if it is not known."""
        self.place += 1
        name, _, rest = line[1:].partition(" ")
        if name == "box":
            inside = make_flowables("\n".join(self._until_end()), self.typography, self.width - 16)
            frame = Table([[inside]], colWidths=[self.width])
            frame.setStyle([("BOX", (0, 0), (-1, -1), 0.8, colors.black)])
            return frame
        if name == "columns":
            return self._columns([float(share) for share in rest.split()])
        if name == "sign":
            caption, signer, dated = (*(part.strip() for part in rest.split("|")), "", "")[:3]
            return marks.SignatureLine(caption, signer, dated, seed=self.typography.seed)
        simple: Mapping[str, Callable[[], Any]] = {
            "rule": Rule,
            "page": PageBreak,
            "gap": lambda: blocks.make_vertical_space(float(rest)),
            "fill": lambda: blocks.FillRemainingHeight(float(rest)),
            "logo": lambda: Logo(rest, self.typography),
            "seal": lambda: marks.Seal(rest),
            "hand": lambda: marks.HandwrittenSignature(rest, self.typography.seed, (150.0, 34.0)),
        }
        if name not in simple:
            raise ValueError(f"unknown command: {line}")
        return simple[name]()

    def _columns(self, shares: Sequence[float]) -> Any:
        widths = [self.width * share / sum(shares) for share in shares]
        parts: list[list[str]] = [[]]
        for line in self._until_end():
            if line == "@column":
                parts.append([])
            else:
                parts[-1].append(line)
        cells = [
            make_flowables("\n".join(part), self.typography, width - 12)
            for part, width in zip(parts, widths, strict=True)
        ]
        table = Table([cells], colWidths=widths)
        table.setStyle([("VALIGN", (0, 0), (-1, -1), "TOP")])
        return table

    def _until_end(self) -> list[str]:
        first = self.place
        while self.lines[self.place] != "@end":
            self.place += 1
        self.place += 1
        return list(self.lines[first : self.place - 1])


def _is_plain(line: str) -> bool:
    return bool(line.strip()) and not re.match(r"[#>^*|@]|: |\[[ x]\] ", line.replace("**", ""))


def _text(content: str, style: Any) -> Any:
    marked = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(content))
    if style.fontName.startswith(_CJK):  # the font has no letters and digits of English
        latin = find_font("dejavu", bold=False)
        marked = re.sub(r"[!-~]+", rf'<font face="{latin}">\g<0></font>', marked)
    marked = marked.replace("\n", "<br/>")
    return blocks.make_markup_paragraph(marked, style)


def _column_widths(
    rows: Sequence[Sequence[str]], count: int, width: float, style: ParagraphStyle
) -> list[float]:
    """Return widths in proportion to the longest cells, within limits.

    No word is broken if the other columns have room.
    """
    columns = [[row[column] for row in rows if column < len(row)] for column in range(count)]
    shares = [min(max(7, *map(len, column)), 34) for column in columns]
    widths = [width * share / sum(shares) for share in shares]
    if style.wordWrap == "CJK":  # a line may end behind each letter
        return widths
    words = [[*_UNMARKED.sub("", " ".join(column)).split(), ""] for column in columns]
    needed = [
        _CELL_PADDING + max(stringWidth(word, style.fontName, style.fontSize) for word in column)
        for column in words
    ]
    spare = [max(0.0, each - least) for each, least in zip(widths, needed, strict=True)]
    missing = [max(0.0, least - each) for each, least in zip(widths, needed, strict=True)]
    if not 0 < sum(missing) <= sum(spare):
        return widths
    given = sum(missing) / sum(spare)
    return [
        each + lacking - given * room
        for each, lacking, room in zip(widths, missing, spare, strict=True)
    ]
