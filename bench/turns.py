"""Sides that did the same work in turn, and sizes of one case, in several rounds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median
from typing import Any

from bench.process import Used
from bench.report import Row, beside


@dataclass(frozen=True, slots=True)
class Runs:
    pages: int  # of one run
    runs: Mapping[str, Sequence[Used]]  # by side

    def cpu(self, what: str, side: str, other: str, **more: Any) -> Row:
        """Return the processor time of one side relative to another."""
        one, two = self._cpu(side), self._cpu(other)
        return beside(what, "CPU s a page", one, other, two, **more)

    def faster(self, what: str, side: str, other: str, **more: Any) -> Row:
        """Return how many times as fast one side is as another."""
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


Costs = Mapping[str, float]  # of one run, by what was done


@dataclass(frozen=True, slots=True)
class Grown:
    """The costs of each run of a case. The smallest size ran before and after each other one."""

    smallest: int
    alone: Sequence[Costs]  # one more than there are others
    larger: Mapping[int, Costs]  # by size, in their order

    def rows(self, across: str, unit: str, **more: Any) -> Iterator[Row]:
        """Yield the rows. The smallest size is compared with its own earlier run."""
        for done in self.alone[0]:
            what, alone = f"{across}: {done}", [run[done] for run in self.alone]
            yield beside(what, unit, alone[1:], "itself", alone[:-1], at=self.smallest, **more)
            for (size, run), around in zip(self.larger.items(), pairwise(alone), strict=True):
                baseline = (f"{self.smallest:,}", [mean(around)])
                yield beside(what, unit, [run[done]], *baseline, at=size, **more)


def beside_the_smallest(sizes: Sequence[int], run: Callable[[int], Costs]) -> Grown:
    """Run the smallest size first, and again after every other size.

    A slow minute of the machine then also affects the neighbouring runs, and does not look like
    growth.
    """
    smallest, *others = sizes
    alone, larger = [run(smallest)], {}
    for size in others:
        larger[size] = run(size)
        alone.append(run(smallest))
    return Grown(smallest, alone, larger)
