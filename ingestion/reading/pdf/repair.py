"""Repairs a damaged PDF: qpdf rewrites it if every page still has its content.

This module is imported only for a damaged file. Few files are damaged, and pikepdf takes longer to
start than such a file takes to read.
"""

from itertools import takewhile
from pathlib import Path

import pikepdf

from ingestion.reading.limits import ReadingLimits, report_too_many_pages
from ingestion.reading.results import Unreadable

from .active_content import QPDF_ERRORS, get_dictionary

LOST_PAGE_WARNING = "Pages tree includes non-dictionary object"  # part of qpdf's warning


def repair(path: Path, rewritten: Path, limits: ReadingLimits) -> Unreadable | None:
    """Write a repaired copy to `rewritten` and return None, or return why that is impossible."""
    # A file that is encrypted with an empty password is also rewritten if pdfium does not know
    # its cipher. qpdf writes it without encryption.
    try:
        with pikepdf.open(path, password="") as damaged:
            pages = len(damaged.pages)
            if pages > limits.max_pages:
                return report_too_many_pages(pages, limits)
            # qpdf does not count entries of the page tree that lead nowhere, and only warns of
            # them. Its warnings can be read once.
            lost = sum(LOST_PAGE_WARNING in warning for warning in damaged.get_warnings())
            is_complete = not lost and 0 < pages == damaged.Root.Pages.get("/Count")
            if not is_complete or not all(_has_content(page.obj) for page in damaged.pages):
                return Unreadable("CORRUPT_DOCUMENT", _last_readable_page(damaged, lost))
            damaged.save(rewritten, encryption=False)
    except pikepdf.PasswordError:
        return Unreadable("ENCRYPTED_DOCUMENT")
    except QPDF_ERRORS:
        return Unreadable("CORRUPT_DOCUMENT")
    return None


def _last_readable_page(damaged: pikepdf.Pdf, lost: int) -> dict[str, int]:
    """Return the facts of a damaged file: the last page up to which all pages are readable.

    The total number of pages is among them if no page of the page tree is lost.
    """
    readable = sum(1 for _ in takewhile(_is_readable, damaged.pages))
    if not readable:
        return {}
    return {"last_page": readable} | ({} if lost else {"total": len(damaged.pages)})


def _is_readable(page: pikepdf.Page) -> bool:
    try:
        return _has_content(page.obj)
    except QPDF_ERRORS:
        return False


def _has_content(page: pikepdf.Object) -> bool:
    """Return whether all content streams and images of a page exist, and one is not empty."""
    contents = page.get("/Contents")
    parts = list(contents) if isinstance(contents, pikepdf.Array) else [contents]
    streams = [part for part in parts if isinstance(part, pikepdf.Stream)]
    if len(streams) < len(parts):
        return False
    objects = get_dictionary(get_dictionary(page, "/Resources"), "/XObject")
    return any(stream.read_bytes().strip() for stream in streams) and all(
        isinstance(objects.get(name), pikepdf.Stream)
        for name in objects.keys()  # noqa: SIM118 - not a dict
    )
