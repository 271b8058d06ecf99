"""Draws parts of a page: signatures, signature lines, seals, tick boxes and form fields."""

import math
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.utils import simpleSplit
from reportlab.platypus import Flowable

from samples.blocks import PLAIN, make_markup_paragraph
from samples.ink import draw_signature

_INK_COLOUR = (0.06, 0.09, 0.36)


class HandwrittenSignature(Flowable):  # type: ignore[misc] # reportlab has no types
    """A signature without a line, as in a cell of a table. `name` determines the handwriting."""

    def __init__(self, name: str, seed: str, size: tuple[float, float]) -> None:
        super().__init__()
        self.name, self.seed = name, seed
        self.width, self.height = size

    def draw(self) -> None:
        below = self.height * 0.25
        draw_signature(self.canv, self.name, (0, below, self.width, self.height - below), self.seed)


class SignatureLine(Flowable):  # type: ignore[misc] # reportlab has no types
    """A signature line and a date line. Without a seed, the signature line is empty."""

    def __init__(
        self, label: str, name: str, dated: str, *, seed: str | None, beside: bool = False
    ) -> None:
        super().__init__()
        self.height = 74.0
        self.label, self.name, self.dated = label, name, dated
        self.seed, self.beside = seed, beside

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        self.width = width
        return width, self.height

    def draw(self) -> None:
        """Draw the label beside the line or below it, and the name below the line."""
        canvas, date_at = self.canv, self.width * 0.68
        line_at = canvas.stringWidth(self.label, "Helvetica", 9) + 12 if self.beside else 0.0
        line_to = date_at - 24
        canvas.setLineWidth(0.6)
        canvas.line(line_at, 30, line_to, 30)
        canvas.line(date_at + 30, 30, self.width, 30)
        canvas.setFont("Helvetica", 9)
        canvas.drawString(line_at, 4, self.name)
        canvas.drawString(0, *((32, f"{self.label}:") if self.beside else (15, self.label)))
        canvas.drawString(date_at, 32, "Date:")
        canvas.setFillColorRGB(*_INK_COLOUR)
        canvas.setFont("Helvetica-Oblique", 10.5)
        canvas.drawString(date_at + 30, 33.5, self.dated)
        if self.seed is not None:
            box = (line_at + 10, 35, min(170.0, line_to - line_at - 16), 38)
            draw_signature(canvas, self.name.split(",")[0], box, self.seed)


class Seal(Flowable):  # type: ignore[misc] # reportlab has no types
    """The centred round seal of an authority with its initials."""

    def __init__(self, initials: str) -> None:
        super().__init__()
        self.initials, self.height = initials, 62.0

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        self.width = width
        return width, self.height

    def draw(self) -> None:
        canvas, centre = self.canv, (self.width / 2, 30)
        canvas.setStrokeColorRGB(0.45, 0.33, 0.1)
        for radius, width in ((28, 1.6), (25, 0.5), (17, 0.5)):
            canvas.setLineWidth(width)
            canvas.circle(*centre, radius)
        for turn in range(0, 360, 15):
            x, y = math.cos(math.radians(turn)), math.sin(math.radians(turn))
            canvas.line(
                centre[0] + 19 * x, centre[1] + 19 * y, centre[0] + 23 * x, centre[1] + 23 * y
            )
        canvas.setFont("Times-Bold", 12)
        canvas.drawCentredString(centre[0], centre[1] - 4, self.initials)


class TickBox(Flowable):  # type: ignore[misc] # reportlab has no types
    """A tick box with its caption, crossed or empty."""

    def __init__(self, caption: str, *, ticked: bool) -> None:
        super().__init__()
        self.caption, self.ticked = caption, ticked
        self.height = 14.0

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        return width, self.height

    def draw(self) -> None:
        self.canv.setLineWidth(0.8)
        self.canv.rect(0, 2, 8, 8)
        if self.ticked:
            self.canv.line(1, 3, 7, 9)
            self.canv.line(1, 9, 7, 3)
        self.canv.setFont("Helvetica", 9)
        self.canv.drawString(14, 3, self.caption)


class FormField(Flowable):  # type: ignore[misc] # reportlab has no types
    """A text field of an interactive form (AcroForm) with its value."""

    def __init__(self, name: str, value: str, height: float) -> None:
        super().__init__()
        self.name, self.value, self.height = name, value, height

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        self.width = width
        return width, self.height

    def draw(self) -> None:
        # reportlab does not wrap the text of form fields.
        lines = [
            line
            for typed in self.value.split("\n")
            for line in simpleSplit(typed, "Helvetica", 9, self.width - 8)
        ]
        self.canv.acroForm.textfield(
            name=self.name,
            value="\n".join(lines),
            width=self.width,
            height=self.height,
            relative=True,
            fieldFlags="multiline" if "\n" in self.value else "",
            borderWidth=0,
            fillColor=colors.Color(0.94, 0.96, 1.0),
            fontName="Helvetica",
            fontSize=9,
            maxlen=2000,
        )


def make_form_answer(name: str, value: str, *, height: float, fillable: bool) -> Any:
    """Return a filled-in answer: a form field if `fillable`, else printed text."""
    if fillable:
        return FormField(name, value, height)
    return make_markup_paragraph("<br/>".join(escape(line) for line in value.split("\n")), PLAIN)
