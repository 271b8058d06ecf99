"""A short look at a file, for somebody who waits to hear what it may be.

As `pool` reads, behind the same walls, but of scans the first pages alone, and nothing twice: what
cannot be told soon is left to the real reading.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from . import tasks
from .limits import ReadingLimits
from .merge import OcrPages, ProbedDocument, merge
from .processes.parser_processes import ParserProcesses, ProcessKilled
from .results import DocumentReading, Unreadable

MAX_OCR_PAGES = 2  # pages that OCR reads: a title stands on the first, or behind a cover sheet


def read_quickly(
    path: Path, limits: ReadingLimits, *, seconds: float, preload: Sequence[str] = ()
) -> DocumentReading | Unreadable | None:
    """What can be read within so many seconds; None when it cannot. Raises ReadingFault.

    For a thread without an event loop. Its child ends with it.
    """
    try:
        return asyncio.run(_within(seconds, path, replace(limits, processes=1), preload))
    except TimeoutError:
        return None


async def _within(
    seconds: float, path: Path, limits: ReadingLimits, preload: Sequence[str]
) -> DocumentReading | Unreadable | None:
    children = ParserProcesses(limits, preload)
    try:
        async with asyncio.timeout(seconds):
            return await _glance(children, path, limits)
    finally:
        await children.close()


async def _glance(
    children: ParserProcesses, path: Path, limits: ReadingLimits
) -> DocumentReading | Unreadable | None:
    rewritten = children.scratch / "rewritten.pdf"
    look = await children.run(tasks.probe_document, path, rewritten, limits)
    if isinstance(look, ProcessKilled):
        return None
    if isinstance(look, Unreadable):
        return look
    read = [await _scan(children, look, number, limits) for number in look.scans[:MAX_OCR_PAGES]]
    return merge(look, [pages for pages in read if pages])


async def _scan(
    children: ParserProcesses, look: ProbedDocument, number: int, limits: ReadingLimits
) -> OcrPages | None:
    read = await children.run(tasks.read_scans, look.part([number]), limits)
    return None if isinstance(read, ProcessKilled) else read
