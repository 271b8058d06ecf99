"""Measures the accuracy of reading: how many words and values are read, and how many wrongly.

`python -m bench.sides.accuracy words COUNT [CORPUS]` compares our reading with that of the engine
on the plain grey page. It reports the mean F1 of the words, in any order, of COUNT pages of each
kind. `python -m bench.sides.accuracy fields COUNT` counts the values of COUNT documents of each
kind. Both print JSON. Every value that was not read exactly is named on stderr.
"""

import argparse
import asyncio
import importlib.util
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean

import numpy as np

from bench.documents.generated import BenchDocument, make_documents
from bench.documents.scans import make_scans, scan_document
from bench.sides.reading import AT_ONCE
from ingestion.reading.images.render import (
    PageRaster,
    choose_ocr_dpi,
    list_images,
    load_frame,
    render_page,
)
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.ocr.engines import get_engine
from ingestion.reading.ocr.second_engine.client import SecondEngine
from ingestion.reading.ocr.second_engine.launch import start_if_needed
from ingestion.reading.pdf.open_pdf import open_document
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import SUFFIXES, DocumentReading
from ingestion.rules.fields.values import MIN_SURE_CONFIDENCE

LIMITS = ReadingLimits(processes=AT_ONCE)
GROUPS = ("clean", "office", "fax", "photo")
TEXT_LAYER, CLEAN, NOISY = "text layer", "clean", "noisy"
ENGINE_SECONDS = 60.0  # for one page
EMPTY_PAGE = (320, 320)  # height and width in pixels
SEED = "accuracy"


def with_second_engine(limits: ReadingLimits) -> ReadingLimits:
    """Return the limits with the second OCR engine, if it is installed (`requirements-ocr.txt`).

    Wait until it is ready: on a busy machine, the first pages would be read without it.
    """
    if not importlib.util.find_spec("rapidocr"):
        return limits
    folder = Path(tempfile.gettempdir()) / f"bench-second-engine-{os.getuid()}"
    start_if_needed(folder)
    SecondEngine(folder, ENGINE_SECONDS).read_page(np.full(EMPTY_PAGE, 255, np.uint8))
    return replace(limits, second_engine=folder)


@dataclass(frozen=True, slots=True)
class Agreement:
    """The mean F1 of a group of pages, by our reading and by the engine on the plain page."""

    pages: int
    ours: float
    plain: float


@dataclass(frozen=True, slots=True)
class Values:
    """The number of values in a group's documents, by outcome."""

    documents: int
    expected: int
    exact: int
    wrong: int  # read as another value, or read where there is none
    wrong_and_sure: int  # of these, the ones with high confidence


def words(count: int, corpus: Path | None) -> dict[str, Agreement]:
    """Return the accuracy of words by group: kinds of scans, and the real pages of a corpus."""
    with tempfile.TemporaryDirectory() as name:
        groups = {group: _write_scans(group, count, Path(name)) for group in GROUPS}
        if corpus:
            truths = sorted((corpus / "gt").iterdir())
            groups["real"] = {corpus / path.stem: path.read_text().split() for path in truths}
        return {group: _measure_words(pages) for group, pages in groups.items()}


def _write_scans(group: str, count: int, folder: Path) -> dict[Path, Sequence[str]]:
    pages: dict[Path, Sequence[str]] = {}
    for number, scan in enumerate(make_scans(group, count, SEED)):
        path = folder / f"{group}-{number:03}.pdf"
        path.write_bytes(scan.content)
        pages[path] = scan.words
    return pages


def _measure_words(pages: Mapping[Path, Sequence[str]]) -> Agreement:
    with ProcessPoolExecutor(AT_ONCE) as processes:
        plain = list(processes.map(read_plain_page, pages))
    readings = asyncio.run(read_files(pages))
    ours = [reading.text.split() if reading else [] for reading in readings]
    truths = list(pages.values())
    return Agreement(
        len(pages), ours=mean(map(f1, ours, truths)), plain=mean(map(f1, plain, truths))
    )


def f1(read: Iterable[str], truth: Iterable[str]) -> float:
    """Return the F1 score, 0 to 1, of two bags of words."""
    one, other = Counter(read), Counter(truth)
    return 2 * (one & other).total() / ((one + other).total() or 1)


def read_plain_page(path: Path) -> list[str]:
    """Return the words that the engine reads from the unprocessed grey page."""
    raster = load_raster(path)
    found = get_engine(LIMITS.engine, LIMITS.languages).recognise(
        raster.grey, round(raster.dpi), ENGINE_SECONDS
    )
    return [word.text for word in found]


def load_raster(path: Path) -> PageRaster:
    """Return the grey image of the first page of a PDF, or of an image file."""
    if path.suffix != ".pdf":
        return load_frame(path, SUFFIXES[path.suffix], 1, LIMITS)
    with open_document(path) as pdf:
        page = pdf[0]
        return render_page(page, choose_ocr_dpi(page, list_images(page, LIMITS), LIMITS), LIMITS)


def fields(count: int) -> dict[str, Values]:
    """Return the accuracy of values by group: the text layer, and clean and noisy scans of it."""
    found = list(make_documents(count, SEED))
    return {group: _measure_values(group, found) for group in (TEXT_LAYER, CLEAN, NOISY)}


def _measure_values(group: str, found: Sequence[BenchDocument]) -> Values:
    with tempfile.TemporaryDirectory() as name:
        paths = []
        for number, document in enumerate(found):
            content = document.content
            if group != TEXT_LAYER:
                content = scan_document(content, group, f"{SEED} {number}")
            paths.append(Path(name) / f"{number:03}.pdf")
            paths[-1].write_bytes(content)
        readings = asyncio.run(read_files(paths, with_second_engine(LIMITS)))
    outcomes = Counter[str]()
    known = {name for document in found for name in document.values}
    for document, reading in zip(found, readings, strict=True):
        outcomes.update(_value_outcomes(group, document, reading, known))
    expected = sum(len(document.values) for document in found)
    exact, sure = outcomes["exact"], outcomes["sure"]
    return Values(len(found), expected, exact, outcomes["unsure"] + sure, sure)


def _value_outcomes(
    group: str, document: BenchDocument, reading: DocumentReading | None, known: Set[str]
) -> Iterator[str]:
    """Yield the outcome of each value: exact, missing, or wrong with high (sure) or low confidence.

    `known` are the names of fields whose true values are known. A document without such a field
    has no value, so that any value read for it is wrong.
    """
    read = document.fields(reading) if reading else {}
    for name in sorted({*document.values, *(known & read.keys())}):
        truth, value = document.values.get(name), read.get(name)
        if value is None:
            outcome = "missing"
        elif value.value == truth:
            outcome = "exact"
        else:
            outcome = "sure" if value.confidence >= MIN_SURE_CONFIDENCE else "unsure"
        if outcome != "exact":
            what = f"{value.value!r} ({value.confidence:.0f})" if value else "nothing"
            sys.stderr.write(f"{group}: {document.kind}: {name}: {truth!r} read as {what}\n")
        yield outcome


async def read_files(
    paths: Iterable[Path], limits: ReadingLimits = LIMITS
) -> list[DocumentReading | None]:
    """Return the readings of files, or None for a file that cannot be read."""
    async with Reader(limits) as reader:
        found = await asyncio.gather(*(reader.read(path, path.stem) for path in paths))
    return [each if isinstance(each, DocumentReading) else None for each in found]


def main() -> None:
    """Measure what the command line names, and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["words", "fields"])
    parser.add_argument("count", type=int)
    parser.add_argument("corpus", type=Path, nargs="?")
    options = parser.parse_args()
    found: Mapping[str, Agreement | Values]
    found = (
        words(options.count, options.corpus) if options.what == "words" else fields(options.count)
    )
    print(json.dumps({group: asdict(each) for group, each in found.items()}))


if __name__ == "__main__":
    main()
