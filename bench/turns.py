"""Sides that did the same work in turn, round after round."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.process import Used
from bench.report import Row, beside


@dataclass(frozen=True, slots=True)
class Runs:
    pages: int  # of one run
    runs: Mapping[str, Sequence[Used]]  # by side

    def cpu(self, what: str, side: str, other: str, **more: Any) -> Row:
        """A side's processor time, of another's."""
        one, two = self._cpu(side), self._cpu(other)
        return beside(what, "CPU s a page", one, other, two, **more)

    def faster(self, what: str, side: str, other: str, **more: Any) -> Row:
        """How many times as fast a side is as another."""
        by_cpu = median(self._cpu(other)) / median(self._cpu(side))
        more["note"] = f"by CPU {by_cpu:.2f}"
        return beside(what, "pages/min", self._speed(side), other, self._speed(other), **more)

    def _cpu(self, side: str) -> list[float]:
        return [run.cpu / self.pages for run in self.runs[side]]

    def _speed(self, side: str) -> list[float]:
        return [60 * self.pages / run.wall for run in self.runs[side]]


def in_turn(pages: int, rounds: int, sides: Mapping[str, Callable[[], Used]]) -> Runs:
    runs: dict[str, list[Used]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, run in sides.items():
            runs[side].append(run())
    return Runs(pages, runs)
