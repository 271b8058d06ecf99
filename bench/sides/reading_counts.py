"""Counts what was read from one file. Only counts are passed between processes."""

from dataclasses import dataclass

from ingestion.reading.results import DocumentReading, Unreadable


@dataclass(frozen=True, slots=True)
class ReadingCounts:
    """Describes the numbers of pages, characters and form fields that were read from one file."""

    pages: int = 0
    unread: int = 0  # of these
    characters: int = 0
    fields: int = 0  # form fields
    code: str = ""  # why the file could not be read


def count_reading(reading: DocumentReading | Unreadable) -> ReadingCounts:
    """Return the counts of a reading. This runs in the process that read the document."""
    if isinstance(reading, Unreadable):
        return ReadingCounts(code=reading.code)
    unread = sum(bool(page.error) for page in reading.pages)
    return ReadingCounts(len(reading.pages), unread, len(reading.text), len(reading.fields))
