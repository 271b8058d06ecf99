"""A file in the place of one that was rejected or returned: which may be corrected, and its record.

The new document names the old one, and the old one's timeline the new one. What becomes of the new
one is its own affair: the old one stays as it was decided.
"""

from ingestion import filing
from ingestion.core.states import NEEDS_SITE, DocumentState
from ingestion.filing import By
from ingestion.models import Document

CORRECTED = "document.corrected"


class NotToCorrect(Exception):
    """There is nothing to correct; the message tells people why. Nothing was registered."""


def refusal(document: Document) -> str:
    """Why no file is taken in its place, in a sentence; "" where one is."""
    if document.state == DocumentState.ARCHIVED:
        return "This document is on file. There is nothing to correct."
    if document.state not in NEEDS_SITE:
        word = DocumentState(document.state).word.lower()
        return f"Only what was rejected or returned is corrected, and this document is not: {word}."
    if correction(document):
        return "A corrected file was sent already."
    if newer_version(document):
        return "A newer version was sent already."
    return ""


def correction(document: Document) -> Document | None:
    """What was sent in its place. What was cancelled before it was checked does not count."""
    sent = document.corrections.exclude(state=DocumentState.CANCELLED)
    return sent.select_related("packet").order_by("pk").last()


def newer_version(document: Document) -> Document | None:
    """Return the last document that was sent under the same doc_id since; cancelled do not count.

    Like a correction, it takes the place of one that came back (`needing_site`).
    """
    same = Document.objects.filter(site=document.site_id, doc_id=document.doc_id)
    newer = same.filter(pk__gt=document.pk).exclude(state=DocumentState.CANCELLED)
    return newer.select_related("packet").order_by("pk").last()


def locked(document: Document) -> Document:
    """Its row, to be corrected now. Inside ledger(). Raises NotToCorrect."""
    row = filing.locked(document)
    if why := refusal(row):
        raise NotToCorrect(why)
    return row


def record(old: Document, new: Document, *, by: By) -> None:
    """On the old one's record. `old` is `locked`; inside ledger(), with the new one's rows."""
    filing.enter_next(old, CORRECTED, detail={"by": new.subject}, by=by)
