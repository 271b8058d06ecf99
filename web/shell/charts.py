"""Computes charts as numbers, which the templates of `charts/` draw as SVG without a library.

A drawing is stretched to the width of its place. Labels stand beside it as text, so that they stay
readable on a telephone. Style attributes are not possible, because the content security policy
blocks them. Each chart has a title and a description for people who do not see it, and a table with
the same numbers. Series differ by colour, by a gap and by their order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# In units of the drawing.
HEIGHT = 100.0
COLUMN_STEP = 10.0  # from the start of one column to the start of the next
COLUMN_GAP = 3.0  # between two columns, so a column is COLUMN_STEP - COLUMN_GAP wide
STACK_GAP = 0.8  # between two series of one column
MAX_AXIS_LABELS = 8
_ROUND_NUMBERS = (1, 2, 2.5, 5, 10)  # times a power of ten: the possible ends of an axis


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """Describes the values of one series, with its name and its colour."""

    name: str
    tone: str  # c1, c2 or c3: the chart colours of tokens.css
    values: Sequence[int]


@dataclass(frozen=True, slots=True)
class ChartRectangle:
    """Describes a rectangle of a chart, in the units of its drawing."""

    x: float
    y: float
    width: float
    height: float
    tone: str


@dataclass(frozen=True, slots=True)
class ColumnChart:
    """Stacked columns over time. `key` is unique on the page and becomes a part of HTML ids."""

    key: str
    title: str
    description: str  # one sentence for people who do not see the drawing
    labels: Sequence[str]
    series: Sequence[ChartSeries]

    @property
    def top(self) -> int:
        """Return the end of the vertical axis."""
        return round_up_axis(max((sum(values) for values in self._columns), default=0))

    @property
    def width(self) -> float:
        """Return the width of the drawing in its own units."""
        return COLUMN_STEP * len(self.labels)

    @property
    def ticks(self) -> list[int]:
        """Return the numbers on the axis from the top to 0, in quarters if they are whole."""
        parts = 4 if self.top % 4 == 0 else 2 if self.top % 2 == 0 else 1
        return [self.top * part // parts for part in range(parts, -1, -1)]

    @property
    def grid_lines(self) -> list[float]:
        """Return the heights of the grid lines, from the top."""
        return [HEIGHT - HEIGHT * tick / self.top for tick in self.ticks]

    @property
    def rectangles(self) -> list[ChartRectangle]:
        """Return one rectangle for each number above 0, each column from the bottom up."""
        rectangles = []
        for position, values in enumerate(self._columns):
            below = 0  # the sum of the series that are drawn below
            for series, value in zip(self.series, values, strict=True):
                height = HEIGHT * value / self.top
                gap = STACK_GAP if below and height > STACK_GAP else 0.0
                if value:
                    rectangles.append(
                        ChartRectangle(
                            x=round(COLUMN_STEP * position + COLUMN_GAP / 2, 2),
                            y=round(HEIGHT - HEIGHT * below / self.top - height, 2),
                            width=COLUMN_STEP - COLUMN_GAP,
                            height=round(height - gap, 2),
                            tone=series.tone,
                        )
                    )
                below += value
        return rectangles

    @property
    def axis_labels(self) -> list[str]:
        """Return every n-th label, so that at most MAX_AXIS_LABELS stand below the chart."""
        every = math.ceil(len(self.labels) / MAX_AXIS_LABELS)
        return list(self.labels[::every])

    @property
    def rows(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the rows of the table with the same numbers: a label, and the values."""
        return list(zip(self.labels, self._columns, strict=True))

    @property
    def _columns(self) -> list[tuple[int, ...]]:
        return list(zip(*(series.values for series in self.series), strict=True))


@dataclass(frozen=True, slots=True)
class AreaChart:
    """One number over time, as an area. `key` is as in `ColumnChart`."""

    key: str
    title: str
    description: str  # one sentence for people who do not see the drawing
    labels: Sequence[str]
    values: Sequence[int]

    @property
    def top(self) -> int:
        """Return the end of the vertical axis."""
        return round_up_axis(max(self.values, default=0))

    @property
    def width(self) -> float:
        """Return the width of the drawing in its own units."""
        return COLUMN_STEP * max(1, len(self.values) - 1)

    @property
    def points(self) -> str:
        """Return the line of the chart for the attribute `points` of an SVG element."""
        return " ".join(
            f"{COLUMN_STEP * position:g},{HEIGHT - HEIGHT * value / self.top:.1f}"
            for position, value in enumerate(self.values)
        )

    @property
    def area(self) -> str:
        """Return the area below the line for the attribute `points` of an SVG element."""
        return f"0,{HEIGHT:g} {self.points} {self.width:g},{HEIGHT:g}"

    @property
    def rows(self) -> list[tuple[str, int]]:
        """Return the rows of the table with the same numbers: a label and a value."""
        return list(zip(self.labels, self.values, strict=True))


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a table with a bar in it."""

    label: str
    filled: int  # percent of the whole width
    text: str  # the number as people read it
    tone: str = "c1"
    url: str = ""


def build_bars(rows: Sequence[tuple[str, int, str]], tone: str, *, maximum: int = 0) -> list[Bar]:
    """Return bars for rows of label, number and address.

    A full bar stands for `maximum`, or for the largest number. A number above 0 always has a
    visible bar.
    """
    maximum = maximum or max((number for _, number, _ in rows), default=0)
    bars = []
    for label, number, url in rows:
        is_empty = not maximum or number <= 0
        filled = 0 if is_empty else min(100, max(1, round(100 * number / maximum)))
        bars.append(Bar(label, filled, f"{number:,}", tone, url))
    return bars


def round_up_axis(largest: int) -> int:
    """Return the end of an axis: a round number that is at least `largest` and at least 1."""
    if largest <= 1:
        return 1
    power = 10 ** math.floor(math.log10(largest))
    ends = (number * power for number in _ROUND_NUMBERS)
    return next(int(end) for end in ends if end >= largest and end == int(end))
