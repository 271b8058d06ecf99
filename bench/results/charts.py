"""Draws charts as SVG files: ratios to the baseline, and costs that grow with size.

The charts of the product (`web/shell/charts.py`) are stretched, and their labels are in the page.
These charts contain their labels, and colours for light and dark mode.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

from bench.results.report import Row

# The colours of static/siteledger/tokens.css.
STYLE = """
svg { background: #ffffff; font: 13px system-ui, sans-serif; }
text { fill: #1b2a36; } .aside { fill: #4b5a69; }
.grid { stroke: #d5dde4; } .base { stroke: #4b5a69; stroke-width: 1.5; }
.c1 { stroke: #1f6f8f; fill: #1f6f8f; } .c2 { stroke: #b3301c; fill: #b3301c; }
.c3 { stroke: #b86e00; fill: #b86e00; } .c4 { stroke: #5b3a94; fill: #5b3a94; }
.c5 { stroke: #2f7d4f; fill: #2f7d4f; } polyline { fill: none !important; stroke-width: 2; }
.range { stroke-width: 5; stroke-opacity: 0.45; }
.bound { stroke: #4b5a69; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
svg { background: #182129; } text { fill: #e7edf2; } .aside { fill: #a9b7c4; }
.grid { stroke: #303d48; } .base, .bound { stroke: #a9b7c4; }
.c1 { stroke: #58a9c9; fill: #58a9c9; } .c2 { stroke: #ff8a73; fill: #ff8a73; }
.c3 { stroke: #e8b04a; fill: #e8b04a; } .c4 { stroke: #c9b0ff; fill: #c9b0ff; }
.c5 { stroke: #7fd6a2; fill: #7fd6a2; }
}
"""
WIDTH, TOP, ROW = 860, 56, 26
LEFT, RIGHT = 410, 790  # the area of the ratios
MAX_LABEL_CHARACTERS = 58
TONES = 5
Scale = Callable[[float], float]
Place = Callable[[float, float], tuple[float, float]]
PLOT = (70, 560, TOP + 10, 300)  # left, right, top and bottom of the area of curves


def ratios(title: str, rows: Sequence[Row]) -> str:
    """Draw a dot for each ratio, or a square if it missed its target. The line is the baseline."""
    drawn = [(row, ratio) for row in rows if (ratio := row.ratio) is not None and ratio > 0]
    values = [
        1.0,
        *(ratio for _, ratio in drawn),
        *(each for row, _ in drawn for each in row.ratios),
    ]
    values = [value for value in values if value > 0]
    low, high = min(values) / 1.3, max(values) * 1.3

    def across(value: float) -> float:
        inside = min(max(value, low), high)
        return LEFT + (RIGHT - LEFT) * math.log(inside / low) / math.log(high / low)

    height = TOP + ROW * len(drawn) + 14
    base = across(1.0)
    parts = [
        _text(base, TOP - 12, "baseline", "middle", "aside"),
        f'<line class="base" x1="{base:.1f}" x2="{base:.1f}" y1="{TOP - 6}" y2="{height - 8}"/>',
    ]
    for number, (row, ratio) in enumerate(drawn):
        y = TOP + ROW * number + ROW / 2
        parts += _draw_ratio(row, ratio, y, base, across)
    return _drawing(title, height, parts)


def _draw_ratio(row: Row, ratio: float, y: float, base: float, across: Scale) -> Iterator[str]:
    """Draw the label of a row, its dot or square, the range of its rounds, and its bounds."""
    x, is_missed = across(ratio), row.met is False
    tone = "c2" if is_missed else "c1"
    label = row.what.replace("`", "")
    if len(label) > MAX_LABEL_CHARACTERS:
        label = f"{label[: MAX_LABEL_CHARACTERS - 1]}…"
    yield _text(LEFT - 14, y + 4, label, "end")
    yield f'<line class="{tone}" x1="{base:.1f}" x2="{x:.1f}" y1="{y}" y2="{y}"/>'
    if is_missed:
        yield f'<rect class="{tone}" x="{x - 5:.1f}" y="{y - 5}" width="10" height="10"/>'
    else:
        yield f'<circle class="{tone}" cx="{x:.1f}" cy="{y}" r="5"/>'
    if row.rounds > 1 and row.ratios:
        ends = f'x1="{across(min(row.ratios)):.1f}" x2="{across(max(row.ratios)):.1f}"'
        yield f'<line class="range {tone}" {ends} y1="{y}" y2="{y}"/>'
    for bound in (row.minimum, row.maximum) if row.expects_ratio else ():
        if bound:
            at = across(bound)
            yield f'<line class="bound" x1="{at:.1f}" x2="{at:.1f}" y1="{y - 9}" y2="{y + 9}"/>'
    yield _text(WIDTH - 8, y + 4, f"{ratio:.2f}", "end", "aside")


def curves(title: str, across: str, lines: Mapping[str, Sequence[Row]]) -> str:
    """Draw rows with a size on a logarithmic scale, with their ratios to the smallest."""
    left, right, top, bottom = PLOT
    rows = [row for line in lines.values() for row in line]
    sizes = sorted({row.at or 1 for row in rows})
    highest = max(2.0, *(ratio for row in rows for ratio in row.ratios)) * 1.05

    def at(size: float, ratio: float) -> tuple[float, float]:
        span = math.log(sizes[-1] / sizes[0]) or 1.0
        x = left + (right - left) * math.log(size / sizes[0]) / span
        return x, bottom - (bottom - top) * ratio / highest

    parts = [_text(left - 8, top - 14, "of the smallest", "start", "aside")]
    step = 10 ** math.floor(math.log10(highest))
    step = step if highest / step >= 2 else step / 2
    for tick in (step * n for n in range(int(highest / step) + 1)):
        y = at(sizes[0], tick)[1]
        tone = "base" if tick == 1 else "grid"
        parts.append(f'<line class="{tone}" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(left - 10, y + 4, f"{tick:g}", "end", "aside"))
    parts += [
        _text(at(size, 0)[0], bottom + 20, f"{size:,.0f}", "middle", "aside") for size in sizes
    ]
    parts.append(_text((left + right) / 2, bottom + 42, across, "middle", "aside"))
    parts += _draw_curves(lines, at)
    return _drawing(title, bottom + 56, parts)


def _draw_curves(lines: Mapping[str, Sequence[Row]], at: Place) -> Iterator[str]:
    """Draw each curve with its name beside its end. Names do not overlap."""
    ends = {name: rows[-1].ratio or 0.0 for name, rows in lines.items()}
    lowest = math.inf
    for number, (name, ratio) in enumerate(sorted(ends.items(), key=lambda end: end[1])):
        tone = f"c{number % TONES + 1}"
        yield from _draw_curve(lines[name], tone, at)
        x, y = PLOT[1] + 18, min(at(1, ratio)[1], lowest - 18)
        lowest = y
        yield f'<circle class="{tone}" cx="{x}" cy="{y:.1f}" r="4"/>'
        yield _text(x + 10, y + 4, f"{name}: {ratio:.2f}")


def _draw_curve(rows: Sequence[Row], tone: str, at: Place) -> Iterator[str]:
    """Draw dots, each with the range of its rounds."""
    points = [at(row.at or 1, row.ratio or 0.0) for row in rows]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield f'<polyline class="{tone}" points="{drawn}"/>'
    for row, (x, y) in zip(rows, points, strict=True):
        _, low = at(row.at or 1, min(row.ratios))
        _, high = at(row.at or 1, max(row.ratios))
        ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"'
        yield f'<line class="range {tone}" {ends}/>'
        yield f'<circle class="{tone}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'


def _drawing(title: str, height: float, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" role="img" aria-label="{escape(title)}">\n'
        f"<style>{STYLE}</style>\n{_text(8, 24, title)}\n{body}\n</svg>\n"
    )


def _text(x: float, y: float, text: str, anchor: str = "start", tone: str = "") -> str:
    mark = f' class="{tone}"' if tone else ""
    return f'<text{mark} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
