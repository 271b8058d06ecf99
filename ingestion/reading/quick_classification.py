"""A quick reading of a file, for a person who waits for a suggestion of its document type.

It uses a parser process with the same limits as `processes.pool`. It reads only the first scanned
pages and repeats nothing. What takes too long is left to the complete reading.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from . import tasks
from .limits import ReadingLimits
from .merge import merge
from .processes.parser_processes import ParserProcesses, ProcessKilled
from .results import DocumentReading, Unreadable

MAX_OCR_PAGES = 2  # a title is on the first page, or after a cover sheet


def read_quickly(
    path: Path, limits: ReadingLimits, *, seconds: float, preload: Sequence[str] = ()
) -> DocumentReading | Unreadable | None:
    """Return what can be read within so many seconds, or None. Raises ReadingFault.

    `preload` are modules that the parser process imports at its start. The process ends with the
    call. Call this function in a thread without an event loop.
    """
    limits = replace(limits, processes=1)

    async def read() -> DocumentReading | Unreadable | None:
        processes = ParserProcesses(limits, preload)
        try:
            async with asyncio.timeout(seconds):
                rewritten = processes.scratch / "rewritten.pdf"
                probe = await processes.run(tasks.probe_document, path, rewritten, limits)
                if isinstance(probe, ProcessKilled):
                    return None
                if isinstance(probe, Unreadable):
                    return probe
                pages = []
                for number in probe.scans[:MAX_OCR_PAGES]:
                    outcome = await processes.run(tasks.read_scans, probe.part([number]), limits)
                    if not isinstance(outcome, ProcessKilled):
                        pages.append(outcome)
                return merge(probe, pages)
        finally:
            await processes.close()

    try:
        return asyncio.run(read())
    except TimeoutError:
        return None
