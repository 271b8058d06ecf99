"""Figures of reading: runs in turn, what was expected of their ratios, and both as Markdown."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.process import Used

HEAD = "| what | expected | found |\n|---|---|---|\n"
RUNS_HEAD = "\n| {} | CPU s a page: least, median | pages a minute: most, median |\n|---|---|---|\n"


@dataclass(frozen=True, slots=True)
class Row:
    """One expectation. `met` is None where there is none, or nothing to measure with."""

    what: str
    expected: str
    found: str
    met: bool | None = None

    def __str__(self) -> str:
        found = f"**{self.found}**" if self.met is False else self.found
        return f"| {self.what} | {self.expected} | {found} |\n"


def at_most(what: str, bound: float, ratios: Sequence[float], aside: str = "") -> Row:
    return Row(what, f"at most {bound:g}", _spread(ratios) + aside, median(ratios) <= bound)


def at_least(what: str, bound: float, ratios: Sequence[float], aside: str = "") -> Row:
    return Row(what, f"at least {bound:g}", _spread(ratios) + aside, median(ratios) >= bound)


def not_measured(what: str, why: str) -> Row:
    return Row(what, "", f"not measured: {why}")


@dataclass(frozen=True, slots=True)
class Runs:
    """Several sides that did the same work, round after round."""

    title: str
    pages: int  # of one run
    runs: Mapping[str, Sequence[Used]]  # by side

    def cpu(self, side: str, other: str) -> list[float]:
        """A side's processor time, of another's, in each round."""
        pairs = zip(self.runs[side], self.runs[other], strict=True)
        return [one.cpu / two.cpu for one, two in pairs]

    def wall(self, side: str, other: str) -> list[float]:
        pairs = zip(self.runs[side], self.runs[other], strict=True)
        return [one.wall / two.wall for one, two in pairs]

    def faster(self, side: str, other: str, bound: float, what: str) -> Row:
        """How many times as fast a side is as another."""
        aside = f"; by CPU {_spread(self.cpu(other, side))}"
        return at_least(what, bound, self.wall(other, side), aside)

    def __str__(self) -> str:
        return RUNS_HEAD.format(self.title) + "".join(self._rows())

    def _rows(self) -> Iterator[str]:
        for side, runs in self.runs.items():
            cpu = [run.cpu / self.pages for run in runs]
            speed = [60 * self.pages / run.wall for run in runs]
            yield f"| {side} | {min(cpu):.3f}, {median(cpu):.3f} "
            yield f"| {max(speed):.0f}, {median(speed):.0f} |\n"


def in_turn(title: str, pages: int, rounds: int, sides: Mapping[str, Callable[[], Used]]) -> Runs:
    runs: dict[str, list[Used]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, run in sides.items():
            runs[side].append(run())
    return Runs(title, pages, runs)


def _spread(ratios: Sequence[float]) -> str:
    if len(ratios) == 1:
        return f"{ratios[0]:.2f}"
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
