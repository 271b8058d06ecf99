"""Reads documents, distributed over parser processes.

A document is one probe, and then tasks of one to four scanned pages. A long scan thereby uses
every core, and other documents' tasks fit in between. A process that dies or is stopped is charged
to the document that it read, and to no other. Its task is repeated once: page by page if it had
several pages, at a low resolution if its page took too long, and otherwise with the OCR engine that
is a program of its own, whose crash ends no parser process. A page that kills a process again is
not read. A fault of ours is raised as ReadingFault and never blamed on the file.
"""

import asyncio
import logging
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Self, TypeVar

from ingestion.core.container_entries import OpenedContainer
from ingestion.core.errors import ConverterUnavailable, ReadingFault
from ingestion.reading import kept_pages, tasks
from ingestion.reading.indirect_files import (
    RenderedPages,
    may_be_indirect,
    open_indirect_file,
    open_portfolio,
)
from ingestion.reading.limits import ISOLATED, MAX_PAGES_PER_TASK, ReadingLimits
from ingestion.reading.merge import OcrPages, ProbedDocument, merge_pages
from ingestion.reading.ocr.second_engine.launch import UnsafeFolder, start_if_needed
from ingestion.reading.office import ConverterFault
from ingestion.reading.pdf.lazy import evaluate
from ingestion.reading.reading_stages import NOTHING, LeftOut
from ingestion.reading.results import DocumentReading, Unreadable

from .parser_processes import ParserProcesses, ProcessKilled

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

# Documents for each process whose scans are read at the same time. Probes of other documents run
# in between.
MAX_SCANNED_DOCUMENTS_PER_PROCESS = 2
# Tasks of one document in flight for each process: enough to keep the processes busy without a
# queue.
TASKS_IN_FLIGHT_PER_PROCESS = 2
MAX_PROBES = 4  # of one document, each without what ended the one before


class Reader:
    """Reads documents in parser processes, and belongs to one event loop.

    It owns processes, so close it or use it as a context manager.
    """

    def __init__(
        self,
        limits: ReadingLimits,
        *,
        preload: Sequence[str] = (),
        log_config: Mapping[str, Any] | None = None,
        kept_pages: Path | None = None,
    ) -> None:
        """`preload` are modules of the functions for `read_then`, which processes import first.

        `log_config` configures the log of the processes, as `logging.config.dictConfig` does.
        `kept_pages` is the folder in which pages that OCR has read are kept (`reading.kept_pages`),
        so that a reader after this one continues if the process dies. None: none are kept.
        """
        self._limits = limits
        self._kept_pages = kept_pages
        self._isolated_limits = replace(limits, engine=ISOLATED)
        self._processes = ParserProcesses(limits, preload, log_config)
        self._numbers = count(1)
        self._scanned_documents = asyncio.Semaphore(
            MAX_SCANNED_DOCUMENTS_PER_PROCESS * limits.processes
        )

    @property
    def scratch(self) -> Path:
        """Return the folder of the processes. It is removed when the reader or its process ends."""
        return self._processes.scratch

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def read(self, path: Path, sha256: str) -> DocumentReading | Unreadable:
        """Return the reading of a file, or of its rendition. A container is Unreadable.

        Raises ReadingFault.
        """
        return await self.read_file_then(_evaluated, path, sha256)

    async def read_file_then(
        self,
        conclude: Callable[[DocumentReading | Unreadable], Result],
        path: Path,
        sha256: str,
    ) -> Result:
        """Return `conclude` of the reading of a file, as `read_then` does.

        A document of a word processor is rendered for it, and the rendition is not kept. Raises
        ReadingFault.
        """
        opened = await self.open_indirect(path, sha256)
        if isinstance(opened, OpenedContainer):
            await asyncio.to_thread(shutil.rmtree, opened.folder, ignore_errors=True)
            opened = Unreadable("CONTAINER_REFUSED")
        if isinstance(opened, Unreadable):
            return await asyncio.to_thread(conclude, opened)
        try:
            return await self.read_then(conclude, path, sha256, rendered=opened)
        finally:
            if opened and opened.tool:
                await asyncio.to_thread(opened.path.unlink, missing_ok=True)

    async def read_then(
        self,
        conclude: Callable[[DocumentReading | Unreadable], Result],
        path: Path,
        sha256: str,
        *,
        pages: range | None = None,
        rendered: RenderedPages | None = None,
        expected_language: str = "",
    ) -> Result:
        """Return `conclude` of the reading of a file, or of some of its pages. Raises ReadingFault.

        With `rendered`, the pages of this rendition are read in the place of the file. OCR reads
        the first page in `expected_language`, if its data is installed.

        `conclude` is a function of a module, or a partial of one. It is sent to the parser
        process, so that a reading of thousands of words stays there. Its pages have lazy words and
        marks, which cannot be sent back. Only the reading of a document with OCR is sent back, and
        `conclude` is called with it in a thread of this process.
        """
        rewritten = self.scratch / f"{sha256[:16]}-{next(self._numbers)}.pdf"
        if rendered:
            path, conclude = rendered.path, partial(_conclude_rendered, conclude, rendered)
        probe = await self._probe(conclude, path, rewritten, pages)
        if isinstance(probe, tasks.Conclusion):
            return probe.result
        try:
            reading: DocumentReading | Unreadable
            if isinstance(probe, ProcessKilled):
                reading = probe.as_unreadable()
            else:
                if self._kept_pages and not rendered:  # a new rendition has other bytes
                    folder = await asyncio.to_thread(
                        kept_pages.get_folder,
                        self._kept_pages,
                        sha256,
                        self._limits,
                        with_form=probe.with_form,
                        expected_language=expected_language,
                    )
                    probe = replace(probe, kept=folder)
                probe = replace(probe, expected_language=expected_language)
                async with self._scanned_documents:
                    reading = merge_pages(probe, await self._read_scans(probe))
            return await asyncio.to_thread(conclude, reading)
        finally:
            await asyncio.to_thread(rewritten.unlink, missing_ok=True)

    async def open_indirect(
        self, path: Path, sha256: str, rendered: Path | None = None
    ) -> RenderedPages | OpenedContainer | Unreadable | None:
        """Render a document of a word processor, or open a container.

        Returns None for a file with pages of its own. `rendered` is an earlier rendition of the
        file, which is used again. The caller removes the returned files. Raises ReadingFault, and
        ConverterUnavailable if no document can be rendered here.
        """
        try:
            if not await asyncio.to_thread(may_be_indirect, path):
                return None
        except OSError:
            return None  # The task that reads the file reports the fault.
        target = self.scratch / f"{sha256[:16]}-{next(self._numbers)}-opened"
        outcome = await self._processes.run(
            open_indirect_file, path, target, self._limits, rendered
        )
        if isinstance(outcome, ConverterFault):
            raise ConverterUnavailable(outcome.reason)
        return outcome.as_unreadable() if isinstance(outcome, ProcessKilled) else outcome

    async def open_portfolio(self, path: Path, sha256: str) -> OpenedContainer | Unreadable:
        """Open a PDF portfolio. The caller removes the folder of its entries.

        Raises ReadingFault.
        """
        target = self.scratch / f"{sha256[:16]}-{next(self._numbers)}-opened"
        outcome = await self._processes.run(open_portfolio, path, target, self._limits)
        return outcome.as_unreadable() if isinstance(outcome, ProcessKilled) else outcome

    async def close(self) -> None:
        """Stop every process, even during its work. Calls in progress raise ReadingFault."""
        await self._processes.close()

    async def _probe(
        self,
        conclude: Callable[[DocumentReading | Unreadable], Result],
        path: Path,
        rewritten: Path,
        pages: range | None,
    ) -> ProbedDocument | tasks.Conclusion[Result] | ProcessKilled:
        """Probe a document, and again if the process died.

        What a page took too long for is left out: a deferred stage of it, the form of the document,
        or the page.
        """
        left_out, may_repeat = NOTHING, True
        for _ in range(MAX_PROBES):
            outcome = await self._processes.run(
                tasks.probe_and_conclude,
                conclude,
                path,
                rewritten,
                self._limits,
                pages=pages,
                left_out=left_out,
            )
            if not isinstance(outcome, ProcessKilled):
                break
            slow = outcome.slow_stage
            if not outcome.is_page_timeout and may_repeat:
                may_repeat = False
            elif slow and (slow.can_be_left_out or left_out.form):
                left_out = left_out.and_stage(slow)
            elif not left_out.form:
                left_out = left_out.and_form()
            else:
                break
        return outcome

    async def _read_scans(self, document: ProbedDocument) -> list[OcrPages]:
        """Read the scanned pages by several tasks at the same time.

        The first ReadingFault stops all of them and is raised.
        """
        await asyncio.to_thread(self._start_second_engine)
        parts = _split_scans(document, self._limits.processes)
        read: list[OcrPages] = []

        async def work() -> None:
            for part in parts:
                read.extend(await self._read_part(part))

        workers = min(TASKS_IN_FLIGHT_PER_PROCESS * self._limits.processes, len(document.scans))
        fault: BaseException | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(workers):
                    group.create_task(work(), name=f"reading-scans-{number:02d}")
        except* ReadingFault as faults:
            fault = faults.exceptions[0]
        if fault is not None:
            raise fault
        return read

    def _start_second_engine(self) -> None:
        """Start the second OCR engine of this host unless it runs.

        Without it, documents are read by Tesseract alone, as their provenance says.
        """
        if self._limits.second_engine is None:
            return
        try:
            start_if_needed(self._limits.second_engine)
        except (OSError, UnsafeFolder) as error:
            logger.warning("The second OCR engine cannot be started: %s", error)

    async def _read_part(self, part: ProbedDocument) -> list[OcrPages]:
        """Read a part of a document, and page by page if that kills the process."""
        outcome = await self._processes.run(tasks.read_scans, part, self._limits)
        if not isinstance(outcome, ProcessKilled):
            others = [page.number for page in part.pages[len(outcome.pages) :]]
            return [outcome, *(await self._read_part(part.part(others)) if others else ())]
        if len(part.pages) == 1:
            return [await self._retry_page(part, outcome)]
        return [await self._read_single_page(part.part([page.number])) for page in part.pages]

    async def _read_single_page(self, part: ProbedDocument) -> OcrPages:
        """Read one page of a part that killed its process, and once more if it takes too long."""
        outcome = await self._processes.run(tasks.read_scans, part, self._isolated_limits)
        if isinstance(outcome, ProcessKilled) and outcome.is_page_timeout:
            return await self._retry_page(part, outcome)
        return _failed_pages(part, outcome) if isinstance(outcome, ProcessKilled) else outcome

    async def _retry_page(self, part: ProbedDocument, before: ProcessKilled) -> OcrPages:
        """Read a single page again, with the isolated engine if it did not take too long.

        Otherwise it is read without the stage that took too long, or at a low resolution.
        """
        limits = self._limits if before.is_page_timeout else self._isolated_limits
        slow = before.slow_stage
        if slow and slow.can_be_left_out:
            left_out = LeftOut(stages=frozenset({slow}))
        else:
            left_out = LeftOut(resolution=before.is_page_timeout)
        outcome = await self._processes.run(tasks.read_scans, part, limits, left_out)
        return _failed_pages(part, outcome) if isinstance(outcome, ProcessKilled) else outcome


def _conclude_rendered(
    conclude: Callable[[DocumentReading | Unreadable], Result],
    rendered: RenderedPages,
    reading: DocumentReading | Unreadable,
) -> Result:
    """Return `conclude` of the reading of a rendition, as one of its original."""
    return conclude(rendered.describe(reading))


def _failed_pages(part: ProbedDocument, killed: ProcessKilled) -> OcrPages:
    error = f"{killed.reason} (exit code {killed.exit_code})"
    return OcrPages(tuple(replace(page, error=error) for page in part.pages))


def _evaluated(reading: DocumentReading | Unreadable) -> DocumentReading | Unreadable:
    """Return the reading with plain words and marks, which can be sent to another process."""
    if isinstance(reading, Unreadable):
        return reading
    return replace(reading, pages=tuple(map(evaluate, reading.pages)))


def _split_scans(document: ProbedDocument, processes: int) -> Iterator[ProbedDocument]:
    """Yield the parts for OCR tasks.

    A short document is divided so that all processes get pages, a long one into parts of
    `MAX_PAGES_PER_TASK`.
    """
    tasks_in_flight = TASKS_IN_FLIGHT_PER_PROCESS * processes
    size = min(MAX_PAGES_PER_TASK, math.ceil(len(document.scans) / tasks_in_flight) or 1)
    for start in range(0, len(document.scans), size):
        yield document.part(document.scans[start : start + size])
