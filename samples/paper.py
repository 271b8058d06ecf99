"""The sheet that a document is set on: size, margins, page numbers, and the word SPECIMEN."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reportlab.lib.pagesizes import A4, LETTER, landscape
from reportlab.platypus import SimpleDocTemplate

from samples.people_and_sites import SampleSite

Story = list[Any]  # flowables of reportlab, which has no types

_NOTICE = "SPECIMEN - fictitious document for system testing"
_FAINT = 0.93  # grey of the watermark: visible, and far above what OCR takes for ink
_SMALL = 0.35


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """`label` is the sticker by which a site files a paper that does not name the study itself."""

    title: str
    size: tuple[float, float]  # points
    footer: str = ""
    label: str = ""
    framed: bool = False  # a double line round the page, as on a certificate
    margin: float = 54.0  # points

    @property
    def text_width(self) -> float:
        return self.size[0] - 2 * self.margin


def sheet_for(
    site: SampleSite, title: str, *, label: bool = False, wide: bool = False, **rest: Any
) -> Sheet:
    """American sites print on Letter, all others on A4."""
    size = LETTER if site.is_american else A4
    sticker = f"Study {site.study.protocol_number}   Site number: {site.site_id}" if label else ""
    return Sheet(title=title, size=landscape(size) if wide else size, label=sticker, **rest)


def typeset(sheet: Sheet, story: Callable[[], Story]) -> bytes:
    """Set twice, since the first page names the number of the last."""
    pages = _build(sheet, story(), pages=0)[1]
    return _build(sheet, story(), pages)[0]


def _build(sheet: Sheet, story: Story, pages: int) -> tuple[bytes, int]:
    def furnish(canvas: Any, _: Any) -> None:
        canvas.saveState()
        _mark_as_specimen(canvas, sheet)
        _number(canvas, sheet, pages)
        if sheet.framed:
            _frame(canvas, sheet)
        if sheet.label and canvas.getPageNumber() == 1:
            _stick(canvas, sheet)
        canvas.restoreState()

    output = io.BytesIO()
    template = SimpleDocTemplate(
        output,
        pagesize=sheet.size,
        leftMargin=sheet.margin,
        rightMargin=sheet.margin,
        topMargin=sheet.margin,
        bottomMargin=sheet.margin,
        title=f"{sheet.title} (SPECIMEN)",
        author="SiteLedger sample generator",
        invariant=1,
    )
    template.build(story, onFirstPage=furnish, onLaterPages=furnish)
    return output.getvalue(), template.page


def _mark_as_specimen(canvas: Any, sheet: Sheet) -> None:
    """Away from every line to sign on: a reader must not take the one for the other."""
    width, height = sheet.size
    canvas.setFillGray(_FAINT)
    canvas.setFont("Helvetica-Bold", 48)
    canvas.saveState()
    canvas.translate(*((width * 0.74, 210) if width > height else (width / 2, height * 0.68)))
    canvas.rotate(24)
    canvas.drawCentredString(0, -20, "SPECIMEN")
    canvas.restoreState()
    canvas.setFillGray(_SMALL)
    canvas.setFont("Helvetica", 7)
    canvas.drawCentredString(width / 2, height - 26, _NOTICE)


def _frame(canvas: Any, sheet: Sheet) -> None:
    width, height = sheet.size
    canvas.setStrokeColorRGB(0.45, 0.33, 0.1)
    for inset, line in ((40, 1.6), (44, 0.5)):
        canvas.setLineWidth(line)
        canvas.rect(inset, inset + 5, width - 2 * inset, height - 2 * inset - 20)


def _number(canvas: Any, sheet: Sheet, pages: int) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawString(sheet.margin, 30, sheet.footer or sheet.title)
    page = f"Page {canvas.getPageNumber()} of {pages}"
    canvas.drawRightString(sheet.size[0] - sheet.margin, 30, page)


def _stick(canvas: Any, sheet: Sheet) -> None:
    width, height = sheet.size
    canvas.setFillGray(0)
    canvas.setStrokeGray(0.4)
    canvas.setLineWidth(0.7)
    canvas.rect(width - sheet.margin - 190, height - 52, 190, 16)
    canvas.setFont("Helvetica", 8.5)
    canvas.drawCentredString(width - sheet.margin - 95, height - 47, sheet.label)
