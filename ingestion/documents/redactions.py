"""Blackens places on the pages of documents: the proposal, the rendition, and what is in force.

A redaction is a signed decision of QA (`ingestion.review`). The original stays the record, for QA
only. All others see the redacted rendition, a PDF of pictures in whose pixels the places are black.
The newest decision about the same pages counts.

A redaction is about bytes: it applies to every document with the same SHA-256, such as a repetition
of the file or its filing at another site. If there is no rendition of exactly the pages of such a
document, others see nothing of it.
"""

import asyncio
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from audit.files import durable
from ingestion.core.errors import ReadingFault
from ingestion.core.renditions import RenderedFile, RenditionKind
from ingestion.core.states import DocumentState
from ingestion.documents import renditions
from ingestion.models import Action, Decision, Document, DocumentRendition, Extraction
from ingestion.reading.provenance import restore_page_map
from ingestion.reading.results import Box, MediaType
from ingestion.rules.findings import format_area, parse_area
from ingestion.search import writing
from ingestion.storage import archive

# Until this migration has run, processes of the release before may be running, which would show
# originals in spite of a redaction.
MIGRATION: Final = ("ingestion", "0040_post_redact_documents")
SUSPECTED = "PHI_SUSPECTED"  # the finding with the places of participants' details
MARGIN = 2.0  # points around the words of a proposed place
MAX_AREAS_PER_PAGE = 400
TOLERANCE = 1.0  # points by which a place may be smaller than an earlier one, through rounding
# The size of a page that was not read. Places on it are in percent of width and height.
UNKNOWN_SIZE = (100.0, 100.0)
MAX_CONCURRENT_RENDERINGS = 2  # of one web server process, whose other threads serve people
MAX_WAIT_SECONDS = 30  # for another rendering to end
_renderings = threading.BoundedSemaphore(MAX_CONCURRENT_RENDERINGS)


class RedactionFailed(Exception):
    """The rendition could not be made, because of a fault of ours. The message is for the log."""


@dataclass(frozen=True, slots=True)
class RedactedPage:
    """The places to blacken on a page, in points of the page as it is shown to people."""

    width: float
    height: float
    boxes: tuple[Box, ...]

    def covers(self, box: Box) -> bool:
        """Return whether a place is within one of these places."""
        return any(
            each.left - TOLERANCE <= box.left
            and each.top - TOLERANCE <= box.top
            and box.right <= each.right + TOLERANCE
            and box.bottom <= each.bottom + TOLERANCE
            for each in self.boxes
        )


@dataclass(frozen=True, slots=True)
class Redaction:
    """The places to blacken, by the number of the page in the file, from 1."""

    pages: Mapping[int, RedactedPage]

    @property
    def area_count(self) -> int:
        """Return the number of places."""
        return sum(len(page.boxes) for page in self.pages.values())

    def covers(self, other: "Redaction") -> bool:
        """Return whether it blackens everything that another redaction blackens."""
        return all(
            number in self.pages and self.pages[number].covers(box)
            for number, page in other.pages.items()
            for box in page.boxes
        )

    def as_json(self) -> list[dict[str, Any]]:
        """Return the places as a decision and the ledger record them: numbers, and no words."""
        return [
            {
                "page": number,
                "size": f"{page.width:.1f} {page.height:.1f}",
                "areas": len(page.boxes),
                "area": format_area(*page.boxes),
            }
            for number, page in sorted(self.pages.items())
            if page.boxes
        ]

    @classmethod
    def parse(cls, recorded: Sequence[Mapping[str, Any]]) -> Self:
        """Return the redaction that `as_json` wrote."""
        pages = {}
        for page in recorded:
            width, height = map(float, page["size"].split())
            pages[page["page"]] = RedactedPage(width, height, tuple(parse_area(page["area"])))
        return cls(pages)


def read_redaction(decision: Decision) -> Redaction:
    """Return the places that a decision blackens."""
    return Redaction.parse((decision.redaction or {}).get("pages", ()))


def get_page_sizes(document: Document) -> dict[int, tuple[float, float]]:
    """Return width and height of each page as it is shown, in points."""
    read = _read_pages(document.extractions.last())
    sizes = {}
    for number in document.page_numbers or range(1, 2):
        size = read.get(number, {}).get("original", read.get(number, {}))
        is_known = bool(size.get("width") and size.get("height"))
        sizes[number] = (size["width"], size["height"]) if is_known else UNKNOWN_SIZE
    return sizes


def propose(document: Document) -> Redaction:
    """Return the places that seem to be a participant's details, and those of redactions before."""
    read, sizes = _read_pages(document.extractions.last()), get_page_sizes(document)
    found: dict[int, list[Box]] = {}
    for finding in document.current_findings:
        if finding.code != SUSPECTED or finding.page not in sizes:
            continue
        page = read.get(finding.page, {})
        page_map = restore_page_map(page)
        for box in parse_area(finding.facts.get("area", "")):
            place = page_map.locate(box, page["width"], page["height"]) if page_map else box
            found.setdefault(finding.page, []).append(_add_margin(place, sizes[finding.page]))
    for decision in list_decisions(document):
        for number, page_before in read_redaction(decision).pages.items():
            if number in sizes:
                found.setdefault(number, []).extend(page_before.boxes)
    return Redaction(
        {
            number: RedactedPage(*sizes[number], tuple(_drop_covered(boxes)))
            for number, boxes in found.items()
        }
    )


def _add_margin(box: Box, size: tuple[float, float]) -> Box:
    width, height = size
    return Box(
        max(box.left - MARGIN, 0.0),
        max(box.top - MARGIN, 0.0),
        min(box.right + MARGIN, width),
        min(box.bottom + MARGIN, height),
    )


def _drop_covered(boxes: Sequence[Box]) -> list[Box]:
    """Return the boxes without those within others, in reading order."""
    kept: list[Box] = []
    for box in sorted(set(boxes), key=lambda each: -_area_of(each)):
        if not RedactedPage(0, 0, tuple(kept)).covers(box):
            kept.append(box)
    return sorted(kept, key=lambda each: (each.top, each.left))


def _area_of(box: Box) -> float:
    return (box.right - box.left) * (box.bottom - box.top)


def _read_pages(extraction: Extraction | None) -> dict[int, Mapping[str, Any]]:
    return {page["number"]: page for page in (extraction.pages if extraction else ())}


@contextmanager
def render(document: Document, redaction: Redaction) -> Iterator[RenderedFile]:
    """Render the pages of a document as pictures with the places black, in a parser process.

    The file exists inside the context. Raises RedactionFailed if not every page was rendered.
    """
    from ingestion.reading import page_pictures  # noqa: PLC0415 - loads libraries

    turned = {
        number: page.get("turned", 0)
        for number, page in _read_pages(document.extractions.last()).items()
    }
    blackened = {
        number: page_pictures.BlackenedPage(
            page.width, page.height, page.boxes, turned.get(number, 0)
        )
        for number, page in redaction.pages.items()
    }
    with tempfile.TemporaryDirectory(prefix="siteledger-redaction-") as folder:
        source, target = Path(folder, "source"), Path(folder, "redacted.pdf")
        if not _renderings.acquire(timeout=MAX_WAIT_SECONDS):
            raise RedactionFailed("other redactions are being rendered")
        try:
            # The archive may be a bucket, so its bytes are copied to a file of this machine.
            archive.copy_to(renditions.get_read_sha256(document), source)
            outcome = asyncio.run(
                page_pictures.render_pictures(
                    source,
                    target,
                    settings.READING_LIMITS,
                    part=document.file_part,
                    blackened=blackened,
                )
            )
        except (OSError, ReadingFault) as fault:
            raise RedactionFailed(str(fault)) from fault
        finally:
            _renderings.release()
        if isinstance(outcome, page_pictures.PicturesFailed):
            raise RedactionFailed(outcome.reason)
        if outcome.undisplayed:
            raise RedactionFailed(f"pages {outcome.undisplayed} cannot be displayed")
        sha256, size = durable.hash_file(target)
        yield RenderedFile(
            RenditionKind.REDACTED, target, sha256, size, str(MediaType.PDF), outcome.tool
        )


def remove_words(document: Document, redaction: Redaction) -> None:
    """Remove the words in the places from the index: of this file, and of files of the same bytes.

    Call it in the transaction of the decision.
    """
    read = _read_pages(document.extractions.last())
    areas = {
        number: _find_areas_as_read(page, read.get(number, {}))
        for number, page in redaction.pages.items()
        if page.boxes
    }
    same = Document.objects.filter(sha256=document.sha256)
    files = {renditions.get_file_row(each).pk: renditions.get_file_row(each) for each in same}
    for file in files.values():
        writing.remove_words(file, areas)


def _find_areas_as_read(page: RedactedPage, read: Mapping[str, Any]) -> list[Box] | None:
    """Return the places on the page as it was read; None, for the whole page, if unknown."""
    if not read.get("width"):
        return None
    page_map = restore_page_map(read)
    if page_map is None:
        return list(page.boxes)
    width, height = read["width"], read["height"]
    return [area for box in page.boxes for area in page_map.find_sources(box, width, height)]


def list_decisions(document: Document) -> list[Decision]:
    """Return the redactions of bytes of this document, of any of its pages, the oldest first.

    They are read once for an instance of the model, and again after `refresh_from_db`.
    """
    if document.known_redactions is None:
        load_decisions([document])
    return document.known_redactions or []


def load_decisions(documents: Sequence[Document]) -> None:
    """Read the redactions of many documents at once."""
    of_bytes: dict[str, list[Decision]] = {}
    hashes = {document.sha256 for document in documents if document.sha256}
    rows = Decision.objects.filter(action=Action.REDACT, sha256__in=hashes)
    for decision in rows.select_related("document").order_by("pk") if hashes else ():
        of_bytes.setdefault(decision.sha256, []).append(decision)
    for document in documents:
        own = document.page_numbers if document.has_pages_of_a_file else None
        document.known_redactions = [
            decision
            for decision in of_bytes.get(document.sha256, ())
            if own is None or _overlaps(decision.document, own)
        ]


def _overlaps(other: Document, own: range) -> bool:
    if not other.has_pages_of_a_file:
        return True
    numbers = other.page_numbers
    return numbers[0] <= own[-1] and own[0] <= numbers[-1]


def is_withheld(document: Document) -> bool:
    """Return whether a document may name a participant, and QA has not filed it."""
    is_suspected = any(finding.code == SUSPECTED for finding in document.findings.all())
    return is_suspected and document.state != DocumentState.ARCHIVED


def is_redacted(document: Document) -> bool:
    """Return whether others than QA must not see the original of this document."""
    return bool(list_decisions(document))


def find_rendition(document: Document) -> DocumentRendition | None:
    """Return the redacted rendition of exactly the pages of a document, or None.

    None also if a redaction of other pages, which overlap, is newer: it blackens other places.
    """
    decisions = list_decisions(document)
    if not decisions or not _has_same_pages(decisions[-1].document, document):
        return None
    last = decisions[-1]
    rows = last.document.renditions.filter(
        kind=RenditionKind.REDACTED, sha256=(last.redaction or {}).get("rendition", "")
    )
    return rows.last()


def make_withheld_condition() -> Q:
    """Return the condition on documents of which others than QA must not see anything.

    A redaction of other pages, which overlap, is newer than those of exactly these pages: then
    `find_rendition` finds nothing. So is a container withheld whose entries were redacted.
    """
    redacted = Decision.objects.filter(action=Action.REDACT)
    own_pages = {
        f"document__{name}": OuterRef(OuterRef(name))
        for name in ("first_page", "last_page", "region")
    }
    newer_own = redacted.filter(sha256=OuterRef("sha256"), pk__gt=OuterRef("pk"), **own_pages)
    others = (
        redacted.filter(sha256=OuterRef("sha256"))
        .exclude(
            document__first_page=OuterRef("first_page"),
            document__last_page=OuterRef("last_page"),
            document__region=OuterRef("region"),
        )
        .exclude(Exists(newer_own))
    )
    within = Q(
        document__first_page__lte=OuterRef("last_page"),
        document__last_page__gte=OuterRef("first_page"),
    )
    entries = Document.objects.filter(part_of=OuterRef("pk"), entry__gt=0).filter(
        Exists(redacted.filter(sha256=OuterRef("sha256")))
    )
    return (
        Q(Exists(others), first_page=0)
        | Q(Exists(others.filter(Q(document__first_page=0) | within)), first_page__gt=0)
        | Q(Exists(entries))
    )


def _has_same_pages(one: Document, other: Document) -> bool:
    if not one.has_pages_of_a_file or not other.has_pages_of_a_file:
        return one.has_pages_of_a_file == other.has_pages_of_a_file
    pages = (one.first_page, one.last_page, one.region)
    return pages == (other.first_page, other.last_page, other.region)


def is_place_redacted(document: Document, page: int, box: Sequence[float] | None) -> bool:
    """Return whether a place of the page, as it was read, is blackened. None: any place of it."""
    read = _read_pages(document.extractions.last()).get(page, {})
    page_map = restore_page_map(read)
    for decision in list_decisions(document):
        redacted = read_redaction(decision).pages.get(page)
        if redacted is None:
            continue
        if box is None:
            return True
        place = Box(*box)
        if page_map:
            place = page_map.locate(place, read["width"], read["height"])
        if any(place.intersects(each) for each in redacted.boxes):
            return True
    return False
