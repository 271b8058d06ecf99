"""The check that a file contains one document of its type, and nothing else."""

from collections.abc import Iterator
from itertools import pairwise

from ingestion.reading.results import DocumentReading
from ingestion.rules.classification.document_starts import DocumentStart, find_document_starts
from ingestion.rules.document_types import TYPES, DocumentType
from ingestion.rules.findings import RuleFinding

MAX_DOCUMENTS_NAMED = 12  # documents that the sentence lists


def check_composition(reading: DocumentReading, kind: DocumentType | None) -> Iterator[RuleFinding]:
    """Yield MULTIPLE_DOCUMENTS if several documents begin, or there are too many pages for one.

    `kind` is the recognised type of the file, or None. The finding names the documents, as in
    "IRB approval on pages 1 to 2; CV on page 3".
    """
    page_count = len(reading.pages)
    starts = find_document_starts(reading)
    if len(starts) > 1:
        named = []
        for start, following in pairwise((*starts, DocumentStart(page_count + 1))):
            noun = TYPES[start.slug].noun if start.slug else "a document of another type"
            last = max(following.page - 1, start.page)
            pages = f"page {last}" if start.page == last else f"pages {start.page} to {last}"
            named.append(f"{noun} on {pages}")
        if len(named) > MAX_DOCUMENTS_NAMED:
            more = len(named) - MAX_DOCUMENTS_NAMED
            named[MAX_DOCUMENTS_NAMED:] = [f"and {more} more"]
        yield RuleFinding("MULTIPLE_DOCUMENTS", starts[1].page, {"documents": "; ".join(named)})
    elif kind and kind.max_pages and page_count > kind.max_pages:
        facts = {"pages": page_count, "limit_pages": kind.max_pages}
        yield RuleFinding("MULTIPLE_DOCUMENTS", facts=facts)
