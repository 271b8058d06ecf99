"""A damaged PDF, rewritten by qpdf if every page still has what it shows.

Imported where a file is damaged, which few are: pikepdf takes longer to start than such a file
to read.
"""

from itertools import takewhile
from pathlib import Path

import pikepdf

from ingestion.reading.limits import ReadingLimits, too_many_pages
from ingestion.reading.results import Unreadable

from .active_content import QPDF_ERRORS, get_dictionary

LOST_PAGE = "Pages tree includes non-dictionary object"  # in qpdf's warnings


def repair(path: Path, rewritten: Path, limits: ReadingLimits) -> Unreadable | None:
    """Nothing, once `rewritten` is there to be read in its place."""
    # A file that only its permissions lock comes this way too when pdfium does not
    # know the cipher: qpdf writes it without the lock.
    try:
        with pikepdf.open(path, password="") as damaged:
            pages = len(damaged.pages)
            if pages > limits.max_pages:
                return too_many_pages(pages, limits)
            lost = _lost_pages(damaged)
            if lost or not _is_whole(damaged):
                return Unreadable("CORRUPT_DOCUMENT", _last_page(damaged, is_all=not lost))
            damaged.save(rewritten, encryption=False)
    except pikepdf.PasswordError:
        return Unreadable("ENCRYPTED_DOCUMENT")
    except QPDF_ERRORS:
        return Unreadable("CORRUPT_DOCUMENT")
    return None


def _is_whole(damaged: pikepdf.Pdf) -> bool:
    """Every page that is counted is there, with its contents and its pictures."""
    pages = list(damaged.pages)
    counted = damaged.Root.Pages.get("/Count")
    return 0 < len(pages) == counted and all(_has_contents(page.obj) for page in pages)


def _lost_pages(damaged: pikepdf.Pdf) -> int:
    """Return how many entries of its list of pages lead nowhere. qpdf counts without them."""
    return sum(LOST_PAGE in warning for warning in damaged.get_warnings())  # which it then forgets


def _last_page(damaged: pikepdf.Pdf, *, is_all: bool) -> dict[str, int]:
    """Return the number of the last page that can be read with all before it, if there is one.

    `is_all` says that its list of pages is whole: then the number of its pages is returned too.
    """
    readable = sum(1 for _ in takewhile(_is_readable, damaged.pages))
    if not readable:
        return {}
    return {"last_page": readable} | ({"total": len(damaged.pages)} if is_all else {})


def _is_readable(page: pikepdf.Page) -> bool:
    try:
        return _has_contents(page.obj)
    except QPDF_ERRORS:
        return False


def _has_contents(page: pikepdf.Object) -> bool:
    contents = page.get("/Contents")
    parts = list(contents) if isinstance(contents, pikepdf.Array) else [contents]
    streams = [part for part in parts if isinstance(part, pikepdf.Stream)]
    if len(streams) < len(parts):
        return False
    placed = get_dictionary(get_dictionary(page, "/Resources"), "/XObject")
    return any(stream.read_bytes().strip() for stream in streams) and all(
        isinstance(placed.get(name), pikepdf.Stream)
        for name in placed.keys()  # noqa: SIM118 - not a dict
    )
