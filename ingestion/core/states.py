"""The states of a document and of a batch, and every move that is allowed between them.

The one table of moves. Models repeat the states as database constraints, filing
refuses what is not here, and the pages show `word` beside an icon and a colour.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar


class IllegalMove(Exception):
    """A state was asked to become one that it cannot become: an error of ours."""


class DocumentState(StrEnum):
    RECEIVED = "RECEIVED"  #: registered; not fetched yet, or waiting for its next attempt
    VALIDATING = "VALIDATING"  #: its bytes are here and hashed; being read and checked
    IN_REVIEW = "IN_REVIEW"  #: the machine is in doubt; QA decides
    ARCHIVED = "ARCHIVED"  #: filed, once
    REJECTED = "REJECTED"  #: the site can mend it; a finding says how
    DEDUPED = "DEDUPED"  #: the same bytes are already on file
    HELD = "HELD"  #: our fault or the portal's, never the document's; ops owns it
    RETURNED = "RETURNED"  #: QA sent it back to the site
    WITHDRAWN = "WITHDRAWN"  #: filed in error, or replaced in review; bytes and history stay
    CANCELLED = "CANCELLED"  #: its batch was cancelled before it was settled

    @property
    def word(self) -> str:
        """What people read."""
        return WORDS[self]

    @property
    def is_settled(self) -> bool:
        """The machine is done with it. People may still move it on."""
        return self not in {DocumentState.RECEIVED, DocumentState.VALIDATING}

    def can_become(self, other: "DocumentState") -> bool:
        return other in DOCUMENT_MOVES[self]


_D = DocumentState


def gettext_noop(label: str) -> str:
    """Mark a label for makemessages. The pages translate it; the core imports no Django."""
    return label


WORDS: Mapping[DocumentState, str] = {
    _D.RECEIVED: gettext_noop("Received"),
    _D.VALIDATING: gettext_noop("Checking"),
    _D.IN_REVIEW: gettext_noop("In review"),
    _D.ARCHIVED: gettext_noop("Filed"),
    _D.REJECTED: gettext_noop("Rejected"),
    _D.DEDUPED: gettext_noop("Already on file"),
    _D.HELD: gettext_noop("Held by us"),
    _D.RETURNED: gettext_noop("Returned to site"),
    _D.WITHDRAWN: gettext_noop("Withdrawn"),
    _D.CANCELLED: gettext_noop("Cancelled"),
}

DOCUMENT_MOVES: Mapping[DocumentState, frozenset[DocumentState]] = {
    # DEDUPED straight from RECEIVED: the hash is known before checking starts.
    _D.RECEIVED: frozenset({_D.VALIDATING, _D.DEDUPED, _D.REJECTED, _D.HELD, _D.CANCELLED}),
    # Back to RECEIVED: its worker died or gave it up, and another one starts afresh.
    _D.VALIDATING: frozenset(
        {_D.RECEIVED, _D.ARCHIVED, _D.IN_REVIEW, _D.REJECTED, _D.DEDUPED, _D.HELD, _D.CANCELLED}
    ),
    # Back to RECEIVED: its type or person was corrected. WITHDRAWN: its site sent another file.
    _D.IN_REVIEW: frozenset({_D.ARCHIVED, _D.REJECTED, _D.RETURNED, _D.RECEIVED, _D.WITHDRAWN}),
    _D.REJECTED: frozenset({_D.IN_REVIEW, _D.RECEIVED, _D.ARCHIVED, _D.RETURNED}),
    _D.HELD: frozenset({_D.RECEIVED, _D.CANCELLED}),
    _D.ARCHIVED: frozenset({_D.WITHDRAWN}),
    _D.DEDUPED: frozenset(),
    _D.RETURNED: frozenset(),
    _D.WITHDRAWN: frozenset(),
    _D.CANCELLED: frozenset(),
}

SETTLED = frozenset(state for state in DocumentState if state.is_settled)
NEEDS_SITE = (_D.REJECTED, _D.RETURNED)  # the site has to send something in its place
UNSETTLED = (_D.RECEIVED, _D.VALIDATING)  # a tuple: it stands in an index's condition, in order


class BatchState(StrEnum):
    SUBMITTED = "SUBMITTED"  #: on record
    QUEUED = "QUEUED"  #: its chunks wait for a shift
    IN_PROGRESS = "IN_PROGRESS"  #: a shift has taken up its first chunk
    COMPLETED = "COMPLETED"  #: every document is settled
    FAILED = "FAILED"  #: could not be worked at all: no shift took anything of it up in time
    CANCELLED = "CANCELLED"  #: cancelled before its end; what was settled until then stays so

    @property
    def is_final(self) -> bool:
        return not BATCH_MOVES[self]

    def can_become(self, other: "BatchState") -> bool:
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

OPEN = tuple(state for state in BatchState if not state.is_final)


State = TypeVar("State", DocumentState, BatchState)


class ChunkState(StrEnum):
    WAITING = "WAITING"  #: due at its `next_dispatch_at`
    RUNNING = "RUNNING"  #: leased by a shift
    DONE = "DONE"  #: all its documents are settled


def check_move(old: State, new: State) -> None:
    """Raises IllegalMove unless the table allows it."""
    if type(old) is not type(new) or not old.can_become(new):
        raise IllegalMove(f"{type(old).__name__} {old} cannot become {new}")
