"""Run benchmarks and write one report: `python -m bench [NAME ...] [--quick] [--again]`.

Each benchmark runs in its own process, and its result is stored in var/bench as soon as it ends.
After an interruption, `--again` runs only those that are missing. The page and its charts are
written from all stored results.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import charts
from bench.report import Found, Row

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "var" / "bench"
PAGE = ROOT / "docs" / "benchmarks"
BENCHES = {  # with their titles in the report
    "flow": "The flow, beside the plain design",
    "dispatch": "The job layer, beside the core alone",
    "reading": "Reading, beside the engine, OCRmyPDF and pypdf",
    "ledger": "The ledger, beside the bare driver and hashing",
    "limits": "Portals' limits, kept by several processes",
    "stores": "Files, in a bucket and in a folder",
    "lists": "Pages, with many documents and with few",
    "growth": "How cost grows",
}
HEAD = """# Benchmarks

This page is the report of the last run of all benchmarks, which `make bench` writes. It is for
programmers, and for administrators who compare or plan installations.
[How to read the benchmarks](reading.md) explains what each benchmark measures, what its baseline
is, and how to run it again. [Earlier results](history.md) are on a page of their own.

SiteLedger and the baseline of each figure were measured in turn in the same run, round after round.
Both figures are medians of the rounds. The ratio is SiteLedger's figure divided by the baseline of
the same round: the median, and in brackets the lowest and the highest. With one round, the
variation of a figure is unknown. *Expected* is the figure of the design. It applies to SiteLedger's
figure, unless it says ratio. A figure that misses its expectation is **bold**, and the column says
so.
"""


def kept(name: str) -> Path:
    return KEPT / f"{name}.json"


def run(name: str, *, is_quick: bool) -> bool:
    """Run a benchmark, store its result, and return whether it succeeded."""
    sys.stderr.write(f"\n{name}\n")
    command = [sys.executable, "-m", f"bench.{name}", "--json", str(kept(name))]
    return (
        subprocess.run([*command, *["--quick"] * is_quick], cwd=ROOT, check=False).returncode == 0
    )


def is_kept(name: str, *, is_quick: bool) -> bool:
    """Return whether there is a complete result of the requested size."""
    if not kept(name).exists():
        return False
    found = Found.read(kept(name))
    return found.is_quick == is_quick and not found.failed


def write_page(found: Sequence[Found], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sections = [section for each in found for section in _section(each, folder)]
    machines = "".join(f"- {said}\n" for said in _machines(found))
    absent = [BENCHES[name] for name in BENCHES if name not in {each.bench for each in found}]
    said = f"\nNot measured: {'; '.join(absent)}.\n" if absent else ""
    contents = "".join(_link(each) for each in found)
    page = f"{HEAD}\n{contents}\nMeasured on\n\n{machines}{said}{''.join(sections)}"
    (folder / "index.md").write_text(page)


def _machines(found: Sequence[Found]) -> Iterator[str]:
    """Yield each machine and commit, with the names of its benchmarks if there are several."""
    for said in (machines := dict.fromkeys(each.machine for each in found)):
        names = ", ".join(each.bench for each in found if each.machine == said)
        yield f"{names}: {said}" if len(machines) > 1 else said


def _heading(found: Found) -> str:
    return f"{BENCHES[found.bench]}: `bench/{found.bench}.py`"


def _link(found: Found) -> str:
    """Return the line of the table of contents, with the anchor that GitHub builds."""
    anchor = re.sub(r"[^\w\- ]", "", _heading(found).lower()).replace(" ", "-")
    return f"- [{BENCHES[found.bench]}](#{anchor})\n"


def _section(found: Found, folder: Path) -> Iterator[str]:
    title = BENCHES[found.bench]
    yield f"\n## {_heading(found)}\n\n"
    for name, drawing in _charts(found, title):
        (folder / f"{name}.svg").write_text(drawing)
        yield f"![{title}: the table below has the same numbers]({name}.svg)\n\n"
    yield str(found)


def _charts(found: Found, title: str) -> Iterator[tuple[str, str]]:
    """Yield charts by file name: curves for cases with sizes, and ratios for the others."""
    by_size: dict[str, dict[str, list[Row]]] = {}
    for row in found.rows:
        if row.at and row.ratio is not None:
            across, _, what = row.what.partition(": ")
            by_size.setdefault(across, {}).setdefault(what, []).append(row)
    for across, lines in by_size.items():
        yield f"{found.bench}-{across}", charts.curves(f"Cost, with more {across}", across, lines)
    rows: list[Row] = [row for row in found.rows if not row.at]
    if any(row.ratio for row in rows):
        yield found.bench, charts.ratios(f"{title}: ratio to the baseline", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help=f"of {', '.join(BENCHES)}")
    parser.add_argument("--quick", action="store_true", help="small, one round")
    parser.add_argument("--again", action="store_true", help="keep what was measured, do the rest")
    parser.add_argument("--output", type=Path, default=PAGE, help="folder of the page")
    arguments = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    names = arguments.name or [*BENCHES]
    if unknown := set(names) - BENCHES.keys():
        parser.error(f"there is no bench {', '.join(sorted(unknown))}: {', '.join(BENCHES)}")
    if not arguments.again:
        for name in names:
            kept(name).unlink(missing_ok=True)
    missing = [name for name in names if not is_kept(name, is_quick=arguments.quick)]
    failed = [name for name in missing if not run(name, is_quick=arguments.quick)]
    found = [Found.read(kept(name)) for name in BENCHES if kept(name).exists()]
    write_page(found, arguments.output)
    sys.exit(f"These failed, and what they say is above: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
