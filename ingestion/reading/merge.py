"""The reading of a document, from its first look and its pages read by OCR. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from .results import (
    DigitalSignature,
    DocumentReading,
    MediaType,
    PageReading,
    TextSource,
    Unreadable,
)


@dataclass(frozen=True, slots=True)
class ProbedDocument:
    """A document after its first task; `scans` are the numbers of the pages that need OCR."""

    media_type: MediaType
    path: Path  # where its pages are to be read from: the original, or a repaired copy
    pages: tuple[PageReading, ...]
    scans: tuple[int, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    signatures: tuple[DigitalSignature, ...] = ()
    repaired: bool = False
    with_form: bool = True  # False: opened and drawn without its form, which took too long

    def part(self, numbers: Iterable[int]) -> "ProbedDocument":
        """The same document with these pages only: what one task has to know."""
        wanted = frozenset(numbers)
        pages = tuple(page for page in self.pages if page.number in wanted)
        return ProbedDocument(self.media_type, self.path, pages, with_form=self.with_form)

    def without(self, number: int, error: str) -> "ProbedDocument":
        """With a page that cannot be read in the place of one."""
        pages = (
            unreadable_page(number, error) if page.number == number else page for page in self.pages
        )
        return replace(self, pages=tuple(pages))


def unreadable_page(number: int, error: str) -> PageReading:
    return PageReading(number, 0.0, 0.0, "", TextSource.NATIVE, error=error)


@dataclass(frozen=True, slots=True)
class OcrPages:
    pages: tuple[PageReading, ...]
    engine: str = ""


def merge(look: ProbedDocument, read: Iterable[OcrPages]) -> DocumentReading | Unreadable:
    """In the order of the pages, whatever order they were read in.

    A page that cannot be read does not fail its document, unless there is no other. One that could
    be drawn, and that only OCR failed at, never does: a person can read it.
    """
    read = list(read)
    by_number = {page.number: page for page in look.pages}
    by_number |= {page.number: page for part in read for page in part.pages}
    pages = tuple(by_number[number] for number in sorted(by_number))
    if all(page.error and not page.dpi for page in pages):
        return Unreadable("PARSER_FAILURE", {"reason": pages[0].error})
    return DocumentReading(
        media_type=look.media_type,
        pages=pages,
        fields=look.fields,
        flags=look.flags,
        signatures=look.signatures,
        repaired=look.repaired,
        engine=max((part.engine for part in read), default=""),
    )
