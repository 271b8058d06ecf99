"""Small documents for the tests of reading, and functions that read and change them."""

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
from ingestion.reading.merge import merge_pages
from ingestion.reading.results import DocumentReading, Unreadable

# On a busy machine, OCR of a page may take longer than production permits.
LIMITS = ReadingLimits(page_seconds=300.0, engine_seconds=240.0, task_seconds=900.0)
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
    """Read a file in this process: as the pool does, but without its limits."""
    probe = tasks.probe_document(path, path.with_suffix(".rewritten"), limits)
    if isinstance(probe, Unreadable):
        return probe
    return merge_pages(
        probe, [tasks.read_scans(probe.part(probe.scans), limits)] if probe.scans else []
    )


def save(folder: Path, content: bytes, name: str = "paper.pdf") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def make_pdf(*, lines=LINES, signed=False, pages=1, size=12) -> bytes:
    """Return a born-digital PDF whose pages have a signature line."""
    output = io.BytesIO()
    canvas = Canvas(output, letter)
    for _ in range(pages):
        canvas.setFont("Helvetica", size)
        for number, line in enumerate(lines):
            canvas.drawString(72, 700 - 24 * number, line)
        canvas.line(72, 210, 320, 210)
        canvas.drawString(*LABEL, "Signature of Investigator")
        if signed:
            draw_signature(canvas, 90, 214)
        canvas.showPage()
    canvas.save()
    return output.getvalue()


def make_form_with_small_print(*, small: tuple[str, ...]) -> bytes:
    """Return a form with small print beside its heading, of which two lines are as high as one."""
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


def draw_signature(canvas: Canvas, x: float, y: float) -> None:
    canvas.setLineWidth(1.3)
    path = canvas.beginPath()
    path.moveTo(x, y)
    for step in range(6):
        left = x + 20 * step
        path.curveTo(left + 4, y + 34, left + 16, y + 30, left + 12, y - 2)
        path.curveTo(left + 10, y - 8, left + 18, y + 6, left + 20, y + 2)
    canvas.drawPath(path)


def render(content: bytes, dpi: int = 200, turn: int = 0) -> Image.Image:
    """Return the first page as a scanner sees it, turned counterclockwise."""
    with pypdfium2.PdfDocument(content) as document:
        grey = document[0].render(scale=dpi / 72, grayscale=True).to_pil().convert("L")
    return grey.rotate(turn, expand=True)


def shade(picture: Image.Image) -> Image.Image:
    """Return the page as photographed with a lamp at its foot: the head is four times darker."""
    light = np.linspace(0.25, 1, picture.height)[:, np.newaxis]
    pixels = (30 + np.asarray(picture, np.float64) * 0.8) * light
    return Image.fromarray(pixels.astype(np.uint8))


def skew(picture: Image.Image, degrees: float) -> Image.Image:
    """Return the page turned clockwise, on a larger sheet that shows all of it."""
    return picture.rotate(-degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=255)


def make_scan(picture: Image.Image, stamp: str = "", dpi: int = 200) -> bytes:
    """Return a PDF whose only page is an image, with a stamp of real text on it."""
    wide, high = picture.width * 72 / dpi, picture.height * 72 / dpi
    output = io.BytesIO()
    canvas = Canvas(output, (wide, high))
    canvas.drawImage(ImageReader(picture), 0, 0, wide, high)
    canvas.drawString(300, high - 30, stamp)
    canvas.save()
    return output.getvalue()


def make_form(values: dict[str, str], *, appearances: bool) -> bytes:
    """Return a fillable form whose fields pypdf filled in."""
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


def rewrite(content: bytes, change) -> bytes:
    """Return the document after `change(pdf)`."""
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(content)) as document:
        change(document)
        document.save(output)
    return output.getvalue()


def encrypt(content: bytes, *, user: str) -> bytes:
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(content)) as document:
        document.save(output, encryption=pikepdf.Encryption(owner="owner", user=user))
    return output.getvalue()


def add_script(content: bytes) -> bytes:
    def add(document: pikepdf.Pdf) -> None:
        action = pikepdf.Dictionary(S=pikepdf.Name.JavaScript, JS="app.alert('hello')")
        document.Root.OpenAction = document.make_indirect(action)

    return rewrite(content, add)


def make_docx(*paragraphs: str) -> bytes:
    """Return a document of a word processor."""
    kinds = "application/vnd.openxmlformats-"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    words = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        f'ContentType="{kinds}package.relationships+xml"/><Override PartName="/word/document.xml" '
        f'ContentType="{kinds}officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{words}"><w:body>{body}</w:body></w:document>',
    }
    return make_package({name: f'<?xml version="1.0"?>{part}' for name, part in parts.items()})


def make_spreadsheet() -> bytes:
    return make_package({"[Content_Types].xml": "<Types/>", "xl/workbook.xml": "<workbook/>"})


def make_package(members: dict[str, str | bytes]) -> bytes:
    """Return a ZIP archive of these members."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return output.getvalue()


def concatenate(papers: list[bytes]) -> bytes:
    """Return several documents as one."""
    output = io.BytesIO()
    with pikepdf.new() as together:
        for paper in papers:
            with pikepdf.open(io.BytesIO(paper)) as document:
                together.pages.extend(document.pages)
        together.save(output)
    return output.getvalue()
