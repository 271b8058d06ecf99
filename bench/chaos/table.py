"""Formats the table at the end of a chaos run, as Markdown."""

from collections import Counter
from dataclasses import dataclass

from bench.chaos.tally import Tally, list_names
from bench.results.machine import machine


@dataclass(frozen=True, slots=True)
class FaultSummary:
    """The injected faults of a run."""

    database: str
    seed: int
    kills: Counter[str]
    killed: int
    other_faults: Counter[str]
    skipped: str  # why a kind of fault was not possible here
    seconds: float


def table(summary: FaultSummary, tally: Tally) -> str:
    """Return the table of a run as Markdown."""
    kills, others = summary.kills, summary.other_faults
    rows = {
        "documents": f"{tally.documents}, of which filed {tally.filed}",
        "kills": f"{kills.total()} ({_list_counts(kills)}), {summary.killed} processes",
        "other faults": f"{others.total()} ({_list_counts(others)})",
    }
    if summary.skipped:
        rows["skipped"] = summary.skipped
    rows["other outcomes than the generator's, explained"] = _list_counts(tally.explained) or "0"
    for name, names in tally.faults.items():
        rows[name] = f"**{len(names)}**: {list_names(names)}" if names else "0"
    rows |= {
        "orphans in the archive (they break nothing)": str(tally.orphans),
        "uploads kept for documents that are held": str(tally.kept),
        "uploads that a kill left, until they are pruned": str(tally.pruned),
        "wasted work": f"{tally.wasted:.1%} ({tally.repeated} readings were begun again)",
        "seconds": f"{summary.seconds:.0f}",
    }
    lines = "".join(f"| {name} | {value} |\n" for name, value in rows.items())
    return f"{machine()}\n\n| {summary.database}, seed {summary.seed} | |\n|---|---|\n{lines}"


def _list_counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(counter.items()))
