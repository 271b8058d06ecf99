"""Runs benchmarks and writes one report: `python -m bench [NAME ...] [--quick] [--again]`.

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

from bench.results import charts
from bench.results.report import BenchResult, Row

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "var" / "bench"
PAGE = ROOT / "docs" / "benchmarks"
BENCHES = {  # with their titles in the report
    "flow": "The flow, beside the plain design",
    "dispatch": "The job layer, beside the core alone",
    "reading": "Reading, beside the engine, OCRmyPDF and pypdf",
    "page_images": "Page images, beside Tesseract, OCRmyPDF and RapidOCR",
    "judging": "The cost of a born-digital page, beside an earlier state",
    "stage_times": "The stages of reading a page, beside their budgets",
    "hostile": "Hostile and damaged files, with sound documents among them",
    "binders": "The division of files with several documents, beside a cut at each page",
    "languages": "Scans in other languages, beside Tesseract that is told the language",
    "ledger": "The ledger, beside the bare driver and hashing",
    "limits": "Portals' limits, kept by several processes",
    "stores": "Files, in a bucket and in a folder",
    "page_times": "Pages, with many documents and with few",
    "search": "Full-text search, beside a scan of the texts",
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


def result_path(name: str) -> Path:
    """Return the path of the JSON file with a benchmark's result."""
    return RESULTS / f"{name}.json"


def run(name: str, *, is_quick: bool) -> bool:
    """Run a benchmark, store its result, and return whether it succeeded."""
    sys.stderr.write(f"\n{name}\n")
    command = [sys.executable, "-m", f"bench.{name}", "--json", str(result_path(name))]
    return (
        subprocess.run([*command, *["--quick"] * is_quick], cwd=ROOT, check=False).returncode == 0
    )


def has_result(name: str, *, is_quick: bool) -> bool:
    """Return whether there is a complete result of the requested size."""
    if not result_path(name).exists():
        return False
    result = BenchResult.read(result_path(name))
    return result.is_quick == is_quick and not result.failed


def write_page(results: Sequence[BenchResult], folder: Path) -> None:
    """Write the page and its charts into a folder.

    The page names each machine and commit, with the names of its benchmarks if there are several.
    """
    folder.mkdir(parents=True, exist_ok=True)
    contents, sections = [], []
    for result in results:
        title = BENCHES[result.bench]
        heading = f"{title}: `bench/{result.bench}.py`"
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")  # as GitHub builds it
        contents.append(f"- [{title}](#{anchor})\n")
        sections.append(f"\n## {heading}\n\n")
        for name, drawing in draw_charts(result, title):
            (folder / f"{name}.svg").write_text(drawing)
            sections.append(f"![{title}: the table below has the same numbers]({name}.svg)\n\n")
        sections.append(str(result))
    benches_by_machine: dict[str, list[str]] = {}
    for result in results:
        benches_by_machine.setdefault(result.machine, []).append(result.bench)
    machines = "".join(
        f"- {', '.join(benches)}: {machine}\n" if len(benches_by_machine) > 1 else f"- {machine}\n"
        for machine, benches in benches_by_machine.items()
    )
    measured = {result.bench for result in results}
    missing = [title for name, title in BENCHES.items() if name not in measured]
    note = f"\nNot measured: {'; '.join(missing)}.\n" if missing else ""
    page = f"{HEAD}\n{''.join(contents)}\nMeasured on\n\n{machines}{note}{''.join(sections)}"
    (folder / "index.md").write_text(page)


def draw_charts(result: BenchResult, title: str) -> Iterator[tuple[str, str]]:
    """Yield charts by file name: curves for cases with sizes, and ratios for the others."""
    by_size: dict[str, dict[str, list[Row]]] = {}
    for row in result.rows:
        if row.at and row.ratio is not None:
            across, _, what = row.what.partition(": ")
            by_size.setdefault(across, {}).setdefault(what, []).append(row)
    for across, lines in by_size.items():
        yield f"{result.bench}-{across}", charts.curves(f"Cost, with more {across}", across, lines)
    rows: list[Row] = [row for row in result.rows if not row.at]
    if any(row.ratio for row in rows):
        yield result.bench, charts.ratios(f"{title}: ratio to the baseline", rows)


def main() -> None:
    """Run the selected benchmarks, or all, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help=f"of {', '.join(BENCHES)}")
    parser.add_argument("--quick", action="store_true", help="small, one round")
    parser.add_argument(
        "--again",
        action="store_true",
        dest="keeps_results",
        help="keep complete results, and run only missing benchmarks",
    )
    parser.add_argument("--output", type=Path, default=PAGE, help="folder of the page")
    arguments = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    names = arguments.name or [*BENCHES]
    if unknown := set(names) - BENCHES.keys():
        parser.error(f"unknown benchmarks: {', '.join(sorted(unknown))}. Use {', '.join(BENCHES)}")
    if not arguments.keeps_results:
        for name in names:
            result_path(name).unlink(missing_ok=True)
    missing = [name for name in names if not has_result(name, is_quick=arguments.quick)]
    failed = [name for name in missing if not run(name, is_quick=arguments.quick)]
    results = [
        BenchResult.read(result_path(name)) for name in BENCHES if result_path(name).exists()
    ]
    write_page(results, arguments.output)
    sys.exit(f"Failed benchmarks (see their output above): {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
