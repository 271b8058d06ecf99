"""Explains to people that they see a redacted rendition, and to QA what others see."""

from dataclasses import dataclass

from ingestion.documents import downloads, redactions
from ingestion.documents.downloads import FileAccess
from ingestion.models import Document, DocumentRendition
from ingestion.rules.finding_texts import list_pages
from sites.models import User


@dataclass(frozen=True, slots=True)
class RedactionNotice:
    """Describes the redaction that is in force, for the person who looks at its document."""

    has_original: bool  # whether the person may see the original
    rendition: DocumentRendition | None  # None: others see nothing of this file
    pages: str  # numbers of the pages with redacted places, such as "1, 3-5"
    area_count: int


def describe_redaction(person: User, document: Document) -> RedactionNotice | None:
    """Return what is redacted in a document, or None if nothing is."""
    decisions = redactions.list_decisions(document)
    if not decisions:
        return None
    redaction = redactions.read_redaction(decisions[-1])
    return RedactionNotice(
        downloads.find_access(document, person) is FileAccess.ORIGINAL,
        redactions.find_rendition(document),
        list_pages(redaction.pages),
        redaction.area_count,
    )
