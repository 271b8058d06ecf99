"""Merges a document's probe with its pages that OCR read. The functions are pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .reading_stages import PageStage, Stage
from .results import (
    DigitalSignature,
    DocumentReading,
    MediaType,
    PageReading,
    TextSource,
    Unreadable,
)

# What the deferred stages find: attributes of PageReading.
FOUND_BY_STAGE: Mapping[Stage, Sequence[str]] = MappingProxyType(
    {
        Stage.PLACES: ("words", "marks", "empty_squares", "forms"),
        Stage.MARKS: ("marks",),
        Stage.CHECK_BOXES: ("empty_squares",),
        Stage.FORM: ("forms",),
        Stage.CODES: ("separator_codes",),
    }
)


@dataclass(frozen=True, slots=True)
class ProbedDocument:
    """A document after its first task, which reads everything that needs no OCR."""

    media_type: MediaType
    path: Path  # the file to read the pages from: the original or a repaired copy
    pages: tuple[PageReading, ...]
    scans: tuple[int, ...] = ()  # numbers of the pages that need OCR, from 1
    fields: Mapping[str, str] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    signatures: tuple[DigitalSignature, ...] = ()
    repaired: bool = False
    with_form: bool = True  # False if it was opened without its form, which took too long to draw
    kept: Path | None = None  # folder of its pages that OCR has read (`kept_pages`), or None
    expected_language: str = ""  # of its scans, as the sender declared it

    def part(self, numbers: Iterable[int]) -> "ProbedDocument":
        """Return the document with these pages only, as the argument of one OCR task."""
        wanted = frozenset(numbers)
        pages = tuple(page for page in self.pages if page.number in wanted)
        return ProbedDocument(
            self.media_type,
            self.path,
            pages,
            with_form=self.with_form,
            expected_language=self.expected_language,
            kept=self.kept,
        )

    def with_unreadable_page(self, number: int, error: str) -> "ProbedDocument":
        """Return the document with page `number`, from 1, replaced by one that cannot be read."""
        pages = (
            make_unreadable_page(number, error) if page.number == number else page
            for page in self.pages
        )
        return replace(self, pages=tuple(pages))

    def without_stage(self, left_out: PageStage) -> "ProbedDocument":
        """Return the document without what a stage would find on its page."""
        number, stage = left_out
        nothing: dict[str, Any] = dict.fromkeys(FOUND_BY_STAGE.get(stage, ()), ())
        pages = (
            replace(page, unfinished=(*page.unfinished, stage), **nothing)
            if page.number == number
            else page
            for page in self.pages
        )
        return replace(self, pages=tuple(pages))


def make_unreadable_page(number: int, error: str) -> PageReading:
    """Return the result for a page that cannot be read."""
    return PageReading(number, 0.0, 0.0, "", TextSource.NATIVE, error=error)


@dataclass(frozen=True, slots=True)
class OcrPages:
    """The pages that one OCR task read, and the engine's version ("" if it read none)."""

    pages: tuple[PageReading, ...]
    engine: str = ""


def merge_pages(document: ProbedDocument, ocr: Iterable[OcrPages]) -> DocumentReading | Unreadable:
    """Return the reading of a document, with its pages in their order.

    A page that cannot be read does not make its document unreadable unless all others cannot be
    read either. A page that was rendered and only failed in OCR never does, because a person can
    read it.
    """
    ocr = list(ocr)
    by_number = {page.number: page for page in document.pages}
    by_number |= {page.number: page for part in ocr for page in part.pages}
    pages = tuple(by_number[number] for number in sorted(by_number))
    if all(page.error and not page.dpi for page in pages):
        return Unreadable("PARSER_FAILURE", {"reason": pages[0].error})
    return DocumentReading(
        media_type=document.media_type,
        pages=pages,
        fields=document.fields,
        flags=document.flags,
        signatures=document.signatures,
        repaired=document.repaired,
        engine=_name_engines(ocr),
    )


def _name_engines(ocr: Iterable[OcrPages]) -> str:
    """Return the engines that read pages, in the order of the pages, each once."""
    in_order = sorted(ocr, key=lambda part: min((page.number for page in part.pages), default=0))
    notes = (note for part in in_order for note in part.engine.split("; ") if note)
    return "; ".join(dict.fromkeys(notes))
