"""Runs sides that do the same work in turn, and sizes of one case, in several rounds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median
from typing import Any

from bench.installation.process import Used
from bench.results.report import Row, compare


@dataclass(frozen=True, slots=True)
class Runs:
    """Describes the resources that each side used, run by run."""

    pages: int  # of one run
    runs: Mapping[str, Sequence[Used]]  # by side

    def cpu(self, what: str, side: str, other: str, **more: Any) -> Row:
        """Return the processor time of one side relative to another."""
        ours, baseline = self._cpu(side), self._cpu(other)
        return compare(what, "CPU s a page", ours, other, baseline, **more)

    def faster(self, what: str, side: str, other: str, **more: Any) -> Row:
        """Return how many times as fast one side is as another."""
        by_cpu = median(self._cpu(other)) / median(self._cpu(side))
        more["note"] = f"by CPU {by_cpu:.2f}"
        return compare(what, "pages/min", self._speed(side), other, self._speed(other), **more)

    def _cpu(self, side: str) -> list[float]:
        return [run.cpu / self.pages for run in self.runs[side]]

    def _speed(self, side: str) -> list[float]:
        return [60 * self.pages / run.wall for run in self.runs[side]]


def in_turn(pages: int, rounds: int, sides: Mapping[str, Callable[[], Used]]) -> Runs:
    """Run each side once in every round, and return the resources that they used."""
    runs: dict[str, list[Used]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, run in sides.items():
            runs[side].append(run())
    return Runs(pages, runs)


Costs = Mapping[str, float]  # of one run, by operation


@dataclass(frozen=True, slots=True)
class Growth:
    """The costs of each run of a case. The smallest size ran before and after each other one."""

    smallest: int
    alone: Sequence[Costs]  # one more than there are others
    larger: Mapping[int, Costs]  # by size, in their order

    def rows(self, across: str, unit: str, **more: Any) -> Iterator[Row]:
        """Yield the rows. The smallest size is compared with its own earlier run."""
        for operation in self.alone[0]:
            what, alone = f"{across}: {operation}", [run[operation] for run in self.alone]
            yield compare(what, unit, alone[1:], "itself", alone[:-1], at=self.smallest, **more)
            for (size, run), neighbours in zip(self.larger.items(), pairwise(alone), strict=True):
                baseline = (f"{self.smallest:,}", [mean(neighbours)])
                yield compare(what, unit, [run[operation]], *baseline, at=size, **more)


def compare_with_smallest(sizes: Sequence[int], run: Callable[[int], Costs]) -> Growth:
    """Run the smallest size first, and again after every other size.

    A slow minute of the machine then also affects the neighbouring runs, and does not look like
    growth.
    """
    smallest, *others = sizes
    alone, larger = [run(smallest)], {}
    for size in others:
        larger[size] = run(size)
        alone.append(run(smallest))
    return Growth(smallest, alone, larger)
