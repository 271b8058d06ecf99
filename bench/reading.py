"""Reading beside the bare engine, OCRmyPDF, pypdf and itself, in turn and in one run.

`python -m bench.reading [--quick] [--only PART ...]`; what it measures is in docs/benchmarks. Every
side is a process of its own, and every process that it starts is counted. `--hostile FOLDER` adds
files to those that mean no good.
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

from bench import rivals
from bench.accuracy import CLEAN, NOISY, TEXT_LAYER
from bench.hostile import hostile
from bench.papers import papers
from bench.plain import has_text
from bench.process import Used, run_counted
from bench.report import Row, beside, not_measured, program, tell
from bench.scans import decoded, joined, repeated, scans
from bench.signed import signed
from bench.turns import in_turn
from ingestion.reading import tasks
from ingestion.reading.limits import ReadingLimits
from samples.pages import PAGES

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"  # real documents, where they are at hand
NO_CORPUS = "the corpus is absent"
MEANS_NO_GOOD = {"hostile", "corrupt", "encrypted"}  # kinds of the corpus
ONE_THREAD = {"OMP_THREAD_LIMIT": "1"}  # of tesseract, on every side
SEED = "reading"
PACKET = ("office", "clean", "office", "fax")  # kinds of its pages, over and over
CAP = 200  # dpi
LONG, SHORT = 24, 6  # pages of the one long scan in a mixed packet, and documents of one beside it
INNOCENTS, SCANNED = 40, 8  # good documents among hostile ones, and how many of these are scans
OWN = 120  # born-digital documents of our own: twelve packets
SIGNED, MANY_ROUNDS = 10, 9  # documents that are signed, and rounds in which they are read
MOST_FOR_SIGNATURES = 150.0  # ms of processor time for a document, after imports
DIFFERENT = 20  # pages of a scan of hundreds

OURS, CAPPED, BARE, OCRMYPDF = "ours", f"ours at {CAP} dpi", "the bare engine", "OCRmyPDF"
WHOLE, PYPDF = "ours, a task for each document", "pypdf in two processes"
LOOP = "a plain pypdf loop"


@dataclass(frozen=True, slots=True)
class Size:
    rounds: int
    packet: int  # pages that every engine reads
    copies: int  # of each born-digital file
    long: int  # pages of the scan whose memory is weighed
    words: int  # pages of each kind
    fields: int  # documents of each kind
    page_seconds: float  # that a hostile page may take


QUICK = Size(rounds=1, packet=8, copies=1, long=24, words=3, fields=10, page_seconds=15.0)
FULL = Size(rounds=3, packet=16, copies=2, long=200, words=6, fields=30, page_seconds=15.0)


class Bench:
    """Owns a temporary folder, and in it one for each set of files."""

    def __init__(self, folder: Path, size: Size, more_hostile: Path | None) -> None:
        self._folder = folder
        self.size = size
        self.more_hostile = more_hostile

    def folder(self, name: str, files: Mapping[str, bytes]) -> Path:
        folder = self._folder / name
        folder.mkdir()
        for file, content in files.items():
            (folder / file).write_bytes(content)
        return folder

    def side(self, name: str, folder: Path, *options: str, weighed: bool = False) -> Used:
        return self.run("-m", "bench.sides", name, str(folder), *options, weighed=weighed)

    def accuracy(self, *arguments: str) -> Mapping[str, Mapping[str, float]]:
        found: dict[str, dict[str, float]] = json.loads(
            self.run("-m", "bench.accuracy", *arguments).output
        )
        return found

    def run(self, *arguments: str, weighed: bool = False) -> Used:
        return self.run_command([sys.executable, *arguments], weighed=weighed)

    def run_command(self, command: Sequence[str], *, weighed: bool = False) -> Used:
        used = run_counted(command, weighed=weighed, **ONE_THREAD)
        load = os.getloadavg()[0]
        said = " ".join(command[1:])
        sys.stderr.write(f"{said}: {used.wall:.1f} s, CPU {used.cpu:.1f} s, load {load:.1f}\n")
        return used


def engines(bench: Bench) -> Iterator[Row]:
    """One scanned packet, by the bare engine, by ours at two resolutions, and by OCRmyPDF."""
    size = bench.size
    content = joined(_pages(size.packet))
    packet = bench.folder("packet", {"packet.pdf": content})
    pictures = bench.folder("pictures", decoded(packet / "packet.pdf"))
    sides: dict[str, Callable[[], Used]] = {
        BARE: partial(bench.side, "bare", pictures),
        OURS: partial(bench.side, "ours", packet),
        CAPPED: partial(bench.side, "ours", packet, "--dpi", str(CAP)),
    }
    if rivals.OCRMYPDF.exists():
        command = rivals.ocrmypdf(bench.folder("rival", {"packet.pdf": content}) / "packet.pdf")
        sides[OCRMYPDF] = partial(bench.run_command, command)
    runs = in_turn(size.packet, size.rounds, sides)
    yield runs.cpu("OCR: processor", OURS, BARE, most=1.15)
    for side, least in ((OURS, 1.5), (CAPPED, 2.0)):
        what = f"OCR: {side}"
        if OCRMYPDF in sides:
            yield runs.faster(what, side, OCRMYPDF, least=least)
        else:
            yield not_measured(what, rivals.ABSENT)


def born_digital(bench: Bench) -> Iterator[Row]:
    """Files with a text layer, end to end, beside pypdf in a pool: real ones, and our own."""
    own = {f"{n:03}.pdf": paper.content for n, paper in enumerate(papers(OWN, SEED))}
    packet = dict(islice(own.items(), len(PAGES)))
    real = {name: file for name, file in _of_corpus({"born-digital"}).items() if has_text(file)}
    if real:  # without those in which pypdf finds nothing, and we go on to OCR
        both = {**real, **packet}
        yield from _born_digital(bench, "real files and a packet of ours", both, least=4)
    else:
        yield not_measured("born digital, real files", NO_CORPUS)
    yield from _born_digital(bench, "packets of ours alone", own, least=4)


def _born_digital(
    bench: Bench, what: str, files: Mapping[str, bytes], **more: Any
) -> Iterator[Row]:
    times = range(bench.size.copies)
    copies = {f"{n}-{name}": content for n in times for name, content in files.items()}
    folder = bench.folder(what.replace(" ", "-"), copies)
    sides: dict[str, Callable[[], Used]] = {
        LOOP: partial(bench.side, "loop", folder),
        PYPDF: partial(bench.side, "usual", folder),
        OURS: partial(bench.side, "ours", folder),
    }
    pages = sum(_pages_of(content) for content in copies.values())
    runs = in_turn(pages, bench.size.rounds, sides)
    yield runs.faster(f"born digital, {what}", OURS, PYPDF, **more)
    yield runs.faster("the same", OURS, LOOP)


def page_tasks(bench: Bench) -> Iterator[Row]:
    """A mixed packet, by page tasks and by document tasks."""
    pages = _pages(LONG + SHORT)
    packet = {"0.pdf": joined(pages[:LONG])}  # arrives first, which is kind to document tasks
    packet |= {f"{n}.pdf": page for n, page in enumerate(pages[LONG:], start=1)}
    folder = bench.folder("mixed", packet)
    sides = {
        WHOLE: partial(bench.side, "ours", folder, "--whole"),
        OURS: partial(bench.side, "ours", folder),
    }
    runs = in_turn(LONG + SHORT, bench.size.rounds, sides)
    yield runs.faster("a mixed packet by page tasks", OURS, WHOLE, least=1.4)


def words(bench: Bench) -> Iterator[Row]:
    corpus = [str(CORPUS)] if CORPUS.exists() else []
    for group, seen in bench.accuracy("words", str(bench.size.words), *corpus).items():
        least = 1.0 if group == "photo" else 0.995
        what, note = f"words of {group} pages", f"{seen['pages']} pages"
        plain = ("the plain grey page", [seen["plain"]])
        yield beside(what, "F1", [seen["ours"]], *plain, least=least, note=note)
    if not corpus:
        yield not_measured("words of real pages", NO_CORPUS)


def fields(bench: Bench) -> Iterator[Row]:
    """Nothing is expected of the text layer: it is what scans are measured by."""
    found = dict(bench.accuracy("fields", str(bench.size.fields)))
    text = found.pop(TEXT_LAYER)
    for group, least in ((CLEAN, 0.98), (NOISY, 0.9)):
        seen = found[group]
        expected, sure = seen["expected"], seen["wrong_and_sure"]
        own: dict[str, Any] = {
            "against": "the text layer",
            "baseline": text["exact"] / text["expected"],
        }
        note = f"{seen['exact']} of {expected}, {seen['documents']} documents"
        exact = seen["exact"] / expected
        yield Row(what=f"values read exactly, {group}", ours=exact, least=least, note=note, **own)
        what, note = (
            f"values wrong without a doubt, {group}",
            f"read wrongly in all: {seen['wrong']}",
        )
        own["baseline"] = 100 * text["wrong_and_sure"] / text["expected"]
        yield Row(what=what, unit="%", ours=100 * sure / expected, most=1, note=note, **own)


def signatures(bench: Bench) -> Iterator[Row]:
    """Processor time of reading signed documents, beside the same unsigned, in this process."""
    contents = [paper.content for paper in papers(SIGNED, SEED)]
    plain = bench.folder("unsigned", {f"{n}.pdf": each for n, each in enumerate(contents)})
    for times in (1, 3):
        named = {f"{n}.pdf": signed(each, times=times) for n, each in enumerate(contents)}
        folder = bench.folder(f"signed-{times}", named)
        _seconds_to_read(folder)  # what is imported once
        both = [(_seconds_to_read(folder), _seconds_to_read(plain)) for _ in range(MANY_ROUNDS)]
        ours, baseline = ([1_000 * seconds for seconds in side] for side in zip(*both, strict=True))
        most = median(baseline) + MOST_FOR_SIGNATURES if times == 1 else None
        what = f"a document with {times} digital signature{'s' * (times > 1)}"
        more: dict[str, Any] = {"of_ours": True, "most": most, "note": "after imports"}
        yield beside(what, "ms of processor", ours, "unsigned", baseline, **more)


def _seconds_to_read(folder: Path) -> float:
    """Of processor time, for one document of these."""
    paths = sorted(folder.glob("*.pdf"))
    before = time.process_time()
    for path in paths:
        tasks.probe_document(path, path.with_suffix(".rewritten"), ReadingLimits())
    return (time.process_time() - before) / len(paths)


def memory(bench: Bench) -> Iterator[Row]:
    """Of a long scan and of one page, with all children."""
    different = _pages(min(DIFFERENT, bench.size.long), ("noisy",))
    long = repeated(joined(different), bench.size.long // len(different))
    used = []
    for name, content in (("one-page", different[0]), ("long", long)):
        folder = bench.folder(name, {"scan.pdf": content})
        used.append(bench.side("ours", folder, weighed=True))
    few, many = used
    what, one_page = f"memory with a scan of {bench.size.long} pages", "with one page"
    yield beside(what, "MB", [many.peak / 1e6], one_page, [few.peak / 1e6], most=1.6)
    what = "the same, memory that processes share shared out among them"
    yield beside(what, "MB", [many.share / 1e6], one_page, [few.share / 1e6])


def survival(bench: Bench) -> Iterator[Row]:
    """Good documents among files that mean no good, and the same by themselves."""
    bad = {**hostile(), **_of_corpus(MEANS_NO_GOOD)}
    if bench.more_hostile:
        bad |= {path.name: path.read_bytes() for path in bench.more_hostile.iterdir()}
    scanned = _pages(SCANNED)
    good = [*scanned, *(paper.content for paper in papers(INNOCENTS - len(scanned), SEED))]
    alone = {f"{n:02}-good.pdf": content for n, content in enumerate(good)}
    mixed = alone | {f"{n % INNOCENTS:02}-{name}": bad[name] for n, name in enumerate(sorted(bad))}
    patience = ["--page-seconds", str(bench.size.page_seconds)]
    theirs = bench.side("ours", bench.folder("innocents", alone), *patience)
    used = bench.side("ours", bench.folder("hostile", mixed), *patience)
    what = f"good documents read among {len(bad)} hostile files"
    if not CORPUS.exists():
        what += f" ({NO_CORPUS})"
    own: dict[str, Any] = {"against": "by themselves", "baseline": _read(theirs, alone)}
    note = f"in {used.wall:.0f} s; by themselves {theirs.wall:.0f} s"
    yield Row(what=what, ours=_read(used, alone), least=len(good), note=note, **own)
    own["baseline"] = theirs.orphans
    yield Row(what="processes left after them", ours=used.orphans, most=0, **own)


def _read(used: Used, good: Iterable[str]) -> int:
    """How many of these were read, every page of them."""
    seen = json.loads(used.output)
    lost = [name for name in good if seen[name]["unread"] or not seen[name]["pages"]]
    for name in lost:
        sys.stderr.write(f"{name}: {seen[name]}\n")
    return len(seen.keys() & set(good)) - len(lost)


def _pages(count: int, kinds: Sequence[str] = PACKET) -> list[bytes]:
    """Scanned pages of these kinds, taken in turn."""
    each = [scans(kind, -(-count // len(kinds)), f"{SEED} {n}") for n, kind in enumerate(kinds)]
    return [next(each[n]).content for n in islice(cycle(range(len(kinds))), count)]


def _pages_of(content: bytes) -> int:
    with pikepdf.open(io.BytesIO(content)) as document:
        return len(document.pages)


def _of_corpus(kinds: set[str]) -> Mapping[str, bytes]:
    if not CORPUS.exists():
        return {}
    rows = json.loads((CORPUS / "manifest.json").read_text())
    return {
        row["file"]: (CORPUS / row["file"]).read_bytes() for row in rows if row["kind"] in kinds
    }


PARTS = {
    each.__name__.replace("_", "-"): each
    for each in (engines, born_digital, page_tasks, words, fields, signatures, memory, survival)
}


def rows(asked: argparse.Namespace) -> Iterator[Row]:
    logging.disable()  # pypdf's opinion of every font
    size = QUICK if asked.quick else FULL
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as folder:
        bench = Bench(Path(folder), size, asked.hostile)
        for part in asked.only:
            yield from PARTS[part](bench)


if __name__ == "__main__":
    parser = program(__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS], metavar="PART")
    parser.add_argument("--hostile", type=Path, help="a folder of further hostile files")
    tell(rows, parser)
