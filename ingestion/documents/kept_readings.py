"""Reads documents of the archive again, without OCR, for training and for comparing models.

A text layer is read from the original. The words of scanned pages were kept with the decision
(`ingestion.models.Extraction`), and are used as they are. So OCR does not run again, and nothing is
stored beyond what the decision needed. The pages have no marks, which document types do not need.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from django.conf import settings

from ingestion.models import Document, Extraction
from ingestion.reading import tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.merge import OcrPages, ProbedDocument, merge_pages
from ingestion.reading.processes.parser_processes import ParserProcesses
from ingestion.reading.results import Box, DocumentReading, PageReading, TextSource, Word
from ingestion.rules.segmentation.parts import PagePart, select_pages
from ingestion.storage import archive

# A word belongs to the line of the word before it if it begins to the right of it, and if they
# share this part of the height of the lower one.
MIN_SHARED_HEIGHT = 0.5

Progress = Callable[[int], object]  # is called with the number of documents that were read


def read_kept(
    documents: Sequence[Document],
    *,
    progress: Progress = lambda _done: None,
    whole_pages: bool = False,
) -> dict[int, DocumentReading]:
    """Return the readings of documents by primary key.

    With `whole_pages`, a part that is a region of a page has the whole page. Documents are left out
    whose file is missing or cannot be read. Raises ReadingFault.
    """

    async def read_all() -> dict[int, DocumentReading]:
        limits: ReadingLimits = settings.READING_LIMITS
        waiting = asyncio.Semaphore(limits.processes)
        found: dict[int, DocumentReading] = {}
        done = count(1)

        async def read(document: Document) -> None:
            async with waiting:
                reading = await _read(
                    processes, document, kept.get(document.pk), limits, whole_pages=whole_pages
                )
            if reading is not None:
                found[document.pk] = reading
            progress(next(done))

        async with ParserProcesses(limits) as processes:
            await asyncio.gather(*map(read, documents))
        return found

    rows = Extraction.objects.filter(document__in=[document.pk for document in documents])
    # The last extraction of each document that has one.
    kept = {row.document_id: row for row in rows.order_by("attempt")}
    return asyncio.run(read_all())


async def _read(
    processes: ParserProcesses,
    document: Document,
    kept: Extraction | None,
    limits: ReadingLimits,
    *,
    whole_pages: bool,
) -> DocumentReading | None:
    local = processes.scratch / f"kept-{document.pk}"
    rewritten = processes.scratch / f"kept-{document.pk}.pdf"
    try:
        await asyncio.to_thread(archive.copy_to, document.sha256, local)
        probe = await processes.run(tasks.probe_document, local, rewritten, limits)
    except FileNotFoundError:
        return None
    finally:
        for path in (local, rewritten):
            path.unlink(missing_ok=True)
    if not isinstance(probe, ProbedDocument):
        return None  # it cannot be read any more, or it killed its process
    pages = tuple(_kept_pages(probe, kept)) if kept else ()
    reading = merge_pages(probe, [OcrPages(pages, kept.engine if kept else "")])
    if not isinstance(reading, DocumentReading):
        return None
    part = document.file_part
    if part is None:
        return reading
    region = None if whole_pages else part.region
    return select_pages(reading, PagePart(part.first, part.last, region))


def _kept_pages(probe: ProbedDocument, kept: Extraction) -> Iterator[PageReading]:
    """Yield the scanned pages with the words that OCR read when the document was decided."""
    words = kept.words_by_page
    descriptions: Mapping[int, Mapping[str, Any]] = {each["number"]: each for each in kept.pages}
    for page in probe.pages:
        if page.number not in probe.scans or page.number not in words:
            continue
        read = tuple(
            Word(text, Box(*box), confidence) for text, box, confidence in words[page.number]
        )
        description = descriptions.get(page.number, {})
        yield replace(
            page,
            width=description.get("width", page.width),
            height=description.get("height", page.height),
            text=join_lines(read),
            words=read,
            source=TextSource.OCR,
            confidence=description.get("confidence", 100.0),
            dpi=description.get("dpi", 0),
            rotation=description.get("turned", 0),
        )


def join_lines(words: Iterable[Word]) -> str:
    """Return the text of words in reading order, with a line break where a line begins."""
    lines: list[list[Word]] = []
    for word in words:
        if not lines or not _is_same_line(lines[-1][-1].box, word.box):
            lines.append([])
        lines[-1].append(word)
    return "\n".join(" ".join(word.text for word in line) for line in lines)


def _is_same_line(before: Box, box: Box) -> bool:
    shared = min(before.bottom, box.bottom) - max(before.top, box.top)
    lower = min(before.bottom - before.top, box.bottom - box.top)
    return box.left >= before.left and shared >= MIN_SHARED_HEIGHT * lower
