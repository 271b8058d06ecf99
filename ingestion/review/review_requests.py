"""Records a site's request that QA reviews a document that the checks rejected."""

from datetime import UTC

from django.utils.translation import gettext as _

from audit.ledger.log import ledger
from ingestion.core.states import DocumentState
from ingestion.documents import transitions
from ingestion.models import Document, ReviewRequest
from sites.models import User

MAX_REQUEST_LENGTH = 2_000  # characters


class ReviewRequestRefused(Exception):
    """A review cannot be requested. The message is a sentence for the user."""


def explain_review_refusal(document: Document) -> str:
    """Return why no review of this document can be requested, or "" if it can.

    The text is a sentence for the user. `review_requests` may be prefetched.
    """
    if open_request := next(
        (each for each in document.review_requests.all() if each.is_open), None
    ):
        requested_at = open_request.asked_at.astimezone(UTC)
        date = f"{requested_at.day} {requested_at:%b %Y}"
        return _("A review was already requested on %(date)s.") % {"date": date}
    if document.state != DocumentState.REJECTED:
        status = _(DocumentState(document.state).word)
        return _(
            "You can request a review of a rejected document only. "
            "The status of this document is: %(status)s."
        ) % {"status": status}
    if document.code == "DOWNLOAD_FAILED":
        return _("QA cannot review this document because it has no file. Upload the file.")
    return ""


def request_review(document: Document, text: str, *, user: User) -> ReviewRequest:
    """Record the site's request and move the rejected document to review.

    `text` is the site's explanation, which QA reads. Raises ReviewRequestRefused if the document
    is not rejected, has no file, or has an open request.
    """
    with ledger():
        row = Document.lock(document.pk)
        if refusal := explain_review_refusal(row):
            raise ReviewRequestRefused(refusal)
        request: ReviewRequest = row.review_requests.create(asked_by=user, words=text.strip())
        transitions.move_document(
            row,
            DocumentState.IN_REVIEW,
            by=user.actor,
            event="document.review_asked",
            detail={"words": request.words},
            code=row.code,  # The findings of the rejection stay current.
        )
    return request
