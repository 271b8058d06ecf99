"""Adds marks to a finished document, as people do: stamps, strike-outs, corrections, stickers."""

import io
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import pikepdf
import pypdfium2 as pdfium
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from samples.glyph_outlines import (
    STANDARD_FONTS,
    Glyph,
    iter_word_outlines,
    measure_words_width,
    read_glyph_outline,
)

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
    ANNOTATION = "annotation"
    PAGE_IMAGE = "page-image"  #: an image of the whole page that is transparent beside the stamp
    IMAGE = "image"  #: a transparent image as large as the stamp
    OPAQUE_IMAGE = "opaque-image"  #: an image as large as the stamp, on white
    OUTLINES = "outlines"  #: one path for each letter, as of WordArt
    ONE_OUTLINE = "one-outline"  #: one path for all letters
    SOFT_MASK = "soft-mask"  #: a form XObject with outlines that is seen through a soft mask
    TYPE_3 = "type-3"  #: text in a font of type 3 that does not say which letters it draws


#: The forms of a stamp whose words are not in the text of the page.
DRAWN_FORMS = tuple(StampForm)[2:]


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
    opacity: float = 1.0  # of stamps that are drawn
    below: bool = False  # whether the stamp is drawn before the print, as a watermark of Word


def choose_stamp(words: str, seed: str, *, watermark: bool) -> Stamp:
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


def choose_drawn_stamp(words: str, seed: str, *, form: StampForm) -> Stamp:
    """Return a stamp of a random look that is drawn: a watermark or a rubber stamp."""
    rng = random.Random(f"drawn stamp {form} {words} {seed}")
    font = rng.choice(STANDARD_FONTS)
    if rng.random() < 0.5:
        widest = min(110.0, 640 / measure_words_width(words, font))  # to fit the diagonal of a page
        return Stamp(
            words,
            font=font,
            size=rng.uniform(0.5, 1.0) * widest,
            degrees=rng.choice((30.0, 45.0, 55.0, -45.0, 0.0)),
            colour=rng.choice(((0.75, 0.75, 0.75), (0.5, 0.5, 0.5), (0.9, 0.2, 0.2), (0, 0, 0.6))),
            form=form,
            opacity=rng.uniform(0.3, 0.9),
            below=form is not StampForm.OPAQUE_IMAGE and rng.random() < 0.6,
        )
    size = min(rng.uniform(14, 44), 380 / measure_words_width(words, font))
    return Stamp(
        words,
        font=font,
        size=size,
        degrees=rng.choice((0.0, 0.0, rng.uniform(-25, 25))),
        colour=rng.choice(STAMP_COLOURS[:4]),
        boxed=rng.random() < 0.6,
        place=(rng.uniform(0.35, 0.65), rng.uniform(0.1, 0.92)),
        form=form,
        opacity=rng.choice((1.0, 1.0, rng.uniform(0.4, 0.9))),
    )


def add_stamp(content: bytes, stamp: Stamp, *, page: int = 1) -> bytes:
    """Return the PDF with a stamp on page `page`, counted from 1."""
    with pikepdf.open(io.BytesIO(content)) as document:
        sheet = document.pages[page - 1]
        width, height = (float(each) for each in sheet.mediabox[2:])
        overlay = _draw_stamp(stamp, (width, height))
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
                add = sheet.add_underlay if stamp.below else sheet.add_overlay
                add(drawn.pages[0], pikepdf.Rectangle(0, 0, width, height))
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


def cover_words(content: bytes, words: str, *, new_text: str = "", page: int = 1) -> bytes:
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
    """Return a page of this size that contains nothing but the stamp."""
    if stamp.form in {StampForm.TEXT, StampForm.ANNOTATION}:
        return _draw_as_text(stamp, size)
    outlines = _draw_as_outlines(stamp, size)
    if stamp.form in {StampForm.PAGE_IMAGE, StampForm.IMAGE, StampForm.OPAQUE_IMAGE}:
        return _draw_as_image(outlines, size, stamp.form)
    return outlines


def _draw_as_text(stamp: Stamp, size: tuple[float, float]) -> bytes:
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


def _draw_as_outlines(stamp: Stamp, size: tuple[float, float]) -> bytes:
    """Return a page with the stamp as paths, or as text in a font of type 3."""
    width = measure_words_width(stamp.words, stamp.font)
    centre = (stamp.place[0] * size[0], stamp.place[1] * size[1])
    matrix = (
        pikepdf.Matrix()
        .translated(*centre)
        .rotated(stamp.degrees)
        .scaled(stamp.size, stamp.size)
        .translated(-width / 2, -0.36)
    )
    colour = " ".join(f"{each:.3f}" for each in stamp.colour)
    numbers = " ".join(f"{each:.5f}" for each in matrix.shorthand)
    operators = ["q /Faint gs", f"{colour} rg {colour} RG", f"{numbers} cm"]
    if stamp.boxed:
        line_width = max(1.5, stamp.size / 14) / stamp.size
        operators.append(f"{line_width:.4f} w -0.3 -0.29 {width + 0.6:.4f} 1.3 re S")
    resources = pikepdf.Dictionary(
        ExtGState=pikepdf.Dictionary(Faint=pikepdf.Dictionary(ca=stamp.opacity, CA=stamp.opacity))
    )
    document = pikepdf.new()
    if stamp.form is StampForm.TYPE_3:
        resources.Font = pikepdf.Dictionary(F=document.make_indirect(_type_3_font(document, stamp)))
        codes = bytes(range(1, len(stamp.words) + 1)).hex()
        operators.append(f"BT /F 1 Tf <{codes}> Tj ET")
    elif stamp.form is StampForm.ONE_OUTLINE:
        operators += [_moved(glyph.operators, at) for at, glyph in _outlines(stamp)] + ["f"]
    else:
        operators += [f"{_moved(glyph.operators, at)} f" for at, glyph in _outlines(stamp)]
    content = "\n".join([*operators, "Q"]).encode()
    page = pikepdf.Dictionary(
        Type=pikepdf.Name.Page,
        MediaBox=[0, 0, *size],
        Resources=resources,
        Contents=document.make_stream(content),
    )
    if stamp.form is StampForm.SOFT_MASK:
        _see_through_mask(document, page, size)
    document.pages.append(pikepdf.Page(document.make_indirect(page)))
    return _save(document)


def _outlines(stamp: Stamp) -> list[tuple[float, Glyph]]:
    return [each for each in iter_word_outlines(stamp.words, stamp.font) if each[1].operators]


def _moved(operators: str, distance: float) -> str:
    """Return the operators of a path with their x coordinates moved by a distance."""
    moved: list[str] = []
    numbers = 0
    for word in operators.split():
        is_number = word not in {"m", "l", "c", "h"}
        moved.append(f"{float(word) + distance:.4f}" if is_number and numbers % 2 == 0 else word)
        numbers = numbers + 1 if is_number else 0
    return " ".join(moved)


def _type_3_font(document: pikepdf.Pdf, stamp: Stamp) -> pikepdf.Dictionary:
    """Return a font that draws each letter of the stamp, under names that say nothing."""
    glyphs = [read_glyph_outline(letter, stamp.font) for letter in stamp.words]
    names = [f"/a{number}" for number in range(len(glyphs))]
    return pikepdf.Dictionary(
        Type=pikepdf.Name.Font,
        Subtype=pikepdf.Name.Type3,
        FontBBox=[0, -0.3, 1.2, 1],
        FontMatrix=[1, 0, 0, 1, 0, 0],
        FirstChar=1,
        LastChar=len(glyphs),
        Widths=[glyph.width for glyph in glyphs],
        Encoding=pikepdf.Dictionary(
            Type=pikepdf.Name.Encoding, Differences=[1, *map(pikepdf.Name, names)]
        ),
        CharProcs=pikepdf.Dictionary(
            {
                name: document.make_stream(
                    f"{glyph.width:.4f} 0 0 -0.3 1.2 1 d1 {glyph.operators} f".encode()
                )
                for name, glyph in zip(names, glyphs, strict=True)
            }
        ),
        Resources=pikepdf.Dictionary(),
    )


def _see_through_mask(
    document: pikepdf.Pdf, page: pikepdf.Dictionary, size: tuple[float, float]
) -> None:
    """Draw the content of a page as a form XObject that is seen through a soft mask."""
    form = document.make_stream(page.Contents.read_bytes())
    form.Type, form.Subtype, form.BBox = pikepdf.Name.XObject, pikepdf.Name.Form, [0, 0, *size]
    form.Resources = page.Resources
    form.Group = pikepdf.Dictionary(S=pikepdf.Name.Transparency, CS=pikepdf.Name.DeviceRGB)
    mask = document.make_stream(f"0.5 g 0 0 {size[0]} {size[1]} re f".encode())
    mask.Type, mask.Subtype, mask.BBox = pikepdf.Name.XObject, pikepdf.Name.Form, [0, 0, *size]
    mask.Group = pikepdf.Dictionary(S=pikepdf.Name.Transparency, CS=pikepdf.Name.DeviceGray)
    soft = pikepdf.Dictionary(S=pikepdf.Name.Luminosity, G=mask)
    page.Resources = pikepdf.Dictionary(
        ExtGState=pikepdf.Dictionary(Masked=pikepdf.Dictionary(SMask=soft)),
        XObject=pikepdf.Dictionary(Stamp=form),
    )
    page.Contents = document.make_stream(b"q /Masked gs /Stamp Do Q")


def _draw_as_image(drawn: bytes, size: tuple[float, float], form: StampForm) -> bytes:
    """Return a drawn page as one image: of the whole page, or only of what is drawn."""
    scale = 2.0  # pixels per point
    document = pdfium.PdfDocument(drawn)
    try:
        bitmap = document[0].render(scale=scale, fill_color=(255, 255, 255, 0), maybe_alpha=True)
        image = bitmap.to_pil().convert("RGBA")
    finally:
        document.close()
    place = (0.0, 0.0, *size)  # left, bottom, width and height
    if form is not StampForm.PAGE_IMAGE:
        left, top, right, bottom = image.getchannel("A").getbbox()
        image = image.crop((left, top, right, bottom))
        place = (
            left / scale, size[1] - bottom / scale, (right - left) / scale, (bottom - top) / scale
        )  # fmt: skip
    if form is StampForm.OPAQUE_IMAGE:
        paper = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(paper, image).convert("RGB")
    output = io.BytesIO()
    canvas = Canvas(output, size, invariant=1)
    canvas.drawImage(ImageReader(image), *place, mask="auto")
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
