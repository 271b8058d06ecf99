"""Opens files that have no pages of their own: documents of word processors, and containers.

A document of a word processor is read from its rendition as PDF. A container is not read at all:
each of its entries is a file of its own.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from ingestion.core.container_entries import OpenedContainer
from ingestion.reading.containers.open_container import open_container
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.office import ConverterFault, examine_office_file, render_office
from ingestion.reading.pdf.file_type import HEADER_WINDOW_BYTES, detect_media_type, match_media_type
from ingestion.reading.results import DocumentReading, MediaType, Unreadable


@dataclass(frozen=True, slots=True)
class RenderedPages:
    """The PDF with the pages of a document that was rendered, and what is known of the original."""

    path: Path
    media_type: MediaType  # of the original
    flags: frozenset[str]  # of the original, as in `DocumentReading.flags`
    tool: str = ""  # what rendered it; "" if it had been rendered before

    def describe(self, reading: DocumentReading | Unreadable) -> DocumentReading | Unreadable:
        """Return the reading of the pages as one of the original."""
        if isinstance(reading, Unreadable):
            return reading
        return replace(reading, media_type=self.media_type, flags=reading.flags | self.flags)


IndirectFile = RenderedPages | OpenedContainer | ConverterFault | Unreadable


def may_be_indirect(path: Path) -> bool:
    """Return whether `open_indirect_file` may return something other than None for this file."""
    with path.open("rb") as file:
        head = file.read(HEADER_WINDOW_BYTES)
    found = match_media_type(head)
    return found is None or found.is_office or found.is_container


def open_indirect_file(
    path: Path, target: Path, limits: ReadingLimits, rendered: Path | None = None
) -> IndirectFile | None:
    """Render a document to the file `target`, or write the entries of a container to that folder.

    Returns None if the file has pages of its own. `rendered` is an earlier rendition, which is used
    again. It runs in a parser process.
    """
    media_type = detect_media_type(path, limits)
    if isinstance(media_type, Unreadable):
        return media_type
    if media_type.is_container:
        return open_container(path, media_type, target, limits)
    if not media_type.is_office:
        return None
    flags = examine_office_file(path, media_type)
    if isinstance(flags, Unreadable):
        return flags
    if rendered:
        return RenderedPages(rendered, media_type, flags)
    tool = render_office(path, media_type, target, limits)
    return RenderedPages(target, media_type, flags, tool) if isinstance(tool, str) else tool


def open_portfolio(path: Path, target: Path, limits: ReadingLimits) -> OpenedContainer | Unreadable:
    """Write the entries of a PDF portfolio to the folder `target`. It runs in a parser process."""
    return open_container(path, MediaType.PDF, target, limits)
