"""Whether a file holds one document of its type, and nothing else."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ingestion.reading.results import DocumentReading
from ingestion.rules.classification.document_starts import DocumentStart, find_document_starts
from ingestion.rules.document_types import TYPES, DocumentType
from ingestion.rules.findings import RuleFinding

MAX_DOCUMENTS_NAMED = 12


def multiple_documents(
    reading: DocumentReading, kind: DocumentType | None
) -> Iterator[RuleFinding]:
    """Yield a finding if documents begin in several places, or there are too many pages for one.

    `kind` is the type that the file was recognised as; None where it was recognised as none.
    """
    pages = len(reading.pages)
    starts = find_document_starts(reading)
    if len(starts) > 1:
        yield RuleFinding(
            "MULTIPLE_DOCUMENTS", starts[1].page, {"documents": _named(starts, pages)}
        )
    elif kind and kind.max_pages and pages > kind.max_pages:
        facts = {"pages": pages, "limit_pages": kind.max_pages}
        yield RuleFinding("MULTIPLE_DOCUMENTS", facts=facts)


def _named(starts: Sequence[DocumentStart], pages: int) -> str:
    """Return what begins where, as in "IRB approval on pages 1 to 2; CV on page 3"."""
    after = DocumentStart(pages + 1)
    named = [
        f"{_noun(start)} on {_page_range(start.page, max(following.page - 1, start.page))}"
        for start, following in pairwise((*starts, after))
    ]
    more = len(named) - MAX_DOCUMENTS_NAMED
    return "; ".join([*named[:MAX_DOCUMENTS_NAMED], *([f"and {more} more"] if more > 0 else [])])


def _noun(start: DocumentStart) -> str:
    return TYPES[start.slug].noun if start.slug else "a document of another type"


def _page_range(first: int, last: int) -> str:
    return f"page {first}" if first == last else f"pages {first} to {last}"
