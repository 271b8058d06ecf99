"""Papers for the tests of reading: small, and each about one thing."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pikepdf
import pypdf
import pypdfium2
from PIL import Image
from reportlab.lib.pagesizes import letter
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingestion.reading import tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.merge import merge
from ingestion.reading.results import DocumentReading, Unreadable

LIMITS = ReadingLimits()
LINES = (
    "INVESTIGATOR AGREEMENT",
    "Protocol number SLX-301, version 3.0 dated 12 August 2024",
    "Site number 1001, Cedar Ridge Medical Center, Columbus, Ohio",
    "I agree to conduct this study in accordance with the protocol",
    "and with the principles of Good Clinical Practice.",
)
HEADING = ("DEPARTMENT OF HEALTH AND HUMAN SERVICES", "FOOD AND DRUG ADMINISTRATION")
LABEL = (72, 192)  # points from the bottom left: where "Signature of Investigator" stands


def read(path: Path, limits: ReadingLimits = LIMITS) -> DocumentReading | Unreadable:
    """The whole way in this process: what the pool does, without its walls."""
    look = tasks.probe_document(path, path.with_suffix(".rewritten"), limits)
    if isinstance(look, Unreadable):
        return look
    return merge(look, [tasks.read_scans(look.part(look.scans), limits)] if look.scans else [])


def save(folder: Path, content: bytes, name: str = "paper.pdf") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def typed(*, lines=LINES, signed=False, pages=1) -> bytes:
    """A born-digital page with a signature line."""
    output = io.BytesIO()
    canvas = Canvas(output, letter)
    for _ in range(pages):
        canvas.setFont("Helvetica", 12)
        for number, line in enumerate(lines):
            canvas.drawString(72, 700 - 24 * number, line)
        canvas.line(72, 210, 320, 210)
        canvas.drawString(*LABEL, "Signature of Investigator")
        if signed:
            scribble(canvas, 90, 214)
        canvas.showPage()
    canvas.save()
    return output.getvalue()


def headed(*, small: tuple[str, ...]) -> bytes:
    """A form whose heading has small print beside it, two lines of which are as high as one."""
    output = io.BytesIO()
    canvas = Canvas(output, letter)
    canvas.setFont("Helvetica-Bold", 13)
    for number, line in enumerate(HEADING):
        canvas.drawCentredString(230, 720 - 18 * number, line)
    canvas.setFont("Helvetica", 6)
    for number, line in enumerate(small):
        canvas.drawString(400, 724 - 7 * number, line)
    canvas.setFont("Helvetica", 12)
    for number, line in enumerate(LINES[1:]):
        canvas.drawString(72, 640 - 24 * number, line)
    canvas.save()
    return output.getvalue()


def scribble(canvas: Canvas, x: float, y: float) -> None:
    canvas.setLineWidth(1.3)
    path = canvas.beginPath()
    path.moveTo(x, y)
    for step in range(6):
        left = x + 20 * step
        path.curveTo(left + 4, y + 34, left + 16, y + 30, left + 12, y - 2)
        path.curveTo(left + 10, y - 8, left + 18, y + 6, left + 20, y + 2)
    canvas.drawPath(path)


def picture_of(content: bytes, dpi: int = 200, turn: int = 0) -> Image.Image:
    """A page as a scanner sees it, turned counterclockwise."""
    with pypdfium2.PdfDocument(content) as document:
        grey = document[0].render(scale=dpi / 72, grayscale=True).to_pil().convert("L")
    return grey.rotate(turn, expand=True)


def shaded(picture: Image.Image) -> Image.Image:
    """As photographed by a lamp at its foot: the head has a quarter of the light."""
    light = np.linspace(0.25, 1, picture.height)[:, np.newaxis]
    pixels = (30 + np.asarray(picture, np.float64) * 0.8) * light
    return Image.fromarray(pixels.astype(np.uint8))


def askew(picture: Image.Image, degrees: float) -> Image.Image:
    """Clockwise, on a scanner's glass that shows all of it."""
    return picture.rotate(-degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=255)


def pictured(picture: Image.Image, stamp: str = "", dpi: int = 200) -> bytes:
    """A PDF whose only page is a picture, with a stamp of real text on it."""
    wide, high = picture.width * 72 / dpi, picture.height * 72 / dpi
    output = io.BytesIO()
    canvas = Canvas(output, (wide, high))
    canvas.drawImage(ImageReader(picture), 0, 0, wide, high)
    canvas.drawString(300, high - 30, stamp)
    canvas.save()
    return output.getvalue()


def form(values: dict[str, str], *, appearances: bool) -> bytes:
    """A fillable form with its fields filled by pypdf."""
    output = io.BytesIO()
    canvas = Canvas(output, letter)
    for number, name in enumerate(values):
        canvas.drawString(72, 700 - 40 * number, f"Label of {name}")
        canvas.acroForm.textfield(name=name, x=200, y=695 - 40 * number, width=250, height=20)
    canvas.save()
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(output.getvalue()))
    writer.update_page_form_field_values(writer.pages[0], values, auto_regenerate=not appearances)
    if not appearances:
        for annotation in writer.pages[0]["/Annots"]:
            annotation.get_object().pop("/AP", None)
    filled = io.BytesIO()
    writer.write(filled)
    return filled.getvalue()


def rewritten(content: bytes, change) -> bytes:
    """The document after `change(pdf)`."""
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(content)) as document:
        change(document)
        document.save(output)
    return output.getvalue()


def encrypted(content: bytes, *, user: str) -> bytes:
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(content)) as document:
        document.save(output, encryption=pikepdf.Encryption(owner="owner", user=user))
    return output.getvalue()


def with_script(content: bytes) -> bytes:
    def add(document: pikepdf.Pdf) -> None:
        action = pikepdf.Dictionary(S=pikepdf.Name.JavaScript, JS="app.alert('hello')")
        document.Root.OpenAction = document.make_indirect(action)

    return rewritten(content, add)


def docx() -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<document/>")
    return output.getvalue()


def bound(papers: list[bytes]) -> bytes:
    """Several papers in one."""
    output = io.BytesIO()
    with pikepdf.new() as together:
        for paper in papers:
            with pikepdf.open(io.BytesIO(paper)) as document:
                together.pages.extend(document.pages)
        together.save(output)
    return output.getvalue()
