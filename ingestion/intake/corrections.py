"""A file in the place of another: of one that was rejected or returned, or that is in review.

The new document names the old one, and the old one's timeline the new one. What was rejected or
returned stays as it was decided; what is in review leaves it, WITHDRAWN by its site.
"""

from django.utils import timezone
from django.utils.translation import gettext

from audit.ledger.actors import Actor
from ingestion.core.states import STATES_NEEDING_SITE, DocumentState
from ingestion.documents import transitions
from ingestion.models import Document, ReviewAssignment

CORRECTED = "document.corrected"
REPLACED = "document.replaced"
_REPLACEABLE = (*STATES_NEEDING_SITE, DocumentState.IN_REVIEW)


class CorrectionRefused(Exception):
    """There is nothing to correct; the message tells people why. Nothing was registered."""


def explain_refusal(document: Document) -> str:
    """Why no file is taken in its place, in a sentence; "" where one is."""
    if document.state == DocumentState.ARCHIVED:
        return gettext("You cannot replace this document because it is filed.")
    if find_correction(document):
        return gettext("A corrected file was already sent.")
    if document.state not in _REPLACEABLE:
        status = gettext(DocumentState(document.state).word).lower()
        sentence = gettext("You cannot replace this document because it is {status}.")
        return sentence.format(status=status)
    if document.state in STATES_NEEDING_SITE and find_newer_version(document):
        return gettext("A newer version was already sent.")
    return ""


def find_correction(document: Document) -> Document | None:
    """What was sent in its place. What was cancelled before it was checked does not count."""
    sent = document.corrections.exclude(state=DocumentState.CANCELLED)
    return sent.select_related("packet").order_by("pk").last()


def find_newer_version(document: Document) -> Document | None:
    """Return the last document that was sent under the same doc_id since; cancelled do not count.

    Like a correction, it takes the place of one that came back (`needing_site`).
    """
    same = Document.objects.filter(site=document.site_id, doc_id=document.doc_id)
    newer = same.filter(pk__gt=document.pk).exclude(state=DocumentState.CANCELLED)
    return newer.select_related("packet").order_by("pk").last()


def lock_for_correction(document: Document) -> Document:
    """Its row, to be corrected now. Inside ledger(). Raises NotToCorrect."""
    row = Document.lock(document.pk)
    if why := explain_refusal(row):
        raise CorrectionRefused(why)
    return row


def record_correction(old: Document, new: Document, *, by: Actor) -> None:
    """Enter it on the old one's record; out of the review it goes. Inside ledger().

    `old` is `locked`, and the rows of `new` are there.
    """
    detail = {"by": new.subject}
    if old.state != DocumentState.IN_REVIEW:
        old.record(CORRECTED, by=by, detail=detail)
        return
    transitions.move_document(old, DocumentState.WITHDRAWN, event=REPLACED, detail=detail, by=by)
    old.review_requests.open().update(answered_at=timezone.now())
    ReviewAssignment.objects.filter(document=old).delete()
