"""The separator sheet that announces one document: a page with a QR code and its text."""

import io

import segno
from reportlab.lib.pagesizes import LETTER
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingestion.rules.document_types import TYPES
from ingestion.rules.segmentation.separators import Separator

CODE_SIDE = 200.0  # points, about 7 cm
CODE_SCALE = 12  # pixels for each module


def separator_sheet(separators: list[Separator], *, heading: str = "Separator sheet") -> bytes:
    """Return a PDF with one sheet for each separator.

    `heading` is translated by the caller. Each sheet is placed before the document that it names.
    """
    output = io.BytesIO()
    canvas = Canvas(output, LETTER, invariant=1)
    width, height = LETTER
    for separator in separators:
        picture = io.BytesIO()
        segno.make_qr(separator.payload, error="q").save(picture, kind="png", scale=CODE_SCALE)
        picture.seek(0)
        canvas.setFont("Helvetica-Bold", 28)
        canvas.drawCentredString(width / 2, height - 130, heading)
        canvas.setFont("Helvetica", 18)
        kind = TYPES.get(separator.type)
        canvas.drawCentredString(width / 2, height - 175, kind.name if kind else separator.type)
        named = " ".join(filter(None, (separator.site_id, separator.person)))
        canvas.drawCentredString(width / 2, height - 205, named)
        left = (width - CODE_SIDE) / 2
        canvas.drawImage(ImageReader(picture), left, height - 480, CODE_SIDE, CODE_SIDE)
        canvas.setFont("Courier", 8)
        canvas.drawCentredString(width / 2, height - 510, separator.payload)
        canvas.showPage()
    canvas.save()
    return output.getvalue()
