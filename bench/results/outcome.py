"""Stores the result of one side of a measurement as JSON, which its own process writes."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """Describes the outcome of a run: its duration in seconds, and what became of the documents."""

    seconds: float  # from the start of the work to its end
    states: Mapping[str, int]  # final states, and how many documents ended in each
    finished: Mapping[str, float]  # by site: seconds until its last document ended
    lost: int  # documents without a final record
    slow: Mapping[str, float] = field(default_factory=dict)  # seconds, by blocking place


def outcome(
    seconds: float,
    documents: int,
    records: Iterable[tuple[str, str, float]],
    slow: Mapping[str, float] | None = None,
) -> RunOutcome:
    """Return the outcome from (site, final state, seconds since the start) of each document."""
    states: Counter[str] = Counter()
    finished: dict[str, float] = {}
    for site, state, at in records:
        states[state] += 1
        finished[site] = max(at, finished.get(site, 0.0))
    return RunOutcome(
        seconds=seconds,
        states=dict(states),
        finished=finished,
        lost=documents - states.total(),
        slow=slow or {},
    )


def write(path: Path, outcome: RunOutcome) -> None:
    """Write the outcome as JSON."""
    path.write_text(json.dumps(asdict(outcome)))


def read(path: Path) -> RunOutcome:
    """Return the outcome that `write` wrote."""
    return RunOutcome(**json.loads(path.read_text()))
