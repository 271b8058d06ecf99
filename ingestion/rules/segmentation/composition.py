"""The check that a file contains one document of its type, and nothing else."""

from collections.abc import Iterator

from ingestion.rules.document_types import TYPES, DocumentType
from ingestion.rules.findings import Facts, RuleFinding
from ingestion.rules.segmentation.parts import PagePart, ProposedCut

MAX_DOCUMENTS_NAMED = 12  # documents that the sentence lists


def check_composition(
    cut: ProposedCut, kind: DocumentType | None, *, page_count: int
) -> Iterator[RuleFinding]:
    """Yield MULTIPLE_DOCUMENTS if a file is or may be several documents, or is too long for one.

    `kind` is the recognised type of the file, or None. The finding names the documents, as in
    "IRB approval on pages 1 to 2; CV on page 3". It has their number if the division is certain.
    """
    if cut.parts and not cut.is_one_document:
        named = [_describe(part) for part in cut.parts[:MAX_DOCUMENTS_NAMED]]
        if more := len(cut.parts) - len(named):
            named.append(f"and {more} more")
        facts: Facts = {"documents": "; ".join(named)}
        if cut.is_certain and len(cut.parts) > 1:
            facts = {**facts, "document_count": len(cut.parts)}
        second = cut.parts[min(1, len(cut.parts) - 1)].first
        yield RuleFinding("MULTIPLE_DOCUMENTS", second, facts)
    elif not cut.is_certain:
        yield RuleFinding("MULTIPLE_DOCUMENTS")
    else:
        yield from check_length(kind, page_count)


def check_length(kind: DocumentType | None, page_count: int) -> Iterator[RuleFinding]:
    """Yield MULTIPLE_DOCUMENTS if a document has more pages than one document of its type."""
    if kind and kind.max_pages and page_count > kind.max_pages:
        facts = {"pages": page_count, "limit_pages": kind.max_pages}
        yield RuleFinding("MULTIPLE_DOCUMENTS", facts=facts)


def _describe(part: PagePart) -> str:
    noun = TYPES[part.type].noun if part.type in TYPES else "a document of another type"
    if part.first == part.last:
        return f"{noun} on page {part.first}"
    return f"{noun} on pages {part.first} to {part.last}"
