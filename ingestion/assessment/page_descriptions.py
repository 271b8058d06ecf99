"""Describes what was read from a file, page by page, as plain data. Nothing is judged or stored."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from audit.files import durable
from ingestion.assessment.language import identify_language
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import Box, DocumentReading, PageReading, TextSource, Unreadable

SHARE_DECIMALS = 4  # of a place on a page, which are 0.03 mm of A4


def read_file(path: Path, limits: ReadingLimits) -> DocumentReading | Unreadable:
    """Return the reading of a file, in parser processes and with the limits of a worker host.

    Raises ReadingFault if the software fails to read it, and OSError.
    """
    from ingestion.reading.processes.pool import Reader  # noqa: PLC0415 - large, see preview_request

    async def read() -> DocumentReading | Unreadable:
        async with Reader(limits) as reader:
            return await reader.read(path, durable.hash_file(path).sha256)

    return asyncio.run(read())


def describe_page(page: PageReading) -> Mapping[str, Any]:
    """Return a page as in the JSON of `read_document` (docs/operations.md)."""
    return {
        "page": page.number,
        "text": page.text,
        "language": identify_language(page.text),
        "corrections": [
            {"kind": kind.value, "amount": amount} for kind, amount in page.corrections
        ],
        "words": _describe_words(page),
    }


def _describe_words(page: PageReading) -> Sequence[Sequence[object]]:
    """Return each word with the shares of the page's width and height at which its sides are."""
    original = page.page_map or page

    def measure_shares(box: Box) -> Sequence[float]:
        if page.page_map:
            box = page.page_map.locate(box, page.width, page.height)
        sides = (original.width, original.height, original.width, original.height)
        return [
            round(min(max(edge / side, 0.0), 1.0), SHARE_DECIMALS)
            for edge, side in zip(box, sides, strict=True)
        ]

    # A page that OCR read may have words of a text layer too, such as a stamp of a portal.
    layer = TextSource.NATIVE if page.source is TextSource.OCR else page.source
    return [
        [word.text, *measure_shares(word.box), round(word.confidence, 1), word.engine or layer]
        for word in page.words
    ]
