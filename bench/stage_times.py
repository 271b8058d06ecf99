"""Measures the processor time of each stage of reading a page, beside the budget of the stage.

`python -m bench.stage_times [--quick]` reads generated scans of each kind, with a part of the
sample corpus and, if they are present, real documents. The budgets in
`ingestion.reading.reading_stages` follow from this distribution: they are at least ten times its
99th percentile.
"""

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import quantiles

from bench.documents.generated import make_documents
from bench.documents.scans import KINDS, make_scans
from bench.results.report import Row, program, run_benchmark
from ingestion.reading import reading_stages, tasks
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.merge import ProbedDocument
from ingestion.reading.reading_stages import STAGE_SECONDS, Stage

CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "real"  # real documents, if present
SCANS, QUICK_SCANS = 12, 2  # of each kind
DOCUMENTS, QUICK_DOCUMENTS = 60, 10  # of the sample corpus
REAL_DOCUMENTS, QUICK_REAL_DOCUMENTS = 125, 10
SEED = "stages"
# Without these limits, a page would end this process.
LIMITS = ReadingLimits(first_look_seconds=600.0, page_seconds=600.0)
MIN_RATIO = {Stage.OCR: 1.5}  # of the budget and the 99th percentile, which is 10 by default


class StageClock:
    """Adds up the processor time of each stage, with the help of the notes of the process."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str], float] = defaultdict(float)  # by page and stage
        self.document = ""
        self._note, self._since = b"", 0.0

    def note(self, content: bytes) -> None:
        """Take the place of `reading_stages._write_note`."""
        now = time.process_time()
        page, _, stage = self._note.decode().partition(" ")
        if stage:
            self.seconds[f"{self.document} {page}", stage] += now - self._since
        self._note, self._since = content, now
        reading_stages._WorkNote.content = content  # noqa: SLF001 - as the function that it replaces


def _read(path: Path, scratch: Path) -> None:
    probe = tasks.probe_document(path, scratch, LIMITS)
    if isinstance(probe, ProbedDocument) and probe.scans:
        for number in probe.scans:
            tasks.read_scans(probe.part([number]), LIMITS)


def _make_files(folder: Path, options: argparse.Namespace) -> Iterator[Path]:
    scans, documents, real = SCANS, DOCUMENTS, REAL_DOCUMENTS
    if options.quick:
        scans, documents, real = QUICK_SCANS, QUICK_DOCUMENTS, QUICK_REAL_DOCUMENTS
    for kind in KINDS:
        for number, scan in enumerate(make_scans(kind, scans, SEED)):
            path = folder / f"{kind} {number}.pdf"
            path.write_bytes(scan.content)
            yield path
    for number, document in enumerate(make_documents(documents, SEED)):
        path = folder / f"sample {number}.pdf"
        path.write_bytes(document.content)
        yield path
    if CORPUS.exists():
        yield from sorted(CORPUS.glob("*.pdf"))[:real]


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each stage."""
    clock = StageClock()
    reading_stages._write_note = clock.note  # noqa: SLF001 - there is no other place to measure
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in _make_files(folder, options):
            clock.document = path.name
            _read(path, folder / "rewritten.pdf")
    by_stage: dict[str, dict[str, float]] = defaultdict(dict)
    for (page, name_of_stage), spent in clock.seconds.items():
        by_stage[name_of_stage][page] = spent
    limits = ReadingLimits()
    budgets: Mapping[Stage, float] = {
        **dict.fromkeys(Stage, limits.page_seconds),
        Stage.LOOK: limits.first_look_seconds,
        Stage.OCR: limits.first_look_seconds,
        **STAGE_SECONDS,
    }
    for stage, budget in budgets.items():
        pages = by_stage[stage]
        if len(pages) < 2:
            continue
        slowest = max(pages, key=pages.__getitem__)
        yield Row(
            what=f"{stage}",
            unit="s of processor",
            ours=quantiles(pages.values(), n=100, method="inclusive")[-1],
            against="budget",
            baseline=budget,
            of_ours=True,
            maximum=round(budget / MIN_RATIO.get(stage, 10.0), 2),
            note=f"99th percentile of {len(pages)}; longest {pages[slowest]:.2f} s, {slowest}",
        )


if __name__ == "__main__":
    run_benchmark(rows, program(__doc__))
