"""Opens PDF files, or returns the reason if a file cannot be opened.

pdfium opens the file. If pdfium refuses it, or had to rebuild the cross-reference table, the file
is damaged. qpdf then rewrites it to a temporary file (`repair`), which is read instead. The
original bytes remain the record.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.reading.limits import ReadingLimits, report_too_many_pages
from ingestion.reading.results import Unreadable


@dataclass(frozen=True, slots=True)
class OpenedPdf:
    """An open document, which the receiver closes."""

    path: Path  # the file to read from: the original or its repaired copy
    pdf: pypdfium2.PdfDocument
    repaired: bool = False


@contextmanager
def open_document(path: Path, *, with_form: bool = True) -> Iterator[pypdfium2.PdfDocument]:
    """Open a document for the block, with its form if `with_form`. Raises PdfiumError."""
    with closing(_open(path, with_form=with_form)) as opened:
        yield opened


def open_pdf(
    path: Path, rewritten: Path, limits: ReadingLimits, *, with_form: bool = True
) -> OpenedPdf | Unreadable:
    """Open a PDF, or a repaired copy of it.

    A repaired copy is written to `rewritten`, which the caller removes. Without `with_form`, the
    values of the document's form are neither drawn nor read.
    """
    try:
        opened = _open(path, with_form=with_form)
    except pypdfium2.PdfiumError:
        return _open_repaired(path, rewritten, limits, with_form=with_form)
    pages, is_sound = len(opened), pdfium.FPDF_DocumentHasValidCrossReferenceTable(opened)
    if is_sound and 0 < pages <= limits.max_pages:
        return OpenedPdf(path, opened)
    opened.close()
    if pages > limits.max_pages:
        return report_too_many_pages(pages, limits)
    return _open_repaired(path, rewritten, limits, with_form=with_form)


def _open(path: Path, *, with_form: bool) -> pypdfium2.PdfDocument:
    opened = pypdfium2.PdfDocument(path, password="")
    if with_form:
        opened.init_forms()  # before any page is loaded; otherwise form values are not drawn
    return opened


def _open_repaired(
    path: Path, rewritten: Path, limits: ReadingLimits, *, with_form: bool
) -> OpenedPdf | Unreadable:
    from .repair import repair  # noqa: PLC0415 - few files are damaged, and qpdf starts slowly

    refused = repair(path, rewritten, limits)
    if refused is not None:
        return refused
    try:
        return OpenedPdf(rewritten, _open(rewritten, with_form=with_form), repaired=True)
    except pypdfium2.PdfiumError:
        return Unreadable("CORRUPT_DOCUMENT")
