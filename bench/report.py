"""What benches found: rows of one shape, and the page that shows them.

Every bench is a program that yields rows (`tell`); `python -m bench` runs them and writes the page.
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

from bench.machine import load, machine

HEAD = """| what | SiteLedger | baseline | ratio | rounds | expected | note |
|---|---|---|---|---|---|---|
"""
BUSY = "\n\n**Other work was running on this machine: do not rely on these figures.**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure beside its baseline. `ours` is None where there was nothing to measure with.

    What is expected is expected of `ratios` where there are any, else, or `of_ours`, of `ours`.
    """

    what: str
    unit: str = ""  # of ours and of the baseline
    ours: float | None = None
    against: str = ""  # what the baseline is
    baseline: float | None = None
    ratios: Sequence[float] = ()  # ours of the baseline, in each round that had both
    rounds: int = 1  # in which ours was measured
    of_ours: bool = False
    least: float | None = None
    most: float | None = None
    note: str = ""
    at: float | None = None  # how large the case was: a point of a curve

    def __post_init__(self) -> None:
        if self.ours is not None and self.baseline is None:
            raise ValueError(f"{self.what}: a figure without a baseline says nothing")

    @property
    def ratio(self) -> float | None:
        if self.ratios:
            return median(self.ratios)
        return self.ours / self.baseline if self.ours is not None and self.baseline else None

    @property
    def met(self) -> bool | None:
        """Is it as the design expects? None where nothing is expected, or measured."""
        found = self.ratio if self.expects_ratio else self.ours
        if found is None or (self.least is None and self.most is None):
            return None
        return (self.least is None or found >= self.least) and (
            self.most is None or found <= self.most
        )

    @property
    def expects_ratio(self) -> bool:
        return bool(self.ratios) and not self.of_ours

    def __str__(self) -> str:
        what = self.what if self.at is None else f"{self.what}, {self.at:,.0f}"
        rounds = "" if self.ours is None else str(self.rounds)
        figures = (self._ours(), self._baseline(), self._ratio(), rounds)
        return f"| {' | '.join((what, *figures, self.expected, self.note))} |\n"

    @property
    def expected(self) -> str:
        least = "" if self.least is None else f"at least {self.least:g}"
        most = "" if self.most is None else f"at most {self.most:g}"
        bounds = " and ".join(filter(None, (least, most)))
        said = f"ratio {bounds}" if bounds and self.expects_ratio else bounds
        return f"{said}: **missed**" if self.met is False else said

    def _ours(self) -> str:
        if self.ours is None:
            return "not measured"
        said = _number(self.ours, self.unit)
        return f"**{said}**" if self.met is False and not self.expects_ratio else said

    def _baseline(self) -> str:
        if self.baseline is None:
            return ""
        return f"{_number(self.baseline, self.unit)} ({self.against})"

    def _ratio(self) -> str:
        if self.ratio is None:
            return ""
        said = f"{self.ratio:.2f}"
        if not self.ratios:
            return said
        said = f"**{said}**" if self.met is False and self.expects_ratio else said
        if len(self.ratios) == 1:
            return said
        return f"{said} ({min(self.ratios):.2f} to {max(self.ratios):.2f})"


def beside(
    what: str,
    unit: str,
    ours: Sequence[float],
    against: str,
    baseline: Sequence[float],
    **more: Any,
) -> Row:
    """A row of two sides that ran in turn, round after round; a baseline of 0 has no ratio."""
    ratios = [one / other for one, other in zip(ours, baseline, strict=True) if other]
    own: dict[str, Any] = {"ours": median(ours), "baseline": median(baseline), "ratios": ratios}
    own["rounds"] = len(ours)
    return Row(what=what, unit=unit, against=against, **own, **more)


def not_measured(what: str, why: str) -> Row:
    return Row(what=what, note=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one bench found, and in what circumstances."""

    bench: str
    is_quick: bool
    begun: str  # ISO 8601, UTC
    seconds: float
    machine: str
    load: Sequence[float]  # of the last minute, before and after
    rows: Sequence[Row]
    failed: str = ""  # what ended it before all was measured

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1))

    @classmethod
    def read(cls, path: Path) -> "Found":
        kept = json.loads(path.read_text())
        return cls(**{**kept, "rows": [Row(**row) for row in kept["rows"]]})

    def __str__(self) -> str:
        how = "quick" if self.is_quick else "full"
        before, after = self.load
        busy = BUSY if before > (os.cpu_count() or 1) else ""
        failed = f" **It failed after these rows: {self.failed}**" if self.failed else ""
        return (
            f"{self.begun[:16].replace('T', ' ')} UTC, {how}, {self._taken}; load "
            f"{before:.1f} before, {after:.1f} after.{busy}{failed}\n\n{HEAD}"
            f"{''.join(map(str, self.rows))}"
        )

    @property
    def _taken(self) -> str:
        return f"{self.seconds:.0f} s" if self.seconds < 120 else f"{self.seconds / 60:.0f} min"


def program(description: str | None) -> argparse.ArgumentParser:
    """What all benches can be asked."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small, one round")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    return parser


def tell(
    measure: Callable[[argparse.Namespace], Iterable[Row]], parser: argparse.ArgumentParser
) -> None:
    """Run a bench: each row is printed as it is found, and kept also if a later one fails."""
    asked = parser.parse_args()
    begun, before, rows, failed = datetime.now(UTC), load(), list[Row](), ""
    sys.stdout.write(HEAD)
    try:
        for row in measure(asked):
            sys.stdout.write(str(row))
            sys.stdout.flush()
            rows.append(row)
    except BaseException as error:
        failed = type(error).__name__
        raise
    finally:
        if asked.json:
            found = Found(
                bench=asked.json.stem,
                is_quick=asked.quick,
                begun=begun.isoformat(),
                seconds=(datetime.now(UTC) - begun).total_seconds(),
                machine=machine(),
                load=(before, load()),
                rows=rows,
                failed=failed,
            )
            found.write(asked.json)


def _number(value: float, unit: str) -> str:
    digits = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()
