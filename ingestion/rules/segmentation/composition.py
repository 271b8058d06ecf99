"""Checks that a file contains one document of its type, and nothing else."""

from collections.abc import Iterator

from ingestion.rules.document_types import DocumentType
from ingestion.rules.findings import Facts, RuleFinding
from ingestion.rules.segmentation.parts import ProposedCut


def check_composition(
    cut: ProposedCut, kind: DocumentType | None, *, page_count: int
) -> Iterator[RuleFinding]:
    """Yield MULTIPLE_DOCUMENTS if a file is or may be several documents, or is too long for one.

    `kind` is the recognised type of the file, or None. The finding has the types and pages of the
    documents, as in "irb-approval:1-2 cv:3-3", and their number if the division is certain.
    """
    if cut.parts and not cut.is_one_document:
        documents = " ".join(f"{part.type}:{part.first}-{part.last}" for part in cut.parts)
        if len(cut.parts) == 1:  # behind a separator sheet
            yield RuleFinding("MULTIPLE_DOCUMENTS", cut.parts[0].first, {"document": documents})
            return
        facts: Facts = {"documents": documents}
        if cut.is_certain:
            facts = {**facts, "document_count": len(cut.parts)}
        yield RuleFinding("MULTIPLE_DOCUMENTS", cut.parts[1].first, facts)
    elif not cut.is_certain:
        yield RuleFinding("MULTIPLE_DOCUMENTS")
    else:
        yield from check_page_count(kind, page_count)


def check_page_count(kind: DocumentType | None, page_count: int) -> Iterator[RuleFinding]:
    """Yield MULTIPLE_DOCUMENTS if a document has more pages than one document of its type."""
    if kind and kind.max_pages and page_count > kind.max_pages:
        facts = {"pages": page_count, "limit_pages": kind.max_pages}
        yield RuleFinding("MULTIPLE_DOCUMENTS", facts=facts)
