"""Replaces a document that was rejected or returned, is in review, or waits for its portal.

The new document refers to the old one, and the timeline of the old one names the new one. A
rejected or returned document keeps its state. A document in review moves to WITHDRAWN. One that
waits for its portal moves to CANCELLED, because the site uploads it instead.
"""

from django.utils import timezone
from django.utils.translation import gettext

from audit.ledger.actors import Actor
from ingestion.core.errors import AddressNotApproved, Misconfigured
from ingestion.core.states import STATES_NEEDING_SITE, DocumentState
from ingestion.documents import batches, transitions
from ingestion.models import Document, ReviewAssignment

CORRECTED = "document.corrected"
REPLACED = "document.replaced"
UPLOADED_INSTEAD = "document.uploaded_instead"
# Held documents with these codes were not received from their portal.
_NOT_RECEIVED_CODES = ("PORTAL_UNAVAILABLE", AddressNotApproved.code, Misconfigured.code)
_REPLACEABLE = (*STATES_NEEDING_SITE, DocumentState.IN_REVIEW)


class CorrectionRefused(Exception):
    """The document cannot be replaced, and nothing was registered. The message is for people."""


def explain_correction_refusal(document: Document) -> str:
    """Return why the document cannot be replaced, as a sentence for people, or "" if it can."""
    if document.state == DocumentState.ARCHIVED:
        return gettext("You cannot replace this document because it is filed.")
    if find_correction(document):
        return gettext("A corrected file was already sent.")
    if document.state not in _REPLACEABLE and not is_waiting_for_portal(document):
        status = gettext(DocumentState(document.state).word).lower()
        sentence = gettext("You cannot replace this document because it is {status}.")
        return sentence.format(status=status)
    if document.state in STATES_NEEDING_SITE and find_newer_version(document):
        return gettext("A newer version was already sent.")
    return ""


def is_waiting_for_portal(document: Document) -> bool:
    """Return whether a document is not here yet, because its portal does not deliver it."""
    if not document.url or document.spooled:
        return False
    if document.state == DocumentState.HELD:
        return document.code in _NOT_RECEIVED_CODES
    return document.state == DocumentState.RECEIVED and document.failing_since is not None


def find_correction(document: Document) -> Document | None:
    """Return the last document that replaces this one and was not cancelled before its checks."""
    sent = document.corrections.exclude(state=DocumentState.CANCELLED)
    return sent.select_related("packet").order_by("pk").last()


def find_newer_version(document: Document) -> Document | None:
    """Return the last document that was sent later under the same doc_id and was not cancelled.

    Like a correction, it replaces a document that the site has to correct (`needing_site`).
    """
    same = Document.objects.filter(site=document.site_id, doc_id=document.doc_id)
    newer = same.filter(pk__gt=document.pk).exclude(state=DocumentState.CANCELLED)
    return newer.select_related("packet").order_by("pk").last()


def lock_for_correction(document: Document) -> Document:
    """Return the locked row of a document that is about to be replaced.

    Call it inside `ledger()`. Raises CorrectionRefused if the document cannot be replaced.
    """
    row = Document.lock(document.pk)
    if refusal := explain_correction_refusal(row):
        raise CorrectionRefused(refusal)
    return row


def record_correction(old: Document, new: Document, *, by: Actor) -> None:
    """Record that `new` replaces `old`, and withdraw or cancel `old` unless it is decided.

    Call it inside `ledger()`, with `old` from `lock_for_correction` and `new` inserted.
    """
    detail = {"by": new.subject}
    if is_waiting_for_portal(old):
        transitions.move_document(
            old, DocumentState.CANCELLED, event=UPLOADED_INSTEAD, detail=detail, by=by
        )
        batches.end_if_settled(old.batch_id)
        return
    if old.state != DocumentState.IN_REVIEW:
        old.record(CORRECTED, by=by, detail=detail)
        return
    transitions.move_document(old, DocumentState.WITHDRAWN, event=REPLACED, detail=detail, by=by)
    old.review_requests.open().update(answered_at=timezone.now())
    ReviewAssignment.objects.filter(document=old).delete()
