"""Write the figures that README and docs/sizing.md quote from docs/benchmarks/index.md.

`python -m bench.quoted_figures` rewrites the tables between `<!-- figures: NAME -->` and
`<!-- end of figures -->`. `--check` writes nothing, and exits with 1 if a table is out of date. A
figure of a run that other work disturbed is not quoted, and one that misses its target says so.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "docs" / "benchmarks" / "index.md"
DISTURBED = "**Other work was running on this machine"
BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
HEAD = "| what | SiteLedger | baseline | ratio | expected |\n|---|---|---|---|---|\n"


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the report."""

    bench: str
    what: str
    ours: str
    baseline: str
    ratio: str
    expected: str
    is_disturbed: bool


# For each row of a table: its label, the benchmark, and the row in the report (the first column,
# and the baseline if several rows have the same first column).
Wanted = Sequence[tuple[str, str, str, str]]
TABLES: Mapping[str, tuple[Path, Wanted]] = {
    "readme": (
        ROOT / "README.md",
        (
            ("portals with limits and 30 % faults", "flow", "limits, 30% faults: ours", ""),
            ("the same: documents lost", "flow", "limits, 30% faults: documents lost", ""),
            ("portals with limits, no faults", "flow", "limits, 0% faults: ours", ""),
            ("full speed, real documents", "flow", "the same, real documents: ours", ""),
            ("full speed, small forms of our own", "flow", "no limits, no faults: ours", ""),
            ("scanned pages", "reading", "OCR: ours", ""),
            (
                "ledger, PostgreSQL, 8 writers, a disk that flushes in 1 ms",
                "ledger",
                "PostgreSQL, 8 writers, 1 entry, 1 ms",
                "the bare driver",
            ),
            ("the whole trail verified, SQLite", "ledger", "SQLite: full verification", ""),
        ),
    ),
    "portals": (
        ROOT / "docs" / "sizing.md",
        tuple(
            (
                f"{rate} requests/s, burst {burst}",
                "limits",
                f"4 processes, {rate} requests/s, burst {burst}",
                "",
            )
            for rate, burst in ((2, 1), (5, 5), (50, 10), (200, 40))
        ),
    ),
}


def read(report: str) -> Iterator[Figure]:
    """Return every row of the report."""
    bench, is_disturbed = "", False
    for line in report.splitlines():
        if line.startswith("## "):
            bench, is_disturbed = line.rpartition("bench/")[2].removesuffix(".py`"), False
        is_disturbed = is_disturbed or DISTURBED in line
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 7 and cells[0] != "what":
            what, ours, baseline, ratio, _rounds, expected, _note = cells
            yield Figure(bench, what, ours, baseline, ratio, expected, is_disturbed)


def table(name: str, figures: Sequence[Figure]) -> str:
    """Return the table of that name. Raises LookupError for a row that is not in the report."""
    lines = [HEAD]
    for label, bench, what, against in TABLES[name][1]:
        matching = [
            figure
            for figure in figures
            if (figure.bench, figure.what) == (bench, what) and against in figure.baseline
        ]
        if len(matching) != 1:
            raise LookupError(f"{len(matching)} rows of {bench} are called {what!r}")
        (figure,) = matching
        cells = (figure.ours, figure.baseline, figure.ratio)
        if figure.is_disturbed:
            lines.append(f"| {label} | not measured on a quiet machine | | | {figure.expected} |\n")
        else:
            lines.append(f"| {label} | {' | '.join(cells)} | {figure.expected} |\n")
    return "".join(lines)


def rewritten(text: str, figures: Sequence[Figure]) -> str:
    """Return a page with up-to-date tables."""
    return BLOCK.sub(lambda block: block[1] + table(block[2], figures) + block[3], text)


def main() -> int:
    """Write the figures, or check them. Returns 1 if a checked page is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    figures = list(read(REPORT.read_text()))
    is_current = True
    for path in {path for path, _ in TABLES.values()}:
        text = path.read_text()
        if (wanted := rewritten(text, figures)) != text:
            is_current = False
            sys.stderr.write(f"{path.relative_to(ROOT)} quotes other figures than the report\n")
            if not arguments.check:
                path.write_text(wanted)
    return int(arguments.check and not is_current)


if __name__ == "__main__":
    sys.exit(main())
