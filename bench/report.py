"""What was measured, as Markdown: a row for each scene and side, then what was expected."""

import os
import platform
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median

from bench.outcome import Outcome
from bench.process import Answers

PACKAGES = ("Django", "httpx2", "pypdf", "pypdfium2", "opencv-python-headless", "Pebble")
HEAD = """| scene | side | documents/s | of plain | 429s | lost | peak memory |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of one side."""

    scene: str
    side: str
    documents: int
    outcome: Outcome
    seconds: float  # its work, and with ours what registering the documents took before
    answers: Answers
    peak: int  # bytes, of the side's whole tree of processes

    @property
    def rate(self) -> float:
        """Documents with a final record per second: a lost one is not worked."""
        return (self.documents - self.outcome.lost) / self.seconds


@dataclass(frozen=True, slots=True)
class Report:
    runs: Sequence[Measured]
    memory: tuple[Measured, Measured]
    fairness: Mapping[str, float]  # by side
    slow: Mapping[str, float]  # what held the loop, in seconds


def write_report(report: Report) -> str:
    slow = "; ".join(f"`{name}` {1000 * seconds:.0f} ms" for name, seconds in report.slow.items())
    parts = [
        f"Measured {datetime.now(UTC):%Y-%m-%d} on {machine()}.\n\n",
        HEAD,
        *_rows(report.runs),
        _memory(*report.memory),
        "\nTime of the fast sites beside one site at 1 request/s, of their time alone: ",
        ", ".join(f"{side} {ratio:.2f}" for side, ratio in report.fairness.items()),
        " (expected of ours: below 1.15).\n",
        f"\nCallbacks that held ours' event loop for 50 ms or more: {slow or 'none'}.\n",
    ]
    return "".join(parts)


def _memory(few: Measured, many: Measured) -> str:
    return (
        f"\nPeak memory of ours: {_mb(few.peak)} with {few.documents} documents, {_mb(many.peak)} "
        f"with {many.documents}: ratio {many.peak / few.peak:.2f} (expected: below 1.1).\n"
    )


def _rows(runs: Sequence[Measured]) -> Iterator[str]:
    by_row: dict[tuple[str, str], list[Measured]] = {}
    for run in runs:
        by_row.setdefault((run.scene, run.side), []).append(run)
    rates = {row: median(run.rate for run in found) for row, found in by_row.items()}
    for (scene, side), found in by_row.items():
        cells = (
            scene,
            side,
            f"{rates[scene, side]:.1f}",
            f"{rates[scene, side] / rates[scene, 'plain']:.2f}",
            f"{sum(run.answers.get(429, 0) for run in found)}",
            f"{sum(run.outcome.lost for run in found)} of {sum(run.documents for run in found)}",
            _mb(max(run.peak for run in found)),
        )
        yield f"| {' | '.join(cells)} |\n"


def _mb(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


def machine() -> str:
    cpu = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{os.cpu_count()} cores ({cpu}), Linux {platform.release().partition('-')[0]}, Python "
        f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}, {packages}"
    )
