"""Measures the processor time of a born-digital page, beside an earlier state of the rules.

`python -m bench.judging [--quick] [--baseline CHECKOUT]` reads and judges the same files with this
checkout and with the earlier one, in turn, round after round. Each side is one process, and its
first round, which imports the modules, does not count. By default, the earlier state is that of
EARLIER, which is taken from the repository. docs/benchmarks describes what is measured.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, Any, cast

from bench.documents.generated import make_documents
from bench.results.report import Row, compare, not_measured, program, run_benchmark
from samples.layouts import LAYOUTS, make_specimen

ROOT = Path(__file__).parents[1]
EARLIER = "ab8dfff4d382e015160e723203ec7cd9011f6b6d"  # before documents were divided and classified
CORPUS = ROOT.parent / "shared" / "corpus" / "real"  # real documents, if present
MAX_RATIO = 1.3
ROUNDS, QUICK_ROUNDS = 7, 2
DOCUMENTS, QUICK_DOCUMENTS = 60, 10  # of the sample corpus
SEED = "judging"

Measured = Sequence[tuple[float, int] | None]  # seconds and pages of each file


class JudgingSide:
    """A process that judges some files with the rules of a checkout, once for each `measure`."""

    def __init__(self, checkout: Path, files: Sequence[Path]) -> None:
        program = ROOT / "bench" / "sides" / "judging.py"
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(program), *map(str, files)],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self) -> Measured:
        """Judge all files, and return the processor time of each. Raises RuntimeError."""
        orders, results = cast(IO[str], self._process.stdin), cast(IO[str], self._process.stdout)
        orders.write("\n")
        orders.flush()
        line = results.readline()
        if not line:
            raise RuntimeError("a side of the measurement ended early")
        measured: Measured = json.loads(line)
        return measured

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def judge_in_turn(
    checkouts: Sequence[Path], files: Sequence[Path], rounds: int
) -> tuple[list[list[float]], int]:
    """Return the milliseconds of a page, by checkout and round, and the number of pages.

    Only files count that every checkout judges without OCR.
    """
    with ExitStack() as stack:
        sides = [stack.enter_context(closing(JudgingSide(each, files))) for each in checkouts]
        first = [side.measure() for side in sides]
        costs: list[list[float]] = [[] for _ in sides]
        for number in range(rounds):
            turn = list(zip(sides, costs, strict=True))
            for side, own in turn if number % 2 else turn[::-1]:
                judged = zip(side.measure(), *first, strict=True)
                own.append(_milliseconds([each for each, *all_ in judged if all(all_)]))
    pages = sum(both[0][1] for both in zip(*first, strict=True) if both[0] and all(both))
    return costs, pages


def _milliseconds(judged: Measured) -> float:
    """Return the mean processor time of a page."""
    known = [each for each in judged if each]
    return 1_000 * sum(seconds for seconds, _ in known) / sum(pages for _, pages in known)


def take_earlier_state(folder: Path) -> Path | None:
    """Write the files of EARLIER below a folder; None if the repository does not have it."""
    command = ["git", "archive", EARLIER, "ingestion", "audit", "sites", "samples"]
    archive = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    if archive.returncode:
        return None
    folder.mkdir()
    unpack = ["tar", "--extract", "--directory", str(folder)]  # `tarfile` is unsafe before 3.11.4
    subprocess.run(unpack, input=archive.stdout, check=True)
    return folder


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the benchmark."""
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as name:
        folder = Path(name)
        earlier = options.baseline or take_earlier_state(folder / "earlier")
        for what, files in _files(folder, is_quick=options.quick).items():
            if earlier is None:
                yield not_measured(what, f"the repository does not have commit {EARLIER[:8]}")
            elif not files:
                yield not_measured(what, "the corpus is absent")
            else:
                (ours, before), pages = judge_in_turn([ROOT, earlier], files, rounds)
                more: dict[str, Any] = {"maximum": MAX_RATIO, "note": f"{pages} pages"}
                yield compare(what, "ms of processor", ours, "before", before, **more)


def _files(folder: Path, *, is_quick: bool) -> Mapping[str, Sequence[Path]]:
    """Return the files of each row, by what it measures."""
    made = {
        f"sample-{number}.pdf": document.content
        for number, document in enumerate(
            make_documents(QUICK_DOCUMENTS if is_quick else DOCUMENTS, SEED)
        )
    }
    layouts = {
        f"{slug}-{layout}.pdf": make_specimen(slug, layout, 0).content
        for slug in LAYOUTS
        for layout in list(LAYOUTS[slug])[: 1 if is_quick else 2]
    }
    for file, content in {**made, **layouts}.items():
        (folder / file).write_bytes(content)
    return {
        "a page of the sample corpus": [folder / file for file in made],
        "a page of a specimen of each type": [folder / file for file in layouts],
        "a born-digital page of real documents": sorted(CORPUS.glob("*.pdf")),
    }


if __name__ == "__main__":
    parser = program(__doc__)
    parser.add_argument("--baseline", type=Path, help="a checkout of the earlier state")
    run_benchmark(rows, parser)
