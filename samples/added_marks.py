"""Marks that people add to a finished document: stamps, strike-outs, corrections and stickers."""

import io
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import pikepdf
import pypdfium2 as pdfium
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

STAMP_FONTS = (
    "Helvetica-Bold", "Helvetica", "Times-Bold", "Times-Roman", "Courier-Bold", "Helvetica-Oblique",
)  # fmt: skip
STAMP_COLOURS = (
    (0.78, 0.08, 0.1), (0.1, 0.2, 0.7), (0.05, 0.45, 0.15), (0.1, 0.1, 0.1), (0.72, 0.72, 0.72),
)  # fmt: skip

Rect = tuple[float, float, float, float]  # left, bottom, right and top in points


class StampForm(StrEnum):
    """The ways in which a stamp is part of a PDF."""

    TEXT = "text"
    OUTLINE = "outline"  #: drawn as an image, without text
    ANNOTATION = "annotation"


@dataclass(frozen=True, slots=True)
class Stamp:
    """A stamp: its words, its look, and the place of its centre as shares of the page."""

    words: str
    font: str = "Helvetica-Bold"
    size: float = 40.0  # points
    degrees: float = 0.0
    colour: tuple[float, float, float] = STAMP_COLOURS[0]
    boxed: bool = False
    place: tuple[float, float] = (0.5, 0.5)
    form: StampForm = StampForm.TEXT


def random_stamp(words: str, seed: str, *, watermark: bool) -> Stamp:
    """Return a stamp of a random look: a large diagonal watermark, or a rubber stamp."""
    rng = random.Random(f"stamp {words} {seed}")
    if watermark:
        return Stamp(
            words,
            font=rng.choice(STAMP_FONTS),
            size=rng.uniform(60, 110),
            degrees=rng.choice((30.0, 45.0, 55.0, -45.0)),
            colour=rng.choice(((0.8, 0.8, 0.8), (0.7, 0.7, 0.7), (0.95, 0.7, 0.7))),
        )
    return Stamp(
        words,
        font=rng.choice(STAMP_FONTS[:5:2]),
        size=rng.uniform(20, 44),
        degrees=rng.choice((0.0, 0.0, rng.uniform(-25, 25))),
        colour=rng.choice(STAMP_COLOURS[:4]),
        boxed=rng.random() < 0.6,
        place=(rng.uniform(0.3, 0.7), rng.uniform(0.15, 0.9)),
    )


def add_stamp(content: bytes, stamp: Stamp, *, page: int = 1) -> bytes:
    """Return the PDF with a stamp on page `page`, counted from 1."""
    with pikepdf.open(io.BytesIO(content)) as document:
        sheet = document.pages[page - 1]
        width, height = (float(each) for each in sheet.mediabox[2:])
        overlay = _draw_stamp(stamp, (width, height))
        if stamp.form is StampForm.OUTLINE:
            overlay = _as_image(overlay, (width, height))
        with pikepdf.open(io.BytesIO(overlay)) as drawn:
            if stamp.form is StampForm.ANNOTATION:
                appearance = document.copy_foreign(drawn.pages[0].as_form_xobject())
                annotation = pikepdf.Dictionary(
                    Type=pikepdf.Name.Annot,
                    Subtype=pikepdf.Name.Stamp,
                    Name=pikepdf.Name("/SB" + stamp.words.title().replace(" ", "")),
                    Rect=[0, 0, width, height],
                    F=4,
                    AP=pikepdf.Dictionary(N=appearance),
                )
                sheet.Annots = pikepdf.Array([document.make_indirect(annotation)])
            else:
                sheet.add_overlay(drawn.pages[0], pikepdf.Rectangle(0, 0, width, height))
        return _save(document)


def strike_out(content: bytes, words: str, *, initials: str = "", page: int = 1) -> bytes:
    """Return the PDF with a line through the words, and the initials above them.

    `initials` may contain a date and new text. Raises ValueError if the words are not on the page.
    """
    left, bottom, right, top = find_words(content, words, page=page)

    def draw(canvas: Canvas) -> None:
        canvas.setStrokeColorRGB(0.06, 0.09, 0.36)
        canvas.setLineWidth(1.1)
        middle = (bottom + top) / 2
        canvas.line(left - 1, middle, right + 1, middle)
        canvas.setFillColorRGB(0.06, 0.09, 0.36)
        canvas.setFont("Helvetica", 9)
        canvas.drawString(right + 6, bottom, initials)

    return _draw_over(content, draw, page)


def cover(content: bytes, words: str, *, new_text: str = "", page: int = 1) -> bytes:
    """Return the PDF with an opaque sticker over the words, and new text on the sticker.

    Raises ValueError if the words are not on the page.
    """
    left, bottom, right, top = find_words(content, words, page=page)

    def draw(canvas: Canvas) -> None:
        canvas.setFillColorRGB(1, 1, 1)
        canvas.setStrokeColorRGB(0.8, 0.8, 0.8)
        canvas.rect(left - 3, bottom - 3, right - left + 6, top - bottom + 6, stroke=1, fill=1)
        canvas.setFillColorRGB(0, 0, 0)
        canvas.setFont("Helvetica", 9)
        canvas.drawString(left, bottom, new_text)

    return _draw_over(content, draw, page)


def find_words(content: bytes, words: str, *, page: int = 1) -> Rect:
    """Return where the words are on a page. Raises ValueError if they are not on it."""
    document = pdfium.PdfDocument(content)
    try:
        layer = document[page - 1].get_textpage()
        found = layer.search(words).get_next()
        if found is None:
            raise ValueError(f"{words!r} is not on page {page}")
        start, length = found
        rects = [layer.get_rect(index) for index in range(layer.count_rects(start, length))]
        lefts, bottoms, rights, tops = zip(*rects, strict=True)
        return min(lefts), min(bottoms), max(rights), max(tops)
    finally:
        document.close()


def _draw_stamp(stamp: Stamp, size: tuple[float, float]) -> bytes:
    output = io.BytesIO()
    canvas = Canvas(output, size, invariant=1)
    canvas.translate(stamp.place[0] * size[0], stamp.place[1] * size[1])
    canvas.rotate(stamp.degrees)
    canvas.setFillColorRGB(*stamp.colour)
    canvas.setStrokeColorRGB(*stamp.colour)
    canvas.setFont(stamp.font, stamp.size)
    canvas.drawCentredString(0, -0.36 * stamp.size, stamp.words)
    if stamp.boxed:
        half = canvas.stringWidth(stamp.words, stamp.font, stamp.size) / 2 + 0.3 * stamp.size
        canvas.setLineWidth(max(1.5, stamp.size / 14))
        canvas.rect(-half, -0.65 * stamp.size, 2 * half, 1.3 * stamp.size)
    canvas.showPage()
    canvas.save()
    return output.getvalue()


def _as_image(overlay: bytes, size: tuple[float, float]) -> bytes:
    """Return a drawn page as one image with a transparent background."""
    document = pdfium.PdfDocument(overlay)
    try:
        bitmap = document[0].render(scale=2.0, fill_color=(255, 255, 255, 0), maybe_alpha=True)
        image = ImageReader(bitmap.to_pil().convert("RGBA"))
    finally:
        document.close()
    output = io.BytesIO()
    canvas = Canvas(output, size, invariant=1)
    canvas.drawImage(image, 0, 0, *size, mask="auto")
    canvas.showPage()
    canvas.save()
    return output.getvalue()


def _draw_over(content: bytes, draw: Callable[[Canvas], None], page: int) -> bytes:
    with pikepdf.open(io.BytesIO(content)) as document:
        sheet = document.pages[page - 1]
        width, height = (float(each) for each in sheet.mediabox[2:])
        output = io.BytesIO()
        canvas = Canvas(output, (width, height), invariant=1)
        draw(canvas)
        canvas.showPage()
        canvas.save()
        with pikepdf.open(io.BytesIO(output.getvalue())) as drawn:
            sheet.add_overlay(drawn.pages[0], pikepdf.Rectangle(0, 0, width, height))
        return _save(document)


def _save(document: pikepdf.Pdf) -> bytes:
    output = io.BytesIO()
    document.save(output, deterministic_id=True)
    return output.getvalue()
