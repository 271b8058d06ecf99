"""The bounds of reading. Built once, in the settings, and passed down to every child."""

from dataclasses import dataclass
from pathlib import Path

from .results import Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    max_bytes: int = 50_000_000  # one file
    max_pages: int = 500  # one document; a page tree may claim a million
    max_page_points: float = 14_400.0  # a page's longer side: 200 inches, Acrobat's own limit
    max_image_pixels: int = 120_000_000  # all pictures of a page; checked before any is decoded
    max_render_pixels: int = 25_000_000  # one rendered page: A4 at 300 dpi has 8.7 million
    ocr_dpi: int = 300  # at most; a coarser scan is read as it is
    languages: str = "eng"  # tesseract's names, joined by +
    engine: str = "auto"  # auto, tesserocr or pytesseract
    # PEM file of the certificates that vouch for signers; None: nobody is known to.
    trusted_issuers: Path | None = None
    processes: int = 2  # children that read; one per core
    tasks_per_process: int = 500  # then a child is replaced, which takes a tenth of a second
    task_seconds: float = 150.0  # one task of a child: the first look, or up to four scanned pages
    # The first look at a page, in the child's own time; after that, one without the page's form.
    probe_seconds: float = 10.0
    page_seconds: float = 30.0  # one page, in the child's own time; 15 times the 99th percentile
    memory_bytes: int = 1_350_000_000  # address space of a child, and of the OCR it starts


def too_many_pages(pages: int, limits: ReadingLimits) -> Unreadable:
    return Unreadable("FILE_TOO_LARGE", {"pages": pages, "limit_pages": limits.max_pages})
