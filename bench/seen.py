"""The result of reading one file in a measurement. Only counts are passed between processes."""

from dataclasses import dataclass

from ingestion.reading.results import DocumentReading, Unreadable


@dataclass(frozen=True, slots=True)
class Seen:
    pages: int = 0
    unread: int = 0  # of these
    characters: int = 0
    fields: int = 0  # form fields
    code: str = ""  # why the file could not be read


def counted(seen: DocumentReading | Unreadable) -> Seen:
    if isinstance(seen, Unreadable):
        return Seen(code=seen.code)
    unread = sum(bool(page.error) for page in seen.pages)
    return Seen(len(seen.pages), unread, len(seen.text), len(seen.fields))
