"""What these pages ask of the work that is done on the ledger in the background.

The one place where the pages meet checks, exports and anchors. None of it is theirs: `connect()`
is called once at start with whoever does it. Rows go through as they are; the protocols name what
the pages read of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from audit.anchors import Unanchored

WAITING, RUNNING, DONE, FAILED = "waiting", "running", "done", "failed"  # a job's states
INTACT, UNANCHORED, BROKEN = "intact", "unanchored", "broken"  # what came of a check


class Job(Protocol):
    """A check or an export that somebody asked for."""

    pk: int
    state: str
    done: int  # of `total`
    total: int  # 0: not known yet
    error: str  # why it failed, for people
    asked_by: str  # an actor
    created_at: datetime
    finished_at: datetime | None
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]  # of a check: its `run`; of an export: the `path` of its zip file


class Check(Protocol):
    """A check that is over."""

    pk: int
    began_at: datetime
    seconds: float
    mode: str
    to_seq: int  # up to this entry the chain holds
    result: str
    findings: Sequence[str]  # sentences, the worst first
    asked_by: str


@dataclass(frozen=True, slots=True)
class Office:
    check_now: Callable[[str], Job]  # by this actor
    checking: Callable[[int], Job | None]  # a job by its number
    check: Callable[[int], Check | None]  # what came of it, by the `run` of the job's result
    checks: Callable[[int], Sequence[Check]]  # the newest so many
    export: Callable[[Mapping[str, Any], str], Job]  # of this choice, by this actor
    exporting: Callable[[int], Job | None]
    exports: Callable[[int], Sequence[Job]]  # the newest so many
    unanchored: Callable[[], Sequence[Unanchored]]


_connected: list[Office] = []


def connect(office: Office) -> None:
    """From now on it is asked."""
    _connected[:] = [office]


def office() -> Office | None:
    """None: nobody was connected at start, and the pages name the commands instead."""
    return _connected[0] if _connected else None
