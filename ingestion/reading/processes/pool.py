"""Reading documents, spread over child processes.

A document is one first look, then tasks of one to four scanned pages, so that a long scan uses
every core and leaves room between its tasks for others. A child that dies or is stopped is charged
to the document it was reading, and to nobody else: its task is tried once more, page by page where
it had several, and coarsely where its page took too long; what kills again is not read. A fault of
ours is raised as ReadingFault, never blamed on the file.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from ingestion.reading import tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.merge import OcrPages, ProbedDocument, merge
from ingestion.reading.pdf.lazy import evaluate
from ingestion.reading.results import DocumentReading, Unreadable

from .parser_processes import ParserProcesses, ProcessKilled, ReadingFault

__all__ = ["Reader", "ReadingFault", "ReadingLimits"]

Answer = TypeVar("Answer")

LONGEST_TASK = 4  # pages
LONG = 2  # documents per child whose scans are read at a time: others' first looks go between
LANES = 2  # tasks in flight per document and child: enough to keep children busy, and no queue


class Reader:
    """Belongs to one event loop. Close it, or use it as a context manager: it owns processes."""

    def __init__(self, limits: ReadingLimits, *, preload: Sequence[str] = ()) -> None:
        """`preload`: modules of what `read_then` is given, for the children to start with."""
        self._limits = limits
        self._children = ParserProcesses(limits, preload)
        self._numbers = count(1)
        self._long = asyncio.Semaphore(LONG * limits.processes)

    @property
    def scratch(self) -> Path:
        """Where children write; gone once the reader is closed, or its process is."""
        return self._children.scratch

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def read(self, path: Path, sha256: str) -> DocumentReading | Unreadable:
        """What is in the file. Raises ReadingFault when it is we who cannot tell."""
        return await self.read_then(_as_it_is, path, sha256)

    async def read_then(
        self, then: Callable[[DocumentReading | Unreadable], Answer], path: Path, sha256: str
    ) -> Answer:
        """`then` of what is in the file; raises as `read`.

        It goes to the child, so that a reading of thousands of words stays there: a function of a
        module, or a partial of one. There its pages have late words and marks, which cannot be
        sent back. Only what needed OCR comes back first, and meets it here.
        """
        rewritten = self.scratch / f"{sha256[:16]}-{next(self._numbers)}.pdf"
        look = await self._look(then, path, rewritten)
        if isinstance(look, tasks.Conclusion):
            return look.answer
        try:
            seen = (
                look.as_unreadable() if isinstance(look, ProcessKilled) else await self._whole(look)
            )
            return await asyncio.to_thread(then, seen)
        finally:
            await asyncio.to_thread(rewritten.unlink, missing_ok=True)

    async def _whole(self, look: ProbedDocument) -> DocumentReading | Unreadable:
        async with self._long:
            return merge(look, await self._read_scans(look))

    async def close(self) -> None:
        """Leave no child alive, also in the middle of its work. Who waits gets ReadingFault."""
        await self._children.close()

    async def _look(
        self, then: Callable[[DocumentReading | Unreadable], Answer], path: Path, rewritten: Path
    ) -> ProbedDocument | tasks.Conclusion[Answer] | ProcessKilled:
        """Once more where the child died; without the document's form where that did not help."""
        task = partial(tasks.probe_and_conclude, then, path, rewritten, self._limits)
        look = await self._children.run(task)
        if isinstance(look, ProcessKilled) and not look.is_page_timeout:
            look = await self._children.run(task)
        if isinstance(look, ProcessKilled):
            look = await self._children.run(task, with_form=False)
        return look

    async def _read_scans(self, look: ProbedDocument) -> list[OcrPages]:
        parts = _parts(look, self._limits.processes)
        read: list[OcrPages] = []

        async def lane() -> None:
            for part in parts:
                read.extend(await self._read_part(part))

        lanes = min(LANES * self._limits.processes, len(look.scans))
        await _all(lane for _ in range(lanes))
        return read

    async def _read_part(self, part: ProbedDocument) -> list[OcrPages]:
        outcome = await self._children.run(tasks.read_scans, part, self._limits)
        if not isinstance(outcome, ProcessKilled):
            return [outcome]
        if len(part.pages) == 1:
            return [await self._once_more(part, outcome)]
        return [await self._read_alone(part.part([page.number])) for page in part.pages]

    async def _read_alone(self, part: ProbedDocument) -> OcrPages:
        outcome = await self._children.run(tasks.read_scans, part, self._limits)
        if isinstance(outcome, ProcessKilled) and outcome.is_page_timeout:
            return await self._once_more(part, outcome)
        return _not_read(part, outcome) if isinstance(outcome, ProcessKilled) else outcome

    async def _once_more(self, part: ProbedDocument, before: ProcessKilled) -> OcrPages:
        """One page. What took too long is looked at coarsely; else the child had bad luck."""
        outcome = await self._children.run(
            tasks.read_scans, part, self._limits, low_resolution=before.is_page_timeout
        )
        return _not_read(part, outcome) if isinstance(outcome, ProcessKilled) else outcome


def _not_read(part: ProbedDocument, killed: ProcessKilled) -> OcrPages:
    error = f"{killed.reason} (exit code {killed.exit_code})"
    return OcrPages(tuple(replace(page, error=error) for page in part.pages))


def _as_it_is(seen: DocumentReading | Unreadable) -> DocumentReading | Unreadable:
    if isinstance(seen, Unreadable):
        return seen
    return replace(seen, pages=tuple(map(evaluate, seen.pages)))


def _parts(look: ProbedDocument, processes: int) -> Iterator[ProbedDocument]:
    """Few pages at a time, so that all children have some; more of a long document."""
    size = min(LONGEST_TASK, math.ceil(len(look.scans) / (LANES * processes)) or 1)
    for start in range(0, len(look.scans), size):
        yield look.part(look.scans[start : start + size])


async def _all(lanes: Iterable[Callable[[], Coroutine[None, None, None]]]) -> None:
    """Run them all; the first fault stops the others and is raised as itself."""
    fault: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            for number, lane in enumerate(lanes):
                group.create_task(lane(), name=f"reading-lane-{number:02d}")
    except* ReadingFault as faults:
        fault = faults.exceptions[0]
    if fault is not None:
        raise fault
