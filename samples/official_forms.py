"""Draws filled specimens of official forms from the descriptions of the blank forms.

A specimen has the print, the rules and the squares of the blank form in their places. Its answers
are typed, written by hand, ticked or struck out.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reportlab.pdfgen.canvas import Canvas

from samples.ink import draw_signature

Area = tuple[float, float, float, float]  # left, top, right, bottom in points, y downwards

_FONT, _ANSWER_SIZE, _ANSWER_LEADING = "Helvetica", 9.0, 11.5
_CAPTION_POINTS = 24.0  # at the top of a box, where its caption is
_INK_COLOUR = (0.06, 0.09, 0.36)


class Manner(StrEnum):
    """The ways in which a box is filled in."""

    TYPED = "typed"
    BY_HAND = "by hand"
    TICKED = "ticked"
    STRUCK_OUT = "struck out"  #: typed, with a line through it
    FIELD = (
        "form field"  #: entered in a form field of the PDF; without a text, a box that is ticked
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """Contains the text that is written in an area of a page, as lines."""

    page: int  # from 1
    area: Area
    manner: Manner
    text: str = ""


@dataclass(frozen=True, slots=True)
class PrintedPage:
    """The print of a blank page: words with their boxes, and rules."""

    width: float
    height: float
    words: Sequence[tuple[str, Area]]
    rules: Sequence[Area]


def draw_form(pages: Sequence[PrintedPage], answers: Sequence[Answer], *, seed: str) -> bytes:
    """Return the form as a PDF of as many pages as it has."""
    output = io.BytesIO()
    canvas = Canvas(output, invariant=1)
    for number, page in enumerate(pages, start=1):
        canvas.setPageSize((page.width, page.height))
        _draw_print(canvas, page)
        draw_answers(canvas, page.height, [each for each in answers if each.page == number], seed)
        canvas.showPage()
    canvas.save()
    return output.getvalue()


def draw_answers(canvas: Any, height: float, answers: Sequence[Answer], seed: str) -> None:
    """Draw the answers of one page of this height, as on a transparent sheet."""
    for answer in answers:
        _DRAWERS[answer.manner](canvas, height, answer, seed)


def _draw_print(canvas: Any, page: PrintedPage) -> None:
    canvas.setFillGray(0)
    for text, (left, top, right, bottom) in page.words:
        size = max(4.0, (bottom - top) * 1.25)
        width = canvas.stringWidth(text, _FONT, size)
        canvas.saveState()
        canvas.translate(left, page.height - bottom)
        canvas.scale((right - left) / max(width, 1.0), 1)
        canvas.setFont(_FONT, size)
        canvas.drawString(0, 0, text)
        canvas.restoreState()
    for left, top, right, bottom in page.rules:
        canvas.rect(left, page.height - bottom, right - left, bottom - top, stroke=0, fill=1)


def _draw_typed(canvas: Any, height: float, answer: Answer, _seed: str) -> None:
    left, top, _right, bottom = answer.area
    canvas.setFillGray(0)
    canvas.setFont(_FONT, _ANSWER_SIZE)
    above = min(_CAPTION_POINTS, max(0.0, bottom - top - _ANSWER_LEADING))
    for row, line in enumerate(answer.text.splitlines(), start=1):
        canvas.drawString(left + 12, height - (top + above + row * _ANSWER_LEADING - 2), line)


def _draw_by_hand(canvas: Any, height: float, answer: Answer, seed: str) -> None:
    left, top, right, bottom = answer.area
    size = min(26.0, (bottom - top) * 0.55)
    width = min(180.0, right - left - 30)
    draw_signature(canvas, answer.text, (left + 14, height - bottom + 7, width, size), seed)


def _draw_tick(canvas: Any, height: float, answer: Answer, _seed: str) -> None:
    left, top, right, bottom = answer.area
    canvas.setStrokeColorRGB(*_INK_COLOUR)
    canvas.setLineWidth(1.3)
    canvas.line(left + 1, height - top - 1, right - 1, height - bottom + 1)
    canvas.line(left + 1, height - bottom + 1, right - 1, height - top - 1)


def _draw_struck_out(canvas: Any, height: float, answer: Answer, seed: str) -> None:
    _draw_typed(canvas, height, answer, seed)
    left, top, _, bottom = answer.area
    above = min(_CAPTION_POINTS, max(0.0, bottom - top - _ANSWER_LEADING))
    canvas.setStrokeColorRGB(*_INK_COLOUR)
    canvas.setLineWidth(1.4)
    for row, line in enumerate(answer.text.splitlines(), start=1):
        y = height - (top + above + row * _ANSWER_LEADING - 5)
        end = left + 18 + canvas.stringWidth(line, _FONT, _ANSWER_SIZE)
        canvas.line(left + 8, y + 0.5, end, y - 0.5)


def _draw_field(canvas: Any, height: float, answer: Answer, _seed: str) -> None:
    left, top, right, bottom = answer.area
    shared = {"name": f"{answer.page}-{left:.0f}-{top:.0f}", "x": left, "borderWidth": 0}
    if not answer.text:
        size = min(right - left, bottom - top)
        canvas.acroForm.checkbox(checked=True, y=height - bottom, size=size, **shared)
        return
    above = min(_CAPTION_POINTS, max(0.0, bottom - top - _ANSWER_LEADING - 4))
    canvas.acroForm.textfield(
        value=answer.text,
        y=height - bottom,
        width=right - left,
        height=bottom - top - above,
        fontSize=_ANSWER_SIZE,
        fieldFlags="multiline",
        fillColor=None,
        **shared,
    )


_DRAWERS: Mapping[Manner, Any] = {
    Manner.TYPED: _draw_typed,
    Manner.BY_HAND: _draw_by_hand,
    Manner.TICKED: _draw_tick,
    Manner.STRUCK_OUT: _draw_struck_out,
    Manner.FIELD: _draw_field,
}
