"""The table at the end of a chaos run, as Markdown."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from bench.chaos.tally import Tally, named
from bench.machine import machine


@dataclass(frozen=True, slots=True)
class FaultSummary:
    """The injected faults of a run."""

    database: str
    seed: int
    kills: Counter[str]
    killed: int
    harms: Counter[str]
    skipped: str  # why a kind of fault was not possible here
    seconds: float


def table(summary: FaultSummary, tally: Tally) -> str:
    rows = "".join(f"| {name} | {value} |\n" for name, value in _rows(summary, tally))
    return f"{machine()}\n\n| {summary.database}, seed {summary.seed} | |\n|---|---|\n{rows}"


def _rows(summary: FaultSummary, tally: Tally) -> Iterator[tuple[str, str]]:
    yield "documents", f"{tally.documents}, of which filed {tally.filed}"
    yield (
        "kills",
        f"{summary.kills.total()} ({_counted(summary.kills)}), {summary.killed} processes",
    )
    yield "other harms", f"{summary.harms.total()} ({_counted(summary.harms)})"
    if summary.skipped:
        yield "skipped", summary.skipped
    yield "other outcomes than the generator's, explained", _counted(tally.explained) or "0"
    for name, names in tally.faults.items():
        yield name, f"**{len(names)}**: {named(names)}" if names else "0"
    yield "orphans in the archive (they break nothing)", str(tally.orphans)
    yield "uploads kept for documents that are held", str(tally.kept)
    yield "uploads that a kill left, until they are pruned", str(tally.swept)
    yield "wasted work", f"{tally.wasted:.1%} ({tally.again} readings were begun again)"
    yield "seconds", f"{summary.seconds:.0f}"


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(counter.items()))
