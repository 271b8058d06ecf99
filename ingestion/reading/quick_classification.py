"""Reads a file quickly, for a person who waits for a suggestion of its document type.

It uses a parser process with the same limits as `processes.pool`. It reads only the first scanned
pages and repeats nothing. All scanned pages are searched for the codes of separator sheets, because
that takes little time. What takes too long is left to the complete reading.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import tasks
from .indirect_files import may_be_indirect
from .limits import ReadingLimits
from .merge import ProbedDocument, merge_pages
from .pdf.file_type import detect_media_type
from .processes.parser_processes import ParserProcesses, ProcessKilled
from .results import DocumentReading, MediaType, Unreadable

MAX_OCR_PAGES = 2  # a title is on the first page, or after a cover sheet


@dataclass(frozen=True, slots=True)
class QuickReading:
    """Contains what was read in a short time. `is_complete` says whether every page was read."""

    document: DocumentReading
    is_complete: bool


def read_quickly(
    path: Path, limits: ReadingLimits, *, seconds: float, preload: Sequence[str] = ()
) -> QuickReading | MediaType | Unreadable | None:
    """Return what can be read within so many seconds, or None. Raises ReadingFault.

    Of a file without pages of its own (`indirect_files`), only the type is returned.

    `preload` are modules that the parser process imports at its start. The process ends with the
    call. Call this function in a thread without an event loop.
    """
    limits = replace(limits, processes=1)

    async def read() -> QuickReading | MediaType | Unreadable | None:
        async with ParserProcesses(limits, preload) as processes, asyncio.timeout(seconds):
            if may_be_indirect(path):
                found = await processes.run(detect_media_type, path, limits)
                return None if isinstance(found, ProcessKilled) else found
            return await _read_pages(processes, path, limits)

    try:
        return asyncio.run(read())
    except TimeoutError:
        return None


async def _read_pages(
    processes: ParserProcesses, path: Path, limits: ReadingLimits
) -> QuickReading | Unreadable | None:
    """Return the reading of a file with pages, or None if it killed the process."""
    rewritten = processes.scratch / "rewritten.pdf"
    probe = await processes.run(tasks.probe_document, path, rewritten, limits)
    if isinstance(probe, ProcessKilled):
        return None
    if isinstance(probe, Unreadable):
        return probe
    pages = []
    found = await processes.run(tasks.find_separator_codes, probe.part(probe.scans), limits)
    codes = {} if isinstance(found, ProcessKilled) else found
    # With separator sheets, the type of each document is known without its text.
    wanted = () if codes else probe.scans[:MAX_OCR_PAGES]
    for number in wanted:
        outcome = await processes.run(tasks.read_scans, probe.part([number]), limits)
        if not isinstance(outcome, ProcessKilled):
            pages.append(outcome)
    reading = merge_pages(_with_codes(probe, codes), pages)
    if isinstance(reading, Unreadable):
        return reading
    return QuickReading(reading, is_complete=len(pages) == len(probe.scans))


def _with_codes(probe: ProbedDocument, codes: Mapping[int, Sequence[str]]) -> ProbedDocument:
    """Return the document with the separator codes of its scanned pages."""
    pages = (
        replace(page, separator_codes=codes[page.number]) if page.number in codes else page
        for page in probe.pages
    )
    return replace(probe, pages=tuple(pages))
