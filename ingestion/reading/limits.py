"""Defines the limits of reading, which the settings build once and parser processes receive."""

from dataclasses import dataclass
from pathlib import Path

from .results import Unreadable

MAX_PAGES_PER_TASK = 4  # that one task reads by OCR
ISOLATED = "isolated"  # the OCR engine that is a program, if it is installed


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """The limits on files, pages, processor time and memory, and the configuration of OCR.

    Limits on looks and pages count seconds of the processor, so that a page is read the same on a
    busy host. `task_seconds` counts seconds of the clock.
    """

    max_bytes: int = 50_000_000  # of one file
    max_pages: int = 500  # of one document; a page tree may claim to have a million
    max_page_points: float = 14_400.0  # of a page's longer side: 200 inches, as in Acrobat
    max_image_pixels: int = 120_000_000  # of all images of a page, checked before decoding
    # Of one rendered page; A3 at 300 dpi has 17.4 million. A process needs 25 bytes for each.
    max_render_pixels: int = 18_000_000
    ocr_dpi: int = 300  # the highest resolution for OCR; a scan with fewer dpi is not enlarged
    # Names of Tesseract's languages, joined by +. Each page is read in one of them; the first one
    # is the usual one.
    languages: str = "eng"
    engine: str = "auto"  # auto, tesserocr, pytesseract or ISOLATED
    # Folder of the socket of the second OCR engine; None: there is none.
    second_engine: Path | None = None
    # Seconds of the clock for one page, with the time for which other workers use the engine. On an
    # idle host, a page takes it 3 to 6 seconds.
    second_engine_seconds: float = 180.0
    # The program that renders documents of word processors. "": they are not supported.
    office_program: str = "/usr/bin/soffice"
    # PEM file with the certificates that are trusted to issue those of signers. With None, no
    # issuer is trusted.
    trusted_issuers: Path | None = None
    processes: int = 2  # parser processes: one for each core
    tasks_per_process: int = 500  # after which a process is replaced, which takes 0.1 s
    task_seconds: float = 300.0  # of one task: to probe a document, or OCR of up to four pages
    # Of the first look at one page: its probe, its first OCR, or a stage that was deferred. After a
    # longer look, the page is read again in a task of its own, without what took so long.
    first_look_seconds: float = 10.0
    page_seconds: float = 15.0  # of another look, which is 3 times the 99th percentile of a page
    # Of the OCR of a page by Tesseract, with its retries. Tesseract's program, where it is used,
    # gets these seconds of the clock.
    engine_seconds: float = 24.0
    office_seconds: float = 30.0  # of the processor, to render a word processor's document
    memory_bytes: int = 1_350_000_000  # address space of a process, and of the OCR it starts

    @property
    def first_language(self) -> str:
        """Return the language in which most pages are."""
        return self.languages.partition("+")[0]

    @property
    def longest_task_seconds(self) -> float:
        """Return the seconds after which a task is stopped, with its waits for the engine."""
        if self.second_engine is None:
            return self.task_seconds
        return self.task_seconds + MAX_PAGES_PER_TASK * self.second_engine_seconds


def report_too_many_pages(pages: int, limits: ReadingLimits) -> Unreadable:
    """Return the result for a document with more pages than the limit."""
    return Unreadable("FILE_TOO_LARGE", {"pages": pages, "limit_pages": limits.max_pages})
