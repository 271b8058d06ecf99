"""Defines the states of documents, batches and chunks, and the moves that are allowed between them.

It is the only table of moves. The models repeat the states as database constraints,
`ingestion.documents.transitions` refuses every other move, and the pages show `word` beside an icon
and a colour.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from audit.translation import gettext_noop


class IllegalMove(Exception):
    """The table does not allow the move: the caller has an error."""


class DocumentState(StrEnum):
    """Lists the states of a document."""

    RECEIVED = "RECEIVED"  #: Registered; not fetched yet, or waiting for the next attempt.
    VALIDATING = "VALIDATING"  #: The bytes are here; being read and checked.
    IN_REVIEW = "IN_REVIEW"  #: The checks are in doubt; QA decides.
    ARCHIVED = "ARCHIVED"  #: Filed, once.
    REJECTED = "REJECTED"  #: The site can correct it; a finding says how.
    DEDUPED = "DEDUPED"  #: The same bytes are on file already.
    DIVIDED = "DIVIDED"  #: The file holds several documents, and each has become a row of its own.
    HELD = "HELD"  #: SiteLedger or the portal is to blame; operations decides.
    RETURNED = "RETURNED"  #: QA returned it to the site.
    WITHDRAWN = "WITHDRAWN"  #: Filed in error, or replaced in review; bytes and history stay.
    CANCELLED = "CANCELLED"  #: The batch was cancelled before it was settled.

    @property
    def word(self) -> str:
        """Return the label that pages show, before translation."""
        return STATE_LABELS[self]

    @property
    def is_settled(self) -> bool:
        """Return whether the workers are finished with it. People may still move it."""
        return self not in {DocumentState.RECEIVED, DocumentState.VALIDATING}

    def can_become(self, other: "DocumentState") -> bool:
        """Return whether a document may move from this state to the other."""
        return other in DOCUMENT_MOVES[self]


_D = DocumentState


STATE_LABELS: Mapping[DocumentState, str] = {
    _D.RECEIVED: gettext_noop("Received"),
    _D.VALIDATING: gettext_noop("Checking"),
    _D.IN_REVIEW: gettext_noop("In review"),
    _D.ARCHIVED: gettext_noop("Filed"),
    _D.REJECTED: gettext_noop("Rejected"),
    _D.DEDUPED: gettext_noop("Already on file"),
    _D.DIVIDED: gettext_noop("Divided"),
    _D.HELD: gettext_noop("Held by us"),
    _D.RETURNED: gettext_noop("Returned to site"),
    _D.WITHDRAWN: gettext_noop("Withdrawn"),
    _D.CANCELLED: gettext_noop("Cancelled"),
}

DOCUMENT_MOVES: Mapping[DocumentState, frozenset[DocumentState]] = {
    # DEDUPED directly from RECEIVED: the hash is known before checking starts.
    _D.RECEIVED: frozenset({_D.VALIDATING, _D.DEDUPED, _D.REJECTED, _D.HELD, _D.CANCELLED}),
    # Back to RECEIVED: the worker died or lost its lease, and another one starts again.
    _D.VALIDATING: frozenset(
        {
            _D.RECEIVED,
            _D.ARCHIVED,
            _D.IN_REVIEW,
            _D.REJECTED,
            _D.DEDUPED,
            _D.DIVIDED,
            _D.HELD,
            _D.CANCELLED,
        }
    ),
    # Back to RECEIVED: type or person was corrected. WITHDRAWN: the site sent another file.
    _D.IN_REVIEW: frozenset(
        {_D.ARCHIVED, _D.REJECTED, _D.RETURNED, _D.RECEIVED, _D.WITHDRAWN, _D.DIVIDED}
    ),
    # WITHDRAWN: it came in a message or an archive, and is no document of the site.
    _D.REJECTED: frozenset({_D.IN_REVIEW, _D.RECEIVED, _D.ARCHIVED, _D.RETURNED, _D.WITHDRAWN}),
    _D.HELD: frozenset({_D.RECEIVED, _D.CANCELLED}),
    _D.ARCHIVED: frozenset({_D.WITHDRAWN}),
    _D.DEDUPED: frozenset(),
    _D.DIVIDED: frozenset(),  # its parts are documents, and have states of their own
    _D.RETURNED: frozenset(),
    _D.WITHDRAWN: frozenset(),
    _D.CANCELLED: frozenset(),
}

SETTLED_STATES = frozenset(state for state in DocumentState if state.is_settled)
STATES_NEEDING_SITE = (_D.REJECTED, _D.RETURNED)  # the site has to send another file
UNSETTLED_STATES = (_D.RECEIVED, _D.VALIDATING)  # a tuple, because an index condition has an order


class BatchState(StrEnum):
    """Lists the states of a batch."""

    SUBMITTED = "SUBMITTED"  #: Registered.
    QUEUED = "QUEUED"  #: The chunks wait for a shift.
    IN_PROGRESS = "IN_PROGRESS"  #: A shift has leased the first chunk.
    COMPLETED = "COMPLETED"  #: Every document is settled.
    FAILED = "FAILED"  #: No shift leased any chunk in time.
    CANCELLED = "CANCELLED"  #: Cancelled before its end; documents settled until then stay settled.

    @property
    def is_final(self) -> bool:
        """Return whether a batch stays in this state for ever."""
        return not BATCH_MOVES[self]

    def can_become(self, other: "BatchState") -> bool:
        """Return whether a batch may move from this state to the other."""
        return other in BATCH_MOVES[self]


_B = BatchState

BATCH_MOVES: Mapping[BatchState, frozenset[BatchState]] = {
    _B.SUBMITTED: frozenset({_B.QUEUED, _B.CANCELLED, _B.FAILED}),
    _B.QUEUED: frozenset({_B.IN_PROGRESS, _B.CANCELLED, _B.FAILED}),
    _B.IN_PROGRESS: frozenset({_B.COMPLETED, _B.CANCELLED, _B.FAILED}),
    _B.COMPLETED: frozenset(),
    _B.FAILED: frozenset(),
    _B.CANCELLED: frozenset(),
}

OPEN_BATCH_STATES = tuple(state for state in BatchState if not state.is_final)


State = TypeVar("State", DocumentState, BatchState)


class ChunkState(StrEnum):
    """Lists the states of a chunk."""

    WAITING = "WAITING"  #: Due at `next_dispatch_at`.
    RUNNING = "RUNNING"  #: Leased by a shift.
    DONE = "DONE"  #: All documents are settled.


def check_move(old: State, new: State) -> None:
    """Raise IllegalMove unless the table allows the move."""
    if type(old) is not type(new) or not old.can_become(new):
        raise IllegalMove(f"{type(old).__name__} {old} cannot become {new}")
