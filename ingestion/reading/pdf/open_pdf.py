"""Opening a PDF, or saying why it cannot be opened.

pdfium first. Where it refuses, or had to rebuild the cross-reference table itself, the file
is damaged: qpdf rewrites it to a temporary file (`repair`), which is read in its place. The
original's bytes stay the record.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.reading.limits import ReadingLimits, too_many_pages
from ingestion.reading.results import Unreadable


@dataclass(frozen=True, slots=True)
class OpenedPdf:
    """`path` is the file to read from, the original or its repaired copy. Whoever has it closes."""

    path: Path
    pdf: pypdfium2.PdfDocument
    repaired: bool = False


@contextmanager
def open_document(path: Path, *, with_form: bool = True) -> Iterator[pypdfium2.PdfDocument]:
    """An open document, with its form loaded unless told otherwise. Raises PdfiumError."""
    with closing(_document(path, with_form=with_form)) as opened:
        yield opened


def open_pdf(
    path: Path, rewritten: Path, limits: ReadingLimits, *, with_form: bool = True
) -> OpenedPdf | Unreadable:
    """`rewritten` is where a repaired copy may be written; whoever calls removes it.

    `with_form` False leaves the document's form alone: its entries are neither drawn nor read.
    """
    try:
        opened = _document(path, with_form=with_form)
    except pypdfium2.PdfiumError:
        return _repair(path, rewritten, limits, with_form=with_form)
    pages, sound = len(opened), pdfium.FPDF_DocumentHasValidCrossReferenceTable(opened)
    if sound and 0 < pages <= limits.max_pages:
        return OpenedPdf(path, opened)
    opened.close()
    if pages > limits.max_pages:
        return too_many_pages(pages, limits)
    return _repair(path, rewritten, limits, with_form=with_form)


def _document(path: Path, *, with_form: bool) -> pypdfium2.PdfDocument:
    opened = pypdfium2.PdfDocument(path, password="")
    if with_form:
        opened.init_forms()  # before any page is loaded, or typed values are not drawn or read
    return opened


def _repair(
    path: Path, rewritten: Path, limits: ReadingLimits, *, with_form: bool
) -> OpenedPdf | Unreadable:
    from .repair import repair  # noqa: PLC0415 - few files are damaged, and qpdf starts slowly

    refused = repair(path, rewritten, limits)
    if refused is not None:
        return refused
    try:
        return OpenedPdf(rewritten, _document(rewritten, with_form=with_form), repaired=True)
    except pypdfium2.PdfiumError:
        return Unreadable("CORRUPT_DOCUMENT")
