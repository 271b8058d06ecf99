"""Compares reading with the bare OCR engine, OCRmyPDF and pypdf, in one run.

`python -m bench.reading [--quick] [--only PART ...]` runs it, and docs/benchmarks describes what it
measures. Every side is a process of its own, and the time of every process that it starts is
counted. The sides take turns. `--hostile FOLDER` adds files to the hostile ones.
"""

import argparse
import io
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import pikepdf

from bench.documents.digital_signatures import sign
from bench.documents.generated import make_documents
from bench.documents.hostile import (
    CORPUS,
    HOSTILE_KINDS,
    load_corpus_files,
    make_hostile_files,
)
from bench.documents.scans import join, make_scans, render_pages, repeat_pages
from bench.installation.process import Used, run_counted
from bench.results.report import Row, compare, not_measured, program, run_benchmark
from bench.results.turns import in_turn
from bench.sides import rivals
from bench.sides.accuracy import CLEAN, NOISY, TEXT_LAYER
from bench.sides.plain import has_text
from ingestion.reading import tasks
from ingestion.reading.limits import ReadingLimits
from samples.pages import PAGES

NO_CORPUS = "the corpus is absent"
ONE_THREAD = {"OMP_THREAD_LIMIT": "1"}  # for Tesseract, on every side
SEED = "reading"
PACKET_KINDS = ("office", "clean", "office", "fax")  # of the pages of a packet, in turn
REDUCED_DPI = 200
# In a mixed packet: the pages of the long scan, and the number of documents of one page.
LONG_SCAN_PAGES, SHORT_DOCUMENTS = 24, 6
# Innocent documents among hostile ones, and how many of them are scans.
INNOCENT_DOCUMENTS, INNOCENT_SCANS = 40, 8
GENERATED_DOCUMENTS = 120  # born-digital ones: twelve packets
SIGNED_DOCUMENTS, SIGNATURE_ROUNDS = 10, 9
# Milliseconds of processor time for one document, after imports.
MAX_SIGNATURE_MILLISECONDS = 150.0
DIFFERENT_PAGES = 20  # of a scan of hundreds of pages, which repeats them

OURS, REDUCED, BARE, OCRMYPDF = "ours", f"ours at {REDUCED_DPI} dpi", "the bare engine", "OCRmyPDF"
WHOLE, PYPDF = "ours, a task for each document", "pypdf in two processes"
LOOP = "a plain pypdf loop"


@dataclass(frozen=True, slots=True)
class ReadingSize:
    """The size of a run."""

    rounds: int
    packet: int  # pages that each engine reads
    copies: int  # of each born-digital file
    long: int  # pages of the scan whose memory is measured
    words: int  # pages of each kind
    fields: int  # documents of each kind
    page_seconds: float  # of processor time for a hostile page


QUICK = ReadingSize(rounds=1, packet=8, copies=1, long=24, words=3, fields=10, page_seconds=15.0)
FULL = ReadingSize(rounds=3, packet=48, copies=2, long=200, words=6, fields=30, page_seconds=15.0)


class ReadingBench:
    """Runs the sides of a comparison, on files in folders of its temporary folder."""

    def __init__(self, folder: Path, size: ReadingSize, more_hostile: Path | None) -> None:
        self._folder = folder
        self.size = size
        self.more_hostile = more_hostile

    def folder(self, name: str, files: Mapping[str, bytes]) -> Path:
        """Write the files to a new folder and return it."""
        folder = self._folder / name
        folder.mkdir()
        for file, content in files.items():
            (folder / file).write_bytes(content)
        return folder

    def side(self, name: str, folder: Path, *options: str, weighed: bool = False) -> Used:
        """Run a side of `bench.sides.reading`. `weighed` also measures its memory."""
        return self.run("-m", "bench.sides.reading", name, str(folder), *options, weighed=weighed)

    def accuracy(self, *arguments: str) -> Mapping[str, Mapping[str, float]]:
        """Return the output of `bench.sides.accuracy`, by group."""
        found: dict[str, dict[str, float]] = json.loads(
            self.run("-m", "bench.sides.accuracy", *arguments).output
        )
        return found

    def run(self, *arguments: str, weighed: bool = False) -> Used:
        """Run Python with these arguments."""
        return self.run_command([sys.executable, *arguments], weighed=weighed)

    def run_command(self, command: Sequence[str], *, weighed: bool = False) -> Used:
        """Run a command and report its cost on stderr."""
        used = run_counted(command, weighed=weighed, **ONE_THREAD)
        load = os.getloadavg()[0]
        arguments = " ".join(command[1:])
        sys.stderr.write(f"{arguments}: {used.wall:.1f} s, CPU {used.cpu:.1f} s, load {load:.1f}\n")
        return used


def engines(bench: ReadingBench) -> Iterator[Row]:
    """Compare the bare engine, our reading at two resolutions, and OCRmyPDF on one packet."""
    size = bench.size
    content = join(_pages(size.packet))
    packet = bench.folder("packet", {"packet.pdf": content})
    pictures = bench.folder("pictures", render_pages(packet / "packet.pdf"))
    sides: dict[str, Callable[[], Used]] = {
        BARE: partial(bench.side, "bare", pictures),
        OURS: partial(bench.side, "ours", packet),
        REDUCED: partial(bench.side, "ours", packet, "--dpi", str(REDUCED_DPI)),
    }
    if rivals.OCRMYPDF.exists():
        command = rivals.ocrmypdf(bench.folder("rival", {"packet.pdf": content}) / "packet.pdf")
        sides[OCRMYPDF] = partial(bench.run_command, command)
    runs = in_turn(size.packet, size.rounds, sides)
    yield runs.cpu("OCR: processor", OURS, BARE, maximum=1.25)
    for side, minimum in ((OURS, 1.8), (REDUCED, 2.0)):
        what = f"OCR: {side}"
        if OCRMYPDF in sides:
            yield runs.faster(what, side, OCRMYPDF, minimum=minimum)
        else:
            yield not_measured(what, rivals.ABSENT)


def born_digital(bench: ReadingBench) -> Iterator[Row]:
    """Compare our reading with pypdf on files with a text layer: real and generated ones."""
    generated = {
        f"{n:03}.pdf": document.content
        for n, document in enumerate(make_documents(GENERATED_DOCUMENTS, SEED))
    }
    packet = dict(islice(generated.items(), len(PAGES)))
    real = {
        name: file for name, file in load_corpus_files({"born-digital"}).items() if has_text(file)
    }
    if real:  # without files in which pypdf finds no text, for which we use OCR
        both = {**real, **packet}
        yield from _compare_text(bench, "real files and a packet of ours", both, minimum=4)
    else:
        yield not_measured("born digital, real files", NO_CORPUS)
    yield from _compare_text(bench, "packets of ours alone", generated, minimum=4)


def _compare_text(
    bench: ReadingBench, what: str, files: Mapping[str, bytes], **more: Any
) -> Iterator[Row]:
    times = range(bench.size.copies)
    copies = {f"{n}-{name}": content for n in times for name, content in files.items()}
    folder = bench.folder(what.replace(" ", "-"), copies)
    sides: dict[str, Callable[[], Used]] = {
        LOOP: partial(bench.side, "loop", folder),
        PYPDF: partial(bench.side, "usual", folder),
        OURS: partial(bench.side, "ours", folder),
    }
    pages = sum(_count_pages(content) for content in copies.values())
    runs = in_turn(pages, bench.size.rounds, sides)
    yield runs.faster(f"born digital, {what}", OURS, PYPDF, **more)
    yield runs.faster("the same", OURS, LOOP)


def page_tasks(bench: ReadingBench) -> Iterator[Row]:
    """Compare page tasks with document tasks on a packet with long and short scans."""
    pages = _pages(LONG_SCAN_PAGES + SHORT_DOCUMENTS)
    packet = {"0.pdf": join(pages[:LONG_SCAN_PAGES])}  # arrives first, which favours document tasks
    packet |= {f"{n}.pdf": page for n, page in enumerate(pages[LONG_SCAN_PAGES:], start=1)}
    folder = bench.folder("mixed", packet)
    sides = {
        WHOLE: partial(bench.side, "ours", folder, "--whole"),
        OURS: partial(bench.side, "ours", folder),
    }
    runs = in_turn(LONG_SCAN_PAGES + SHORT_DOCUMENTS, bench.size.rounds, sides)
    yield runs.faster("a mixed packet by page tasks", OURS, WHOLE, minimum=1.4)


def words(bench: ReadingBench) -> Iterator[Row]:
    """Compare the accuracy of words with that of the engine on the plain grey page."""
    corpus = [str(CORPUS)] if CORPUS.exists() else []
    for group, found in bench.accuracy("words", str(bench.size.words), *corpus).items():
        minimum = 1.0 if group == "photo" else 0.995
        what, note = f"words of {group} pages", f"{found['pages']} pages"
        plain = ("the grey page without preparation", [found["plain"]])
        yield compare(what, "F1", [found["ours"]], *plain, minimum=minimum, note=note)
    if not corpus:
        yield not_measured("words of real pages", NO_CORPUS)


def fields(bench: ReadingBench) -> Iterator[Row]:
    """Compare the accuracy of values in scans with that in the text layer.

    There is no expectation for the text layer itself.
    """
    found = dict(bench.accuracy("fields", str(bench.size.fields)))
    text = found.pop(TEXT_LAYER)
    for group, minimum in ((CLEAN, 0.98), (NOISY, 0.9)):
        values = found[group]
        expected, sure = values["expected"], values["wrong_and_sure"]
        common: dict[str, Any] = {
            "against": "the text layer",
            "baseline": text["exact"] / text["expected"],
        }
        note = f"{values['exact']} of {expected}, {values['documents']} documents"
        exact = values["exact"] / expected
        yield Row(
            what=f"values read exactly, {group}", ours=exact, minimum=minimum, note=note, **common
        )
        what, note = (
            f"values wrong with high confidence, {group}",
            f"read wrongly in total: {values['wrong']}",
        )
        common["baseline"] = 100 * text["wrong_and_sure"] / text["expected"]
        yield Row(what=what, unit="%", ours=100 * sure / expected, maximum=1, note=note, **common)


def signatures(bench: ReadingBench) -> Iterator[Row]:
    """Compare the processor time of signed documents with that of the same without signatures."""
    contents = [document.content for document in make_documents(SIGNED_DOCUMENTS, SEED)]
    plain = bench.folder("unsigned", {f"{n}.pdf": each for n, each in enumerate(contents)})
    for times in (1, 3):
        named = {f"{n}.pdf": sign(each, times=times) for n, each in enumerate(contents)}
        folder = bench.folder(f"signed-{times}", named)
        _seconds_to_read(folder)  # this imports the modules
        both = [
            (_seconds_to_read(folder), _seconds_to_read(plain)) for _ in range(SIGNATURE_ROUNDS)
        ]
        ours, baseline = ([1_000 * seconds for seconds in side] for side in zip(*both, strict=True))
        maximum = median(baseline) + MAX_SIGNATURE_MILLISECONDS if times == 1 else None
        what = f"a document with {times} digital signature{'s' * (times > 1)}"
        more: dict[str, Any] = {"of_ours": True, "maximum": maximum, "note": "after imports"}
        yield compare(what, "ms of processor", ours, "unsigned", baseline, **more)


def _seconds_to_read(folder: Path) -> float:
    """Return the mean processor time in seconds for a document of the folder."""
    paths = sorted(folder.glob("*.pdf"))
    before = time.process_time()
    for path in paths:
        tasks.probe_document(path, path.with_suffix(".rewritten"), ReadingLimits())
    return (time.process_time() - before) / len(paths)


def memory(bench: ReadingBench) -> Iterator[Row]:
    """Compare the memory for a long scan with that for one page, of all processes."""
    different = _pages(min(DIFFERENT_PAGES, bench.size.long), ("noisy",))
    long = repeat_pages(join(different), bench.size.long // len(different))
    used = []
    for name, content in (("one-page", different[0]), ("long", long)):
        folder = bench.folder(name, {"scan.pdf": content})
        used.append(bench.side("ours", folder, weighed=True))
    few, many = used
    what, one_page = f"memory with a scan of {bench.size.long} pages", "with one page"
    yield compare(what, "MB", [many.peak / 1e6], one_page, [few.peak / 1e6], maximum=1.6)
    what = "the same, shared memory counted once"
    yield compare(what, "MB", [many.share / 1e6], one_page, [few.share / 1e6])


def survival(bench: ReadingBench) -> Iterator[Row]:
    """Compare innocent documents among hostile files with the same documents by themselves."""
    bad = {**make_hostile_files(), **load_corpus_files(HOSTILE_KINDS)}
    if bench.more_hostile:
        bad |= {path.name: path.read_bytes() for path in bench.more_hostile.iterdir()}
    scanned = _pages(INNOCENT_SCANS)
    good = [
        *scanned,
        *(document.content for document in make_documents(INNOCENT_DOCUMENTS - len(scanned), SEED)),
    ]
    alone = {f"{n:02}-good.pdf": content for n, content in enumerate(good)}
    mixed = alone | {
        f"{n % INNOCENT_DOCUMENTS:02}-{name}": bad[name] for n, name in enumerate(sorted(bad))
    }
    limit = ["--page-seconds", str(bench.size.page_seconds)]
    by_themselves = bench.side("ours", bench.folder("innocents", alone), *limit)
    used = bench.side("ours", bench.folder("hostile", mixed), *limit)
    what = f"good documents read among {len(bad)} hostile files"
    if not CORPUS.exists():
        what += f" ({NO_CORPUS})"
    own: dict[str, Any] = {
        "against": "alone",
        "baseline": _count_read(by_themselves, alone),
    }
    note = f"in {used.wall:.0f} s; alone {by_themselves.wall:.0f} s"
    yield Row(what=what, ours=_count_read(used, alone), minimum=len(good), note=note, **own)
    own["baseline"] = by_themselves.orphans
    yield Row(what="processes left after them", ours=used.orphans, maximum=0, **own)


def _count_read(used: Used, good: Iterable[str]) -> int:
    """Return how many of the documents were read completely."""
    found = json.loads(used.output)
    lost = [name for name in good if found[name]["unread"] or not found[name]["pages"]]
    for name in lost:
        sys.stderr.write(f"{name}: {found[name]}\n")
    return len(found.keys() & set(good)) - len(lost)


def _pages(count: int, kinds: Sequence[str] = PACKET_KINDS) -> list[bytes]:
    """Return scanned pages of these kinds, in turn."""
    each = [
        make_scans(kind, -(-count // len(kinds)), f"{SEED} {n}") for n, kind in enumerate(kinds)
    ]
    return [next(each[n]).content for n in islice(cycle(range(len(kinds))), count)]


def _count_pages(content: bytes) -> int:
    with pikepdf.open(io.BytesIO(content)) as document:
        return len(document.pages)


PARTS = {
    each.__name__.replace("_", "-"): each
    for each in (engines, born_digital, page_tasks, words, fields, signatures, memory, survival)
}


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the selected parts."""
    logging.disable()  # pypdf logs warnings about fonts
    size = QUICK if options.quick else FULL
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as folder:
        bench = ReadingBench(Path(folder), size, options.hostile)
        for part in options.only:
            yield from PARTS[part](bench)


if __name__ == "__main__":
    parser = program(__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS], metavar="PART")
    parser.add_argument("--hostile", type=Path, help="a folder of further hostile files")
    run_benchmark(rows, parser)
