"""Draws handwritten signatures as Bezier curves. A name always has the same handwriting."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

Point = tuple[float, float]

_INK_COLOUR = (0.06, 0.09, 0.36)
_POINTS_PER_LOOP = 8


@dataclass(frozen=True, slots=True)
class _Handwriting:
    """The features in which the handwriting of two people differs."""

    slant: float
    spread: float  # width of a letter
    roundness: float  # how far a loop turns back; the loops are open above 1
    letter_heights: tuple[float, ...]  # of the letters after the capital
    legibility: float  # share of a name's letters that are written
    flourish: bool

    @classmethod
    def of(cls, rng: random.Random) -> Self:
        low = rng.uniform(0.2, 0.36)
        return cls(
            slant=rng.uniform(-0.05, 0.5),
            spread=rng.uniform(0.18, 0.36),
            roundness=rng.uniform(0.5, 1.5),
            letter_heights=(
                low,
                low * 1.15,
                low * 0.8,
                rng.uniform(0.6, 0.85),
                rng.uniform(-0.35, -0.1),
            ),
            legibility=rng.uniform(0.4, 0.9),
            flourish=rng.random() < 0.5,
        )


def _draw_loops(letters: int, hand: _Handwriting, rng: random.Random) -> Iterator[Point]:
    """Yield the points of cursive loops: a trochoid with a height for each letter, about 1 high."""
    x = 0.0
    for letter in range(letters):
        capital = letter == 0
        height = rng.uniform(0.85, 1.0) if capital else rng.choice(hand.letter_heights)
        width = hand.spread * (rng.uniform(1.4, 2.2) if capital else rng.uniform(0.8, 1.2))
        swing = hand.roundness * width * 0.6
        for step in range(_POINTS_PER_LOOP):
            turn = 2 * math.pi * step / _POINTS_PER_LOOP
            rise = height * (1 - math.cos(turn)) / 2
            yield (
                x + width * step / _POINTS_PER_LOOP - swing * math.sin(turn) + hand.slant * rise,
                rise,
            )
        x += width
    yield (
        x + rng.uniform(0.2, 0.7),
        rng.uniform(-0.05, 0.2),
    )  # the last stroke continues to the right


def _strokes(name: str, rng: random.Random) -> Iterator[Sequence[Point]]:
    """Yield a stroke for each part of the name and, for some people, a line below it."""
    hand, start = _Handwriting.of(rng), 0.0
    for part in name.split():
        letters = max(2, round(len(part) * hand.legibility))
        stroke = [(start + x, y) for x, y in _draw_loops(letters, hand, rng)]
        yield stroke
        start = max(x for x, _ in stroke) - rng.uniform(0.0, 0.25)
    if hand.flourish:
        dip = rng.uniform(-0.22, -0.14)
        yield [(start, 0.12), (start * 0.5, dip), (start * 0.3, dip * 0.9), (start * 1.1, -0.06)]


def _add_curve(path: Any, points: Sequence[Point]) -> None:
    """Add a smooth line through the points: a Catmull-Rom spline as cubic Bezier curves."""
    path.moveTo(*points[0])
    padded = [points[0], *points, points[-1]]
    for before, start, end, after in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        path.curveTo(
            start[0] + (end[0] - before[0]) / 6,
            start[1] + (end[1] - before[1]) / 6,
            end[0] - (after[0] - start[0]) / 6,
            end[1] - (after[1] - start[1]) / 6,
            *end,
        )


def draw_signature(
    canvas: Any, name: str, box: tuple[float, float, float, float], seed: str
) -> None:
    """Draw the signature of `name`. `box` is left, baseline, width and height in points.

    The handwriting depends only on the name; `seed` adds small differences between documents. Up to
    a third of the height may extend below the baseline.
    """
    strokes = list(_strokes(name, random.Random(name)))
    variation = random.Random(f"{seed} {name}")
    left, baseline, width, height = box
    x_values = [x for stroke in strokes for x, _ in stroke]
    first = min(x_values)  # the loop of a capital may begin left of it
    x_scale = min(width / (max(x_values) - first), height * 1.3) * variation.uniform(0.9, 0.98)
    y_scale = height * variation.uniform(0.85, 0.95)
    tilt = math.tan(math.radians(variation.uniform(-0.5, 2.5)))
    canvas.saveState()
    canvas.setStrokeColorRGB(*_INK_COLOUR)
    canvas.setLineWidth(variation.uniform(1.0, 1.4))
    canvas.setLineCap(1)
    canvas.setLineJoin(1)
    for stroke in strokes:
        path = canvas.beginPath()
        placed = [((x - first) * x_scale, baseline + y * y_scale) for x, y in stroke]
        _add_curve(path, [(left + along, y + along * tilt) for along, y in placed])
        canvas.drawPath(path)
    canvas.restoreState()
