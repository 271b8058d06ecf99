"""What benches found: rows of one shape, and the page that shows them.

Every bench is a program that yields rows (`tell`); `python -m bench` runs them and writes the page.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from bench.machine import load, machine

HEAD = """| what | ours | baseline | ratio | expected | note |
|---|---|---|---|---|---|
"""
BUSY = " **Others worked on this machine before it began: rely on none of these figures.**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure beside its baseline. `ours` is None where there was nothing to measure with.

    What is expected is expected of `ratios` where there are any, else of `ours` itself.
    """

    what: str
    unit: str = ""  # of ours and of the baseline
    ours: float | None = None
    against: str = ""  # what the baseline is
    baseline: float | None = None
    ratios: Sequence[float] = ()  # ours of the baseline, in each round
    least: float | None = None
    most: float | None = None
    note: str = ""
    at: float | None = None  # how large the case was: a point of a curve

    @property
    def ratio(self) -> float | None:
        if self.ratios:
            return median(self.ratios)
        return self.ours / self.baseline if self.ours is not None and self.baseline else None

    @property
    def met(self) -> bool | None:
        """Is it as the design expects? None where nothing is expected, or measured."""
        found = self.ratio if self.ratios else self.ours
        if found is None or (self.least is None and self.most is None):
            return None
        return (self.least is None or found >= self.least) and (
            self.most is None or found <= self.most
        )

    def __str__(self) -> str:
        what = self.what if self.at is None else f"{self.what}, {self.at:,.0f}"
        cells = (what, self._ours(), self._baseline(), self._ratio(), self.expected, self.note)
        return f"| {' | '.join(cells)} |\n"

    @property
    def expected(self) -> str:
        least = "" if self.least is None else f"at least {self.least:g}"
        most = "" if self.most is None else f"at most {self.most:g}"
        bounds = " and ".join(filter(None, (least, most)))
        return f"ratio {bounds}" if bounds and self.ratios else bounds

    def _ours(self) -> str:
        if self.ours is None:
            return "not measured"
        said = _number(self.ours, self.unit)
        return f"**{said}**" if self.met is False and not self.ratios else said

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
        said = f"**{said}**" if self.met is False else said
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
    """A row of two sides that ran in turn, round after round."""
    ratios = [one / other for one, other in zip(ours, baseline, strict=True)]
    own: dict[str, Any] = {"ours": median(ours), "baseline": median(baseline), "ratios": ratios}
    return Row(what=what, unit=unit, against=against, **own, **more)


def curve(what: str, unit: str, found: Mapping[int, float], **more: Any) -> Iterator[Row]:
    """A row for each size of a case, beside its smallest."""
    smallest = min(found)
    for at, ours in sorted(found.items()):
        yield beside(what, unit, [ours], f"{smallest:,}", [found[smallest]], at=at, **more)


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
        return (
            f"{self.begun[:16].replace('T', ' ')} UTC, {how}, {self.seconds:.0f} s; load "
            f"{before:.1f} before, {after:.1f} after.{busy}\n\n{HEAD}{''.join(map(str, self.rows))}"
        )


def program(description: str | None) -> argparse.ArgumentParser:
    """What all benches can be asked."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small, one round")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    return parser


def tell(
    measure: Callable[[argparse.Namespace], Iterable[Row]], parser: argparse.ArgumentParser
) -> None:
    """Run a bench: each row is printed as it is found."""
    asked = parser.parse_args()
    begun, before, rows = datetime.now(UTC), load(), []
    sys.stdout.write(HEAD)
    for row in measure(asked):
        sys.stdout.write(str(row))
        sys.stdout.flush()
        rows.append(row)
    if asked.json:
        found = Found(
            bench=asked.json.stem,
            is_quick=asked.quick,
            begun=begun.isoformat(),
            seconds=(datetime.now(UTC) - begun).total_seconds(),
            machine=machine(),
            load=(before, load()),
            rows=rows,
        )
        found.write(asked.json)


def _number(value: float, unit: str) -> str:
    digits = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()
