"""What sites ask of QA, and what QA decides about a document."""

from audit.log import ledger
from ingestion import filing
from ingestion.core.states import DocumentState
from ingestion.filing import By
from ingestion.models import Document, ReviewRequest
from sites.models import User

MOST_WORDS = 2_000  # characters of a request, or of a note to the site


class NotAsked(Exception):
    """A review cannot be asked for; the message tells people why."""


def ask(document: Document, words: str, *, person: User) -> ReviewRequest:
    """A site asks QA to look again at what was rejected: it goes to review. Raises NotAsked."""
    with ledger():
        row = filing.locked(document)
        if row.review_requests.open().exists():
            raise NotAsked("A review has been asked for already.")
        if row.state != DocumentState.REJECTED:
            word = DocumentState(row.state).word.lower()
            raise NotAsked(f"Only a rejected document is looked at again, and this one is {word}.")
        request: ReviewRequest = row.review_requests.create(asked_by=person, words=words.strip())
        filing.move(
            row,
            DocumentState.IN_REVIEW,
            by=By(person.actor, person.role),
            event="document.review_asked",
            detail={"words": request.words},
            code=row.code,  # the findings stay those of the rejection
        )
    return request
