"""Measures how files with several documents are divided: generated binders of 2 to 12 documents.

`python -m bench.binders [--quick]` composes binders of generated documents, born digital and
scanned, and compares the proposed divisions with the known ones. docs/benchmarks/reading.md
describes what is measured. The layouts of the binders are never used to fit the model of boundaries
(`bench.fit_boundaries`).

Pages are read independently of each other. So each document is read once, as a file of its own, and
the reading of a binder consists of the readings of its documents.
"""

import argparse
import io
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pikepdf

from bench.documents.type_examples import READINGS, read_files
from bench.results.report import Row, program, run_benchmark
from ingestion.core.file_parts import ONE_ABOVE_THE_OTHER, QUARTERS, SIDE_BY_SIDE, Region
from ingestion.reading.results import DocumentReading, MediaType, PageReading
from ingestion.rules.segmentation.parts import PagePart, ProposedCut, propose_cut
from samples.binders import place_four_on_a_sheet, place_one_above_the_other, place_side_by_side
from samples.layouts import LAYOUTS, OTHER, OTHER_LAYOUTS
from samples.layouts.longer import choose_part, make_longer_specimen
from samples.layouts.specimen import NOTICE
from samples.renditions import make_scan

MEASURED_PART, FITTED_PART = 0, 1  # of the layouts
BINDERS, QUICK_BINDERS = 200, 20
MIN_F1, MIN_RIGHT = 0.98, 0.92
MIN_DOCUMENTS, MAX_DOCUMENTS = 2, 12
# People's documents, which a binder has several times.
OF_PEOPLE = ("cv", "gcp-certificate", "medical-licence", "nih-biosketch", "financial-disclosure")
SEEDS = (1, 2, 3)  # sites whose documents are read born digital
SCANNED_SEEDS = (1,)  # sites whose documents are scanned and read with OCR
FITTED_SCANNED_SEEDS = (1, 2)  # the same, of the documents with which the model is fitted
SHEETS_PER_SEED = 24
REGIONS: Mapping[str, tuple[Region, ...]] = {  # of the documents on a sheet
    "side": SIDE_BY_SIDE,
    "above": ONE_ABOVE_THE_OTHER,
    "four": QUARTERS,
}
BLANK_BACKS = 0.12  # share of documents that were scanned with their empty backs
SHARED_SHEETS = 0.03  # share of the pieces of a binder that are sheets with several documents

Start = tuple[int, Region | None]  # the page of a file, and the part of it, where a document begins


@dataclass(frozen=True, slots=True)
class Piece:
    """A document, or a sheet with several, as it is put into a binder."""

    key: str
    slugs: tuple[str, ...]  # of its documents
    content: bytes
    starts: tuple[Start, ...] = ((1, None),)


@dataclass(frozen=True, slots=True)
class Binder:
    """The reading of a file with several documents, and where they begin."""

    reading: DocumentReading
    starts: tuple[Start, ...]


def make_pieces(part: int, seeds: Sequence[int]) -> Iterator[Piece]:
    """Yield all documents of a part of the layouts, and some sheets with several of them."""
    layouts = [
        (slug, layout)
        for slug, own in [*LAYOUTS.items(), (OTHER, OTHER_LAYOUTS)]
        for layout in own
        if choose_part(slug, layout) == part
    ]
    for seed in seeds:
        made = [
            Piece(
                f"{seed} {slug} {layout}", (slug,), make_longer_specimen(slug, layout, seed).content
            )
            for slug, layout in layouts
        ]
        yield from made
        yield from _make_sheets(made, random.Random(f"sheets {part} {seed}"))


def _make_sheets(pieces: Sequence[Piece], rng: random.Random) -> Iterator[Piece]:
    short = [piece for piece in pieces if _count_pages(piece.content) == 1]
    for number in range(SHEETS_PER_SEED):
        way = ("side", "above", "side", "four")[number % 4]
        chosen = rng.sample(short, 4 if way == "four" else 2)
        while len({piece.slugs for piece in chosen}) < len(chosen):
            chosen = rng.sample(short, len(chosen))
        contents = [piece.content for piece in chosen]
        if way == "four":
            content = place_four_on_a_sheet(contents)
        elif way == "side":
            content = place_side_by_side(*contents)
        else:
            content = place_one_above_the_other(*contents)
        key = f"sheet {way}: {', '.join(piece.key for piece in chosen)}"
        slugs = tuple(piece.slugs[0] for piece in chosen)
        yield Piece(key, slugs, content, tuple((1, region) for region in REGIONS[way]))


def _count_pages(content: bytes) -> int:
    with pikepdf.open(io.BytesIO(content)) as document:
        return len(document.pages)


def read_pieces(
    pieces: Sequence[Piece], *, is_scan: bool, readings: Path = READINGS
) -> dict[str, tuple[Piece, tuple[PageReading, ...]]]:
    """Return the pieces with their pages, by key. The folder `readings` keeps what was read."""
    readings.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for number, piece in enumerate(pieces):
            content = make_scan(piece.content, seed=piece.key) if is_scan else piece.content
            files[piece.key] = Path(folder, f"{number}.pdf")
            files[piece.key].write_bytes(content)
        found = read_files(files, readings)
    read = {}
    for piece in pieces:
        reading = found[piece.key]
        if not isinstance(reading, DocumentReading):
            raise TypeError(f"{piece.key} cannot be read: {reading}")
        read[piece.key] = piece, tuple(_without_notice(page) for page in reading.pages)
    return read


def _without_notice(page: PageReading) -> PageReading:
    """Return a page without the notice that no real document has, unless it was misread."""
    notice = NOTICE.split()
    words, number = [], 0
    while number < len(page.words):
        if [word.text for word in page.words[number : number + len(notice)]] == notice:
            number += len(notice)
        else:
            words.append(page.words[number])
            number += 1
    lines = (line.replace(NOTICE, "").strip() for line in page.text.splitlines())
    return replace(page, words=tuple(words), text="\n".join(filter(None, lines)))


def compose_binders(
    read: Mapping[str, tuple[Piece, tuple[PageReading, ...]]], count: int, seed: str
) -> Iterator[Binder]:
    """Yield binders of these pieces. In most of them, all documents are of one site."""
    by_site: dict[str, list[str]] = {}
    for key, (piece, _) in read.items():
        if len(piece.slugs) == 1:
            by_site.setdefault(key.partition(" ")[0], []).append(key)
    sheets = [key for key, (piece, _) in read.items() if len(piece.slugs) > 1]
    people = [key for key, (piece, _) in read.items() if piece.slugs[0] in OF_PEOPLE]
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        own = by_site[rng.choice(sorted(by_site))]
        wanted = rng.randint(MIN_DOCUMENTS, MAX_DOCUMENTS)
        chosen: list[str] = []
        while (total := sum(len(read[key][0].slugs) for key in chosen)) < wanted:
            draw = rng.random()
            source = sheets if draw < SHARED_SHEETS else people if draw < 0.15 else own
            key = rng.choice(source)
            if key not in chosen and total + len(read[key][0].slugs) <= MAX_DOCUMENTS:
                chosen.append(key)
        yield bind([read[key] for key in chosen], rng)


def bind(pieces: Iterable[tuple[Piece, Sequence[PageReading]]], rng: random.Random) -> Binder:
    """Return a binder of these pieces, some of them with blank backs."""
    pages: list[PageReading] = []
    starts: list[Start] = []
    for piece, own in pieces:
        starts += ((len(pages) + page, region) for page, region in piece.starts)
        has_backs = rng.random() < BLANK_BACKS
        for page in own:
            pages.append(replace(page, number=len(pages) + 1))
            if has_backs:
                pages.append(_blank_page(page, len(pages) + 1))
    return Binder(DocumentReading(MediaType.PDF, tuple(pages)), tuple(starts))


def _blank_page(like: PageReading, number: int) -> PageReading:
    return PageReading(number, like.width, like.height, "", like.source, is_blank=True)


@dataclass(slots=True)
class BinderFigures:
    """Counts how binders were divided. The start of a file is no boundary."""

    binders: int = 0
    right: int = 0  # binders whose boundaries are all right, and no other
    wrong_and_certain: int = 0  # binders
    found: int = 0  # boundaries
    true: int = 0
    both: int = 0

    def add(self, true: Sequence[Start], cut: ProposedCut) -> None:
        """Count one binder."""
        places = [(part.first, part.region) for part in cut.parts]
        self.add_places(true, places, is_certain=cut.is_certain)

    def add_places(
        self, true: Sequence[Start], places: Sequence[Start], *, is_certain: bool
    ) -> None:
        """Count one binder with the starts that were found."""
        wanted, found = set(true[1:]), set(places[1:])
        self.binders += 1
        self.right += found == wanted
        self.wrong_and_certain += is_certain and found != wanted
        self.found += len(found)
        self.true += len(wanted)
        self.both += len(found & wanted)

    @property
    def f1(self) -> float:
        """Return the F1 score of the boundaries, from 0 to 1; 1 if there are none."""
        return 2 * self.both / (self.found + self.true) if self.found + self.true else 1.0


def measure(
    binders: Iterable[Binder], divide: Callable[[DocumentReading], ProposedCut]
) -> BinderFigures:
    """Return how a function divides some binders."""
    figures = BinderFigures()
    for binder in binders:
        figures.add(binder.starts, divide(binder.reading))
    return figures


def load_binders(
    part: int, count: int, *, is_scan: bool, readings: Path = READINGS
) -> list[Binder]:
    """Return binders of a part of the layouts. The pieces of a part are read once."""
    pieces = list(make_pieces(part, SCANNED_SEEDS if is_scan else SEEDS))
    read = read_pieces(pieces, is_scan=is_scan, readings=readings)
    return list(compose_binders(read, count, f"binders {part}"))


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each kind of binder."""
    count = QUICK_BINDERS if options.quick else BINDERS
    for is_scan in (False, True):
        binders = load_binders(MEASURED_PART, count, is_scan=is_scan)
        ours = measure(binders, propose_cut)
        each_page = measure(binders, _cut_before_each_page)
        kind = "scanned" if is_scan else "born digital"
        against, note = "a document on each page", f"{count} binders, {ours.true} boundaries"
        yield Row(
            what=f"boundaries, {kind}",
            unit="F1",
            ours=ours.f1,
            against=against,
            baseline=each_page.f1,
            of_ours=True,
            minimum=MIN_F1,
            note=note,
        )
        yield Row(
            what=f"whole binder right, {kind}",
            ours=ours.right / count,
            against=against,
            baseline=each_page.right / count,
            of_ours=True,
            minimum=MIN_RIGHT,
            note=f"{ours.right} of {count}",
        )
        yield Row(
            what=f"wrong without doubt, {kind}",
            ours=ours.wrong_and_certain,
            against=against,
            baseline=each_page.wrong_and_certain,
            of_ours=True,
            maximum=0,
            note="binders",
        )


def _cut_before_each_page(reading: DocumentReading) -> ProposedCut:
    return ProposedCut(tuple(PagePart(page.number, page.number) for page in reading.pages))


if __name__ == "__main__":
    run_benchmark(rows, program(__doc__))
