"""Charts without a library: what is drawn, in numbers. The templates of `charts/` draw it as SVG.

Drawings are stretched to the width of their place, and their words stand beside them as text, so
that they stay readable on a telephone. No style attributes: the content security policy blocks
them. Each has a title and a sentence for who does not see it, and a table with the same numbers.
Series differ by colour, by a gap and by their order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

HEIGHT, STEP, GAP = 100.0, 10.0, 3.0  # of the drawing's own units: a column is STEP - GAP wide
SEAM = 0.8  # between two parts of a column
_NICE = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class ChartSeries:
    name: str
    tone: str  # c1, c2 or c3: the chart colours of tokens.css
    values: Sequence[int]


@dataclass(frozen=True, slots=True)
class ChartRectangle:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float
    tone: str


@dataclass(frozen=True, slots=True)
class ColumnChart:
    """Stacked columns over time. `key` is the chart's name among the ids of its page."""

    key: str
    title: str
    description: str  # one sentence for people who do not see the drawing
    labels: Sequence[str]
    series: Sequence[ChartSeries]

    @property
    def top(self) -> int:
        return round_up_axis(max((sum(values) for values in self._columns), default=0))

    @property
    def width(self) -> float:
        return STEP * len(self.labels)

    @property
    def ticks(self) -> list[int]:
        """From the top to 0, in quarters where these are whole."""
        parts = 4 if self.top % 4 == 0 else 2 if self.top % 2 == 0 else 1
        return [self.top * part // parts for part in range(parts, -1, -1)]

    @property
    def lines(self) -> list[float]:
        return [HEIGHT - HEIGHT * tick / self.top for tick in self.ticks]

    @property
    def parts(self) -> list[ChartRectangle]:
        drawn = []
        for number, values in enumerate(self._columns):
            below = 0
            for series, value in zip(self.series, values, strict=True):
                height = HEIGHT * value / self.top
                seam = SEAM if below and height > SEAM else 0.0
                y = HEIGHT - HEIGHT * below / self.top - height
                x = STEP * number + GAP / 2
                if value:
                    drawn.append(_part(x, y, height - seam, series.tone))
                below += value
        return drawn

    @property
    def shown_labels(self) -> list[str]:
        """As many as fit: every n-th, from the first."""
        every = math.ceil(len(self.labels) / 8)
        return list(self.labels[::every])

    @property
    def rows(self) -> list[tuple[str, tuple[int, ...]]]:
        return list(zip(self.labels, self._columns, strict=True))

    @property
    def _columns(self) -> list[tuple[int, ...]]:
        return list(zip(*(series.values for series in self.series), strict=True))


@dataclass(frozen=True, slots=True)
class AreaChart:
    """One number over time, as an area."""

    key: str
    title: str
    description: str  # one sentence for people who do not see the drawing
    labels: Sequence[str]
    values: Sequence[int]

    @property
    def top(self) -> int:
        return round_up_axis(max(self.values, default=0))

    @property
    def width(self) -> float:
        return STEP * max(1, len(self.values) - 1)

    @property
    def points(self) -> str:
        return " ".join(
            f"{STEP * number:g},{HEIGHT - HEIGHT * value / self.top:.1f}"
            for number, value in enumerate(self.values)
        )

    @property
    def area(self) -> str:
        return f"0,{HEIGHT:g} {self.points} {self.width:g},{HEIGHT:g}"

    @property
    def rows(self) -> list[tuple[str, int]]:
        return list(zip(self.labels, self.values, strict=True))


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a table with a bar in it. `filled` is in percent of the whole width."""

    label: str
    filled: int
    text: str  # the number as people read it
    tone: str = "c1"
    url: str = ""


def build_bars(rows: Sequence[tuple[str, int, str]], tone: str, *, most: int = 0) -> list[Bar]:
    """Of label, number and address. The longest bar is the largest number, or `most`."""
    most = most or max((number for _, number, _ in rows), default=0)
    return [
        Bar(label, _percent(number, most), f"{number:,}", tone, url) for label, number, url in rows
    ]


def round_up_axis(most: int) -> int:
    """The end of an axis: a round number that is not below, and at least 1."""
    if most <= 1:
        return 1
    power = 10 ** math.floor(math.log10(most))
    steps = (step * power for step in _NICE)
    return next(int(step) for step in steps if step >= most and step == int(step))


def _percent(number: int, most: int) -> int:
    """Something is never drawn as nothing."""
    if not most or number <= 0:
        return 0
    return min(100, max(1, round(100 * number / most)))


def _part(x: float, y: float, height: float, tone: str) -> ChartRectangle:
    return ChartRectangle(round(x, 2), round(y, 2), STEP - GAP, round(height, 2), tone)
