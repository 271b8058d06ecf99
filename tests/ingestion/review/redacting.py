"""Creates documents with details of participants, and redacts them, for tests."""

from io import BytesIO

import pypdfium2
from pypdf import PdfReader, PdfWriter

from ingestion.documents import redactions
from ingestion.documents.redactions import RedactedPage, Redaction
from ingestion.models import Action
from ingestion.reading.results import Box, DocumentReading, MediaType, PageReading, TextSource
from ingestion.storage.archive import get_archive
from tests import steps
from tests.ingestion.reading.documents import read, save
from tests.ingestion.review.reviewers import decide
from tests.ingestion.rules.pages import checked
from tests.ingestion.rules.printed_documents import make_printed
from tests.web.scenes import lease_all, make_packet

RECORD = (
    "ST ANNE'S HOSPITAL   DEPARTMENT OF PATHOLOGY",
    "Patient name: Jane Roe",
    "DOB: 12 Mar 1956",
    "MRN: 00482113",
    "Haemoglobin 13.2 g/dL",
)

OTHER = ("Note to file", "The refrigerator was repaired on 12 March 2026.")


def make_pages(*pages):
    """Return a PDF with a page for each of these lines."""
    writer, output = PdfWriter(), BytesIO()
    for lines in pages:
        writer.append(BytesIO(make_printed(*lines)))
    writer.write(output)
    return output.getvalue()


def rotate(content, degrees):
    """Return a PDF whose pages are shown turned clockwise."""
    writer, output = PdfWriter(BytesIO(content)), BytesIO()
    for page in writer.pages:
        page.rotate(degrees)
    writer.write(output)
    return output.getvalue()


def make_photograph(lines):
    """Return a picture of a printed page as JPEG."""
    pdf, output = pypdfium2.PdfDocument(make_printed(*lines)), BytesIO()
    pdf[0].render(scale=200 / 72).to_pil().convert("RGB").save(output, "JPEG", quality=85)
    pdf.close()
    return output.getvalue()


def settle_part(part, decided):
    """Settle a part of a file, as a worker does."""
    part.refresh_from_db()
    pages = tuple(PageReading(n, 612, 792, "", TextSource.NATIVE) for n in part.page_numbers)
    lease = lease_all(part.packet)
    steps.start_checking(part.pk, lease, sha256=part.sha256, size=part.size)
    steps.conclude(part.pk, lease, decided, reading=DocumentReading(MediaType.PDF, pages))


def send_record(site, user, folder, content=None, *, decided=None, suffix="pdf"):
    """Return a document with this content, as it was read and checked, with its bytes archived."""
    content = make_printed(*RECORD) if content is None else content
    reading = read(save(folder, content, f"{abs(hash(content))}.{suffix}"))
    packet = make_packet(site, user, decided or checked(reading), reading=reading, content=content)
    document = packet.documents.get()
    (folder / "incoming").write_bytes(content)
    get_archive().put(folder / "incoming", document.sha256)
    return document


def redact(document, person, redaction=None, **options):
    """Redact a document as proposed, or as given."""
    redaction = redactions.propose(document) if redaction is None else redaction
    return decide(document, Action.REDACT, person, redaction=redaction, **options)


def make_redaction(*boxes, page=1, size=(612.0, 792.0)):
    return Redaction({page: RedactedPage(*size, tuple(Box(*box) for box in boxes))})


def read_archived(sha256):
    with get_archive().open(sha256) as content:
        return content.read()


def render_page(content, number=1, dpi=100):
    """Return a page of a PDF as an array of grey pixels, and the pixels of a point."""
    pdf = pypdfium2.PdfDocument(content)
    picture = pdf[number - 1].render(scale=dpi / 72, grayscale=True).to_numpy()
    pdf.close()
    return picture, dpi / 72


def find_text(content):
    """Return all text of a PDF, of its pages and of its metadata."""
    reader = PdfReader(BytesIO(content))
    return " ".join([*(page.extract_text() for page in reader.pages), str(reader.metadata or "")])
