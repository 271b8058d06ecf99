"""Defines the sheet on which a blank form is drawn, and the boxes that are drawn on it."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from reportlab.lib.pagesizes import LETTER
from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas

WIDTH, HEIGHT = LETTER
LEFT, RIGHT = 36.0, WIDTH - 36.0
TICK = 9.0  # points, the side of a square
_PADDING = 3.0
_LINE = 0.8
_LEADING = 1.18  # of the size of the letters

Value = str | bool
Areas = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class DrawnBox:
    """A box of a blank form. `area` is left, top, right and bottom in points, y downwards."""

    number: str
    kind: str  # text, tick, signature or date
    area: Areas
    rest: dict[str, Value]  # the other keys of its description

    def as_toml(self) -> str:
        """Return the line of the box in a description."""
        left, top, right, bottom = (round(side, 1) for side in self.area)
        rest = "".join(f", {key} = {json.dumps(value)}" for key, value in self.rest.items())
        area = f"[{left}, {top}, {right}, {bottom}]"
        return f'  {{ number = "{self.number}", kind = "{self.kind}", area = {area}{rest} }},'


@dataclass
class BlankSheet:
    """A page of a blank form. `y` is where the next row begins, in points from the top."""

    canvas: Any  # of reportlab, which has no types
    signs: tuple[str, ...]
    y: float = 36.0
    boxes: list[DrawnBox] = field(default_factory=list)

    def text(
        self, x: float, y: float, text: str, *, size: float = 7.0, font: str = "Helvetica",
        width: float = 0.0,
    ) -> float:  # fmt: skip
        """Draw a text whose first line has its top at `y`, and return where it ends."""
        self.canvas.setFont(font, size)
        for line in simpleSplit(text, font, size, width) if width else [text]:
            self.canvas.drawString(x, HEIGHT - y - size, line)
            y += size * _LEADING
        return y

    def centre(
        self, y: float, text: str, *, size: float = 8.0, font: str = "Helvetica",
        width: float = RIGHT - LEFT,
    ) -> float:  # fmt: skip
        """Draw a text in the middle of a column at the left margin, as `text` does."""
        self.canvas.setFont(font, size)
        for line in simpleSplit(text, font, size, width):
            self.canvas.drawCentredString(LEFT + width / 2, HEIGHT - y - size, line)
            y += size * _LEADING
        return y

    def frame(self, left: float, top: float, right: float, bottom: float) -> None:
        """Draw a rectangle."""
        self.canvas.setLineWidth(_LINE)
        self.canvas.rect(left, HEIGHT - bottom, right - left, bottom - top)

    def line(self, left: float, y: float, right: float) -> None:
        """Draw a horizontal line."""
        self.canvas.setLineWidth(_LINE)
        self.canvas.line(left, HEIGHT - y, right, HEIGHT - y)

    def square(self, x: float, y: float, number: str, option: str, **rest: Value) -> None:
        """Draw a square to tick with its left top corner at these points."""
        self.frame(x, y, x + TICK, y + TICK)
        area = (x, y, x + TICK, y + TICK)
        self.boxes.append(DrawnBox(number, "tick", area, {"option": option, **rest}))

    def option(
        self, x: float, y: float, number: str, option: str, *, size: float = 7.0, **rest: Value
    ) -> None:
        """Draw a square with its caption beside it."""
        self.square(x, y, number, option, **rest)
        self.text(x + TICK + 4, y + 0.5, option, size=size)

    def row(self, height: float, *cells: "Cell") -> None:
        """Draw a row of cells, each with its share of the width, and go below it."""
        left = LEFT
        total = sum(cell.share for cell in cells)
        for cell in cells:
            right = left + (RIGHT - LEFT) * cell.share / total
            self.frame(left, self.y, right, self.y + height)
            inside = right - left - 2 * _PADDING
            below = self.text(
                left + _PADDING, self.y + _PADDING, cell.caption,
                size=cell.size, font=cell.font, width=inside,
            )  # fmt: skip
            if cell.draw:
                cell.draw(left + _PADDING, below, inside)
            if cell.kind:
                area = (left + 1, self.y + 1, right - 1, self.y + height - 1)
                self.boxes.append(DrawnBox(cell.number, cell.kind, area, cell.rest))
            left = right
        self.y += height


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a row. `draw` draws what is below its caption, at x and y, within a width."""

    caption: str
    number: str = ""
    kind: str = ""  # of its box; "" if nothing is written in it
    share: float = 1.0
    size: float = 7.0
    font: str = "Helvetica"
    draw: Callable[[float, float, float], None] | None = None
    rest: dict[str, Value] = field(default_factory=dict)


def cell(caption: str, number: str = "", kind: str = "text", share: float = 1.0, **rest: Value
         ) -> Cell:  # fmt: skip
    """Return a cell with a box. `rest` are the keys of its description."""
    return Cell(caption, number, kind, share, rest=rest)


@dataclass(frozen=True, slots=True)
class Redrawing:
    """One edition of a form. `pages` draw its pages; each has phrases that every copy contains."""

    key: str  # the name of its description
    name: str
    document_type: str
    edition: str
    edition_name: str
    is_superseded: bool
    pages: Sequence[tuple[tuple[str, ...], Callable[[BlankSheet], None]]]

    def draw(self) -> tuple[bytes, list[BlankSheet]]:
        """Return the blank form as a PDF, and its sheets with their boxes."""
        output = io.BytesIO()
        canvas = Canvas(output, pagesize=LETTER, invariant=1)
        sheets = []
        for signs, draw_page in self.pages:
            sheet = BlankSheet(canvas, signs)
            draw_page(sheet)
            canvas.showPage()
            sheets.append(sheet)
        canvas.save()
        return output.getvalue(), sheets

    def head(self) -> Iterator[str]:
        """Yield the first lines of the description."""
        yield f"# {self.name} ({self.edition}), redrawn for SiteLedger (docs/registered-forms.md)."
        for key in ("name", "document_type", "edition", "edition_name"):
            yield f'{key} = "{getattr(self, key)}"'
        yield f"is_superseded = {str(self.is_superseded).lower()}"
        yield "us_dates = true"
        yield "is_redrawn = true"
