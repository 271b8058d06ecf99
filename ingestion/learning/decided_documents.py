"""Finds the documents whose type QA confirmed or corrected: the examples for training.

Nothing about them is stored for training. A document is an example as long as its last decision
stands, and the text is read again from the archive each time (`kept_readings`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from ingestion.models import Action, Decision, Document
from ingestion.review.decision_rules import FILING_ACTIONS
from ingestion.rules.document_types import TYPES

MAX_DOCUMENTS = 5_000  # the newest ones are used
_ROWS_PER_QUERY = 500

# Actions with which a person states the type of a document. A rejected or returned document may be
# rejected for any reason, so its type is not known, and neither is that of a withdrawn one.
STATING_ACTIONS = FILING_ACTIONS | {Action.REDECLARE}
_ACTIONS = STATING_ACTIONS | {Action.WITHDRAW}


@dataclass(frozen=True, slots=True)
class DecidedDocument:
    """A document with the type that a person stated. `decision` is the key of that decision."""

    decision: int
    document: Document  # with its site
    type: str

    @property
    def content(self) -> tuple[str, int, int, str]:
        """Return the file and the part of it, which documents with the same bytes share."""
        document = self.document
        return document.sha256, document.first_page, document.last_page, document.region

    @property
    def site(self) -> str:
        """Return the number of the site that sent the document."""
        return self.document.site.site_id


def find_decided_documents() -> list[DecidedDocument]:
    """Return the documents whose last decision states a type that exists, the newest first.

    Of documents with the same bytes only the last one is returned, so that none is on both sides of
    a comparison. If people stated different types for the same bytes, none of them is returned.
    """
    types: defaultdict[tuple[str, int, int, str], set[str]] = defaultdict(set)
    newest: dict[tuple[str, int, int, str], DecidedDocument] = {}
    for each in islice(_find_last_statements(), MAX_DOCUMENTS):
        types[each.content].add(each.type)
        newest.setdefault(each.content, each)
    return [each for content, each in newest.items() if len(types[content]) == 1]


def count_decisions_since(known: Iterable[int]) -> int:
    """Return how many decisions state a type and are newer than these decisions."""
    rows = Decision.objects.filter(action__in=STATING_ACTIONS, pk__gt=max(known, default=0))
    return rows.values("document").distinct().count()


def _find_last_statements() -> Iterator[DecidedDocument]:
    """Yield the documents whose last decision of these actions states a type, the newest first."""
    # A model keeps words of its examples, so no redacted document is one.
    redacted = Decision.objects.filter(action=Action.REDACT).values("sha256")
    rows = Decision.objects.filter(action__in=_ACTIONS).exclude(sha256__in=redacted)
    rows = rows.order_by("-pk")
    seen: set[int] = set()
    for decision in rows.select_related("document__site").iterator(_ROWS_PER_QUERY):
        document = decision.document
        if document.pk in seen:
            continue
        seen.add(document.pk)
        kind = decision.new_document_type or decision.document_type or document.document_type
        is_same_file = bool(document.sha256) and decision.sha256 == document.sha256
        if decision.action in STATING_ACTIONS and kind in TYPES and is_same_file:
            yield DecidedDocument(decision.pk, document, kind)
