"""Defines the page format of a document: size, margins, page numbers and the word SPECIMEN."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reportlab.lib.pagesizes import A4, LETTER, landscape
from reportlab.platypus import SimpleDocTemplate

from samples.people_and_sites import SampleSite

Story = list[Any]  # flowables of reportlab, which has no types

_NOTICE = "SPECIMEN - fictitious document for system testing"
_WATERMARK_GREY = 0.93  # visible, but too light for OCR to read
_NOTICE_GREY = 0.35


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFormat:
    """The format of a document.

    `label` is the text of a sticker on documents that do not name the study.
    """

    title: str
    size: tuple[float, float]  # points
    footer: str = ""
    label: str = ""
    framed: bool = False  # whether a double line surrounds the page, as on a certificate
    margin: float = 54.0  # points

    @property
    def text_width(self) -> float:
        """Return the width between the margins in points."""
        return self.size[0] - 2 * self.margin


def get_page_format(
    site: SampleSite, title: str, *, label: bool = False, wide: bool = False, **rest: Any
) -> PageFormat:
    """Return the format for a site: Letter in the United States, A4 elsewhere."""
    size = LETTER if site.is_american else A4
    label_text = (
        f"Study {site.study.protocol_number}   Site number: {site.site_id}" if label else ""
    )
    return PageFormat(title=title, size=landscape(size) if wide else size, label=label_text, **rest)


def typeset(sheet: PageFormat, story: Callable[[], Story]) -> bytes:
    """Return the PDF. It is typeset twice, because each page shows the number of pages."""
    pages = _build(sheet, story(), pages=0)[1]
    return _build(sheet, story(), pages)[0]


def _build(sheet: PageFormat, story: Story, pages: int) -> tuple[bytes, int]:
    def draw_furniture(canvas: Any, _: Any) -> None:
        canvas.saveState()
        _draw_watermark(canvas, sheet)
        _draw_footer(canvas, sheet, pages)
        if sheet.framed:
            _draw_frame(canvas, sheet)
        if sheet.label and canvas.getPageNumber() == 1:
            _draw_label(canvas, sheet)
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
    template.build(story, onFirstPage=draw_furniture, onLaterPages=draw_furniture)
    return output.getvalue(), template.page


def _draw_watermark(canvas: Any, sheet: PageFormat) -> None:
    """Draw the watermark away from signature lines, where it could be read as a signature."""
    width, height = sheet.size
    canvas.setFillGray(_WATERMARK_GREY)
    canvas.setFont("Helvetica-Bold", 48)
    canvas.saveState()
    canvas.translate(*((width * 0.74, 210) if width > height else (width / 2, height * 0.68)))
    canvas.rotate(24)
    canvas.drawCentredString(0, -20, "SPECIMEN")
    canvas.restoreState()
    canvas.setFillGray(_NOTICE_GREY)
    canvas.setFont("Helvetica", 7)
    canvas.drawCentredString(width / 2, height - 26, _NOTICE)


def _draw_frame(canvas: Any, sheet: PageFormat) -> None:
    width, height = sheet.size
    canvas.setStrokeColorRGB(0.45, 0.33, 0.1)
    for inset, line in ((40, 1.6), (44, 0.5)):
        canvas.setLineWidth(line)
        canvas.rect(inset, inset + 5, width - 2 * inset, height - 2 * inset - 20)


def _draw_footer(canvas: Any, sheet: PageFormat, pages: int) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawString(sheet.margin, 30, sheet.footer or sheet.title)
    page = f"Page {canvas.getPageNumber()} of {pages}"
    canvas.drawRightString(sheet.size[0] - sheet.margin, 30, page)


def _draw_label(canvas: Any, sheet: PageFormat) -> None:
    width, height = sheet.size
    canvas.setFillGray(0)
    canvas.setStrokeGray(0.4)
    canvas.setLineWidth(0.7)
    canvas.rect(width - sheet.margin - 190, height - 52, 190, 16)
    canvas.setFont("Helvetica", 8.5)
    canvas.drawCentredString(width - sheet.margin - 95, height - 47, sheet.label)
