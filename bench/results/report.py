"""Defines the results of benchmarks as rows, and writes the page that displays them.

Each benchmark is a program that yields rows (`run_benchmark`). `python -m bench` runs them and
writes the page.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from bench.results.machine import load, machine

HEAD = """| what | SiteLedger | baseline | ratio | rounds | expected | note |
|---|---|---|---|---|---|---|
"""
# Fields of `Row` that have another name in stored results.
JSON_MEMBERS = {"minimum": "least", "maximum": "most"}
BUSY = "\n\n**Other work was running on this machine: do not rely on these figures.**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure with its baseline. `ours` is None if it could not be measured.

    The target applies to `ratios` if there are any, and otherwise, or with `of_ours`, to `ours`.
    """

    what: str
    unit: str = ""  # of ours and of the baseline
    ours: float | None = None
    against: str = ""  # what the baseline is
    baseline: float | None = None
    ratios: Sequence[float] = ()  # ours divided by the baseline, in each round with both
    rounds: int = 1  # rounds in which ours was measured
    of_ours: bool = False
    minimum: float | None = None
    maximum: float | None = None
    note: str = ""
    at: float | None = None  # size of the case, for a point of a curve

    def __post_init__(self) -> None:
        if self.ours is not None and self.baseline is None:
            raise ValueError(f"{self.what}: a figure without a baseline says nothing")

    @property
    def ratio(self) -> float | None:
        """Return the median of the ratios, or the ratio of one pair, or None without a baseline."""
        if self.ratios:
            return median(self.ratios)
        return self.ours / self.baseline if self.ours is not None and self.baseline else None

    @property
    def met(self) -> bool | None:
        """Return whether the target was met, or None without a target or a measurement."""
        figure = self.ratio if self.expects_ratio else self.ours
        if figure is None or (self.minimum is None and self.maximum is None):
            return None
        return (self.minimum is None or figure >= self.minimum) and (
            self.maximum is None or figure <= self.maximum
        )

    @property
    def expects_ratio(self) -> bool:
        """Return whether the target is about the ratio, and not about our figure."""
        return bool(self.ratios) and not self.of_ours

    def __str__(self) -> str:
        what = self.what if self.at is None else f"{self.what}, {self.at:,.0f}"
        ours, rounds, baseline = "not measured", "", ""
        if self.ours is not None:
            ours, rounds = _format_number(self.ours, self.unit), str(self.rounds)
            if self.met is False and not self.expects_ratio:
                ours = f"**{ours}**"
        if self.baseline is not None:
            baseline = f"{_format_number(self.baseline, self.unit)} ({self.against})"
        cells = (what, ours, baseline, self._format_ratio(), rounds, self.expected, self.note)
        return f"| {' | '.join(cells)} |\n"

    @property
    def expected(self) -> str:
        """Return the target in words, and whether it was missed."""
        minimum = "" if self.minimum is None else f"at least {self.minimum:g}"
        maximum = "" if self.maximum is None else f"at most {self.maximum:g}"
        bounds = " and ".join(filter(None, (minimum, maximum)))
        target = f"ratio {bounds}" if bounds and self.expects_ratio else bounds
        return f"{target}: **missed**" if self.met is False else target

    def _format_ratio(self) -> str:
        if self.ratio is None:
            return ""
        ratio = f"{self.ratio:.2f}"
        if self.met is False and self.expects_ratio:
            ratio = f"**{ratio}**"
        if len(self.ratios) <= 1:
            return ratio
        return f"{ratio} ({min(self.ratios):.2f} to {max(self.ratios):.2f})"


def compare(
    what: str,
    unit: str,
    ours: Sequence[float],
    against: str,
    baseline: Sequence[float],
    **more: Any,
) -> Row:
    """Return a row of two sides that ran in turn. A baseline of 0 has no ratio."""
    ratios = [one / other for one, other in zip(ours, baseline, strict=True) if other]
    own: dict[str, Any] = {"ours": median(ours), "baseline": median(baseline), "ratios": ratios}
    own["rounds"] = len(ours)
    return Row(what=what, unit=unit, against=against, **own, **more)


def not_measured(what: str, reason: str) -> Row:
    """Return the row of a figure that could not be measured, with the reason as its note."""
    return Row(what=what, note=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """The result of one benchmark, and its circumstances."""

    bench: str
    is_quick: bool
    begun: str  # ISO 8601, UTC
    seconds: float
    machine: str
    load: Sequence[float]  # load averages of the last minute, before and after
    rows: Sequence[Row]
    failed: str = ""  # the error that ended it early

    def write(self, path: Path) -> None:
        """Write the result as JSON."""
        rows = [
            {JSON_MEMBERS.get(name, name): value for name, value in asdict(row).items()}
            for row in self.rows
        ]
        path.write_text(json.dumps({**asdict(self), "rows": rows}, indent=1))

    @classmethod
    def read(cls, path: Path) -> "BenchResult":
        """Return the result that `write` wrote."""
        stored = json.loads(path.read_text())
        fields = {member: field for field, member in JSON_MEMBERS.items()}
        rows = [
            Row(**{fields.get(name, name): value for name, value in row.items()})
            for row in stored["rows"]
        ]
        return cls(**{**stored, "rows": rows})

    def __str__(self) -> str:
        size = "quick" if self.is_quick else "full"
        minutes = f"{self.seconds / 60:.0f} min"
        duration = f"{self.seconds:.0f} s" if self.seconds < 120 else minutes
        before, after = self.load
        busy = BUSY if before > (os.cpu_count() or 1) else ""
        failed = f" **It failed after these rows: {self.failed}**" if self.failed else ""
        return (
            f"{self.begun[:16].replace('T', ' ')} UTC, {size}, {duration}; load "
            f"{before:.1f} before, {after:.1f} after.{busy}{failed}\n\n{HEAD}"
            f"{''.join(map(str, self.rows))}"
        )


def program(description: str | None) -> argparse.ArgumentParser:
    """Return the parser of the options that all benchmarks have in common."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small, one round")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    return parser


def run_benchmark(
    measure: Callable[[argparse.Namespace], Iterable[Row]], parser: argparse.ArgumentParser
) -> None:
    """Run a benchmark. Print each row when it is measured, and keep it if a later one fails."""
    arguments = parser.parse_args()
    begun, before, rows, failed = datetime.now(UTC), load(), list[Row](), ""
    sys.stdout.write(HEAD)
    try:
        for row in measure(arguments):
            sys.stdout.write(str(row))
            sys.stdout.flush()
            rows.append(row)
    except BaseException as error:
        failed = type(error).__name__
        raise
    finally:
        if arguments.json:
            result = BenchResult(
                bench=arguments.json.stem,
                is_quick=arguments.quick,
                begun=begun.isoformat(),
                seconds=(datetime.now(UTC) - begun).total_seconds(),
                machine=machine(),
                load=(before, load()),
                rows=rows,
                failed=failed,
            )
            result.write(arguments.json)


def _format_number(value: float, unit: str) -> str:
    digits = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()
