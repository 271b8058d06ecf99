"""Opening a PDF, or saying why it cannot be opened.

pdfium first. Where it refuses, or had to rebuild the cross-reference table itself, the file
is damaged: qpdf (through pikepdf) rewrites it to a temporary file, which is read in its
place if every page still has what it shows. The original's bytes stay the record.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pikepdf
import pypdfium2
import pypdfium2.raw as pdfium

from .active import QPDF_ERRORS
from .facts import Unreadable
from .limits import ReadingLimits


@dataclass(frozen=True, slots=True)
class Opened:
    """`path` is the file to read from, the original or its repaired copy. Whoever has it closes."""

    path: Path
    pdf: pypdfium2.PdfDocument
    repaired: bool = False


@contextmanager
def document(path: Path) -> Iterator[pypdfium2.PdfDocument]:
    """An open document with its forms loaded. Raises PdfiumError."""
    with closing(_document(path)) as opened:
        yield opened


def open_pdf(path: Path, rewritten: Path, limits: ReadingLimits) -> Opened | Unreadable:
    """`rewritten` is where a repaired copy may be written; whoever calls removes it."""
    try:
        opened = _document(path)
    except pypdfium2.PdfiumError:
        return _repair(path, rewritten, limits)
    pages, sound = len(opened), pdfium.FPDF_DocumentHasValidCrossReferenceTable(opened)
    if sound and 0 < pages <= limits.max_pages:
        return Opened(path, opened)
    opened.close()
    if pages > limits.max_pages:
        return _too_long(pages, limits)
    return _repair(path, rewritten, limits)


def _document(path: Path) -> pypdfium2.PdfDocument:
    opened = pypdfium2.PdfDocument(path, password="")
    opened.init_forms()  # before any page is loaded, or typed values are neither drawn nor read
    return opened


def _repair(path: Path, rewritten: Path, limits: ReadingLimits) -> Opened | Unreadable:
    # A file that only its permissions lock comes this way too when pdfium does not
    # know the cipher: qpdf writes it without the lock.
    try:
        with pikepdf.open(path, password="") as damaged:
            pages = len(damaged.pages)
            if pages > limits.max_pages:
                return _too_long(pages, limits)
            if not _is_whole(damaged):
                return Unreadable("CORRUPT_DOCUMENT")
            damaged.save(rewritten, encryption=False)
        return Opened(rewritten, _document(rewritten), repaired=True)
    except pikepdf.PasswordError:
        return Unreadable("ENCRYPTED_DOCUMENT")
    except (*QPDF_ERRORS, pypdfium2.PdfiumError):
        return Unreadable("CORRUPT_DOCUMENT")


def _is_whole(damaged: pikepdf.Pdf) -> bool:
    """Every page that is counted is there, with its contents and its pictures."""
    pages = list(damaged.pages)
    counted = damaged.Root.Pages.get("/Count")
    return 0 < len(pages) == counted and all(_has_contents(page.obj) for page in pages)


def _has_contents(page: pikepdf.Object) -> bool:
    contents = page.get("/Contents")
    streams = list(contents) if isinstance(contents, pikepdf.Array) else [contents]
    if not all(isinstance(stream, pikepdf.Stream) for stream in streams):
        return False
    placed = _pictures(page)
    return any(stream.read_bytes().strip() for stream in streams) and all(
        isinstance(placed.get(name), pikepdf.Stream)
        for name in placed.keys()  # noqa: SIM118 - not a dict
    )


def _pictures(page: pikepdf.Object) -> pikepdf.Object:
    found: pikepdf.Object = pikepdf.Dictionary()
    resources = page.get("/Resources")
    if isinstance(resources, pikepdf.Dictionary):
        found = resources.get("/XObject")
    return found if isinstance(found, pikepdf.Dictionary) else pikepdf.Dictionary()


def _too_long(pages: int, limits: ReadingLimits) -> Unreadable:
    return Unreadable("FILE_TOO_LARGE", {"pages": pages, "limit_pages": limits.max_pages})
