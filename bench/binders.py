"""The division of binders: boundaries, whole binders, and divisions that are wrong though certain.

`python -m bench.binders [COUNT] [--end-to-end N]` divides the binders of `samples.binders` and
prints JSON. Every binder that is not divided rightly is named on stderr. Each different sheet is
read once, and the readings of sheets are assembled to readings of binders. They are kept in
var/bench/binders, because OCR of the scanned ones takes minutes. `--end-to-end N` also writes N
scanned binders, and reads and divides them as files.
"""

import argparse
import asyncio
import hashlib
import json
import pickle
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

from bench.sides import AT_ONCE
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import DocumentReading, MediaType, PageReading
from ingestion.rules.segmentation.parts import ProposedCut, propose_cut
from samples.binders import (
    Binder,
    Region,
    Sheet,
    make_sheet,
    plan_binders,
    write_binder,
)
from samples.renditions import make_scan

CACHE = Path(__file__).parents[1] / "var" / "bench" / "binders"
LIMITS = ReadingLimits(processes=AT_ONCE)

Place = tuple[int, Region | None]  # where a document begins


@dataclass(slots=True)
class Outcome:
    """How a group of binders was divided. The first page of a file is no boundary."""

    binders: int = 0
    documents: int = 0
    right_boundaries: int = 0
    found_boundaries: int = 0
    true_boundaries: int = 0
    right_binders: int = 0
    certain: int = 0
    wrong_though_certain: int = 0
    right_types: int = 0  # of documents with right pages

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall of the boundaries, from 0 to 1."""
        total = self.found_boundaries + self.true_boundaries
        return 2 * self.right_boundaries / total if total else 1.0

    def add(self, binder: Binder, cut: ProposedCut) -> bool:
        """Count a binder, and return whether each document has exactly its pages."""
        true = [(each.first, each.last, each.region) for each in binder.documents]
        found = [(each.first, each.last, each.region) for each in cut.parts]
        true_starts: set[Place] = {(first, region) for first, _, region in true[1:]}
        found_starts: set[Place] = {(first, region) for first, _, region in found[1:]}
        is_right = true == found
        types = {(part.first, part.last, part.region): part.type for part in cut.parts}
        self.binders += 1
        self.documents += len(true)
        self.right_boundaries += len(true_starts & found_starts)
        self.found_boundaries += len(found_starts)
        self.true_boundaries += len(true_starts)
        self.right_binders += is_right
        self.certain += cut.is_certain
        self.wrong_though_certain += cut.is_certain and not is_right
        self.right_types += sum(
            types.get((each.first, each.last, each.region)) == each.type
            for each in binder.documents
        )
        return is_right

    def as_json(self) -> dict[str, float]:
        return {
            **asdict(self),
            "boundaries_f1": round(self.f1, 4),
            "binders_right": round(self.right_binders / (self.binders or 1), 4),
        }


def measure(binders: Iterable[Binder]) -> dict[str, Outcome]:
    """Return the outcome of digital and of scanned binders. Unread sheets are read first."""
    binders = list(binders)
    pages = read_sheets(binders)
    outcomes = {"digital": Outcome(), "scanned": Outcome()}
    for binder in binders:
        cut = propose_cut(assemble(binder, pages))
        outcome = outcomes["scanned" if binder.is_scan else "digital"]
        if not outcome.add(binder, cut):
            _report(binder, cut)
    return outcomes


def assemble(binder: Binder, pages: Mapping[tuple[Sheet, bool], PageReading]) -> DocumentReading:
    """Return the reading of a binder from the readings of its sheets."""
    return DocumentReading(
        MediaType.PDF,
        tuple(
            replace(pages[sheet, binder.is_scan], number=number)
            for number, sheet in enumerate(binder.sheets, start=1)
        ),
    )


def read_sheets(binders: Iterable[Binder]) -> dict[tuple[Sheet, bool], PageReading]:
    """Return the readings of all different sheets, from the cache if they are there."""
    wanted = {(sheet, binder.is_scan) for binder in binders for sheet in binder.sheets}
    CACHE.mkdir(parents=True, exist_ok=True)
    paths, missing = {}, []
    for sheet, is_scan in sorted(wanted):
        content = make_sheet(sheet)
        digest = hashlib.sha256(content + (b"scan" if is_scan else b"")).hexdigest()
        paths[sheet, is_scan] = CACHE / f"{digest}.pickle"
        if not paths[sheet, is_scan].exists():
            content = make_scan(content, seed=digest) if is_scan else content
            missing.append((content, paths[sheet, is_scan]))
    asyncio.run(_read_missing(missing))
    return {key: pickle.loads(path.read_bytes()) for key, path in paths.items()}  # noqa: S301 - ours


async def _read_missing(missing: Sequence[tuple[bytes, Path]]) -> None:
    async def read(reader: Reader, content: bytes, target: Path) -> None:
        async with waiting:
            path = Path(folder) / f"{target.stem}.pdf"
            await asyncio.to_thread(path.write_bytes, content)
            reading = await reader.read(path, target.stem)
        if not isinstance(reading, DocumentReading):
            raise TypeError(f"a sheet cannot be read: {reading}")
        await asyncio.to_thread(target.write_bytes, pickle.dumps(reading.pages[0]))

    waiting = asyncio.Semaphore(AT_ONCE)
    with tempfile.TemporaryDirectory() as folder:
        async with Reader(LIMITS) as reader:
            await asyncio.gather(*(read(reader, *each) for each in missing))


def measure_end_to_end(binders: Iterable[Binder]) -> Outcome:
    """Return the outcome of binders that are written, read and divided as files."""
    outcome = Outcome()

    async def read_all() -> None:
        async with Reader(LIMITS) as reader:
            for binder in binders:
                path = Path(folder) / f"{binder.number}.pdf"
                await asyncio.to_thread(path.write_bytes, write_binder(binder))
                reading = await reader.read(path, str(binder.number))
                if not isinstance(reading, DocumentReading):
                    raise TypeError(f"a binder cannot be read: {reading}")
                cut = propose_cut(reading)
                if not outcome.add(binder, cut):
                    _report(binder, cut)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(read_all())
    return outcome


def _report(binder: Binder, cut: ProposedCut) -> None:
    """Name the documents that were missed and those that were found wrongly."""
    true = {(each.first, each.last, each.region): each.type for each in binder.documents}
    found = {(each.first, each.last, each.region): each.type for each in cut.parts}
    missed = {place: slug for place, slug in true.items() if place not in found}
    wrong = {place: slug for place, slug in found.items() if place not in true}
    certain = "CERTAIN, " if cut.is_certain else ""
    kind = "scanned" if binder.is_scan else "digital"
    sys.stderr.write(f"{certain}{kind} {binder.number}: missed {missed}, found {wrong}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--end-to-end", type=int, default=0, dest="end_to_end")
    options = parser.parse_args()
    found = measure(plan_binders(options.count))
    if options.end_to_end:
        scanned = (binder for binder in plan_binders(options.count) if binder.is_scan)
        found["end to end"] = measure_end_to_end(islice(scanned, options.end_to_end))
    print(json.dumps({name: each.as_json() for name, each in found.items()}, indent=1))


if __name__ == "__main__":
    main()
