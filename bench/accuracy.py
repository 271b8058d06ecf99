"""How much of what stands on a page is read, and how much of it wrongly.

`python -m bench.accuracy words COUNT [CORPUS]` compares our reading with the engine's on the plain
grey page: mean F1 of the words of so many pages of each kind, whatever their order.
`python -m bench.accuracy fields COUNT` counts the values of that many documents of each kind.
Both answer in JSON; every value that was not read as it stands is named on stderr.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

from bench.papers import Paper, papers
from bench.scans import scanned, scans
from bench.sides import AT_ONCE
from ingestion.reading.images.render import (
    PageRaster,
    list_images,
    load_frame,
    ocr_dpi,
    render_page,
)
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.ocr.engines import get_engine
from ingestion.reading.pdf.open_pdf import open_document
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import DocumentReading
from ingestion.rules.fields.extraction import MIN_SURE_CONFIDENCE

LIMITS = ReadingLimits(processes=AT_ONCE)
GROUPS = ("clean", "office", "fax", "photo")
TEXT_LAYER, CLEAN, NOISY = "text layer", "clean", "noisy"
SECONDS = 60.0  # of the engine, for one page
SEED = "accuracy"


@dataclass(frozen=True, slots=True)
class Agreement:
    """Mean F1 of a group of pages: of our reading, and of the plain grey page."""

    pages: int
    ours: float
    plain: float


@dataclass(frozen=True, slots=True)
class Values:
    """Of all values of a group's documents."""

    documents: int
    expected: int
    exact: int
    wrong: int  # another value than stands there, or one that does not
    wrong_and_sure: int


def words(count: int, corpus: Path | None) -> dict[str, Agreement]:
    with tempfile.TemporaryDirectory() as name:
        groups = {group: _written(group, count, Path(name)) for group in GROUPS}
        if corpus:
            truths = sorted((corpus / "gt").iterdir())
            groups["real"] = {corpus / path.stem: path.read_text().split() for path in truths}
        return {group: _agreement(pages) for group, pages in groups.items()}


def _written(group: str, count: int, folder: Path) -> dict[Path, Sequence[str]]:
    pages: dict[Path, Sequence[str]] = {}
    for number, scan in enumerate(scans(group, count, SEED)):
        path = folder / f"{group}-{number:03}.pdf"
        path.write_bytes(scan.content)
        pages[path] = scan.words
    return pages


def _agreement(pages: Mapping[Path, Sequence[str]]) -> Agreement:
    with ProcessPoolExecutor(AT_ONCE) as processes:
        plain = list(processes.map(read_plainly, pages))
    readings = asyncio.run(_read(pages))
    ours = [reading.text.split() if reading else [] for reading in readings]
    truths = list(pages.values())
    return Agreement(
        len(pages), ours=mean(map(f1, ours, truths)), plain=mean(map(f1, plain, truths))
    )


def f1(read: Iterable[str], truth: Iterable[str]) -> float:
    """Of two bags of words."""
    one, other = Counter(read), Counter(truth)
    return 2 * (one & other).total() / ((one + other).total() or 1)


def read_plainly(path: Path) -> list[str]:
    """The engine's words of a page as it is."""
    picture = _picture(path)
    found = get_engine(LIMITS.engine, LIMITS.languages).recognise(
        picture.grey, round(picture.dpi), SECONDS
    )
    return [token.text for token in found]


def _picture(path: Path) -> PageRaster:
    if path.suffix != ".pdf":
        return load_frame(path, 1, LIMITS)
    with open_document(path) as pdf:
        page = pdf[0]
        return render_page(page, ocr_dpi(page, list_images(page, LIMITS), LIMITS), LIMITS)


def fields(count: int) -> dict[str, Values]:
    found = list(papers(count, SEED))
    return {group: _values(group, found) for group in (TEXT_LAYER, CLEAN, NOISY)}


def _values(group: str, found: Sequence[Paper]) -> Values:
    with tempfile.TemporaryDirectory() as name:
        paths = []
        for number, paper in enumerate(found):
            content = paper.content
            if group != TEXT_LAYER:
                content = scanned(content, group, f"{SEED} {number}")
            paths.append(Path(name) / f"{number:03}.pdf")
            paths[-1].write_bytes(content)
        readings = asyncio.run(_read(paths))
    outcomes = Counter[str]()
    told = {name for paper in found for name in paper.values}
    for paper, reading in zip(found, readings, strict=True):
        outcomes.update(_outcomes(group, paper, reading, told))
    expected = sum(len(paper.values) for paper in found)
    exact, sure = outcomes["exact"], outcomes["sure"]
    return Values(len(found), expected, exact, outcomes["unsure"] + sure, sure)


def _outcomes(
    group: str, paper: Paper, reading: DocumentReading | None, told: Set[str]
) -> Iterator[str]:
    """For each value: exact, sure (of another value), unsure (of another value), or missing.

    `told`: the names that the truth speaks of; where it has none, any value is another one.
    """
    read = paper.fields(reading) if reading else {}
    for name in sorted({*paper.values, *(told & read.keys())}):
        stands, value = paper.values.get(name), read.get(name)
        if value is None:
            outcome = "missing"
        elif value.value == stands:
            outcome = "exact"
        else:
            outcome = "sure" if value.confidence >= MIN_SURE_CONFIDENCE else "unsure"
        if outcome != "exact":
            what = f"{value.value!r} ({value.confidence:.0f})" if value else "nothing"
            sys.stderr.write(f"{group}: {paper.kind}: {name}: {stands!r} read as {what}\n")
        yield outcome


async def _read(paths: Iterable[Path]) -> list[DocumentReading | None]:
    async with Reader(LIMITS) as reader:
        found = await asyncio.gather(*(reader.read(path, path.stem) for path in paths))
    return [each if isinstance(each, DocumentReading) else None for each in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["words", "fields"])
    parser.add_argument("count", type=int)
    parser.add_argument("corpus", type=Path, nargs="?")
    asked = parser.parse_args()
    found: Mapping[str, Agreement | Values]
    found = words(asked.count, asked.corpus) if asked.what == "words" else fields(asked.count)
    print(json.dumps({group: asdict(each) for group, each in found.items()}))


if __name__ == "__main__":
    main()
