"""Reading beside the bare engine, OCRmyPDF, pypdf and itself, in turn and in one run.

`python -m bench.reading [--quick] [--only PART ...] [--output FILE]` prints Markdown: what it
measures and what it found is in docs/benchmarks.md. Every side is a process of its own, and every
process that it starts is counted. `--hostile FOLDER` adds files to those that mean no good.
"""

import argparse
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from bench import rivals
from bench.accuracy import CLEAN, NOISY
from bench.figures import HEAD, Row, Runs, at_most, in_turn, not_measured
from bench.hostile import hostile
from bench.papers import papers
from bench.plain import has_text
from bench.process import Used, run_counted
from bench.report import machine
from bench.scans import decoded, joined, repeated, scans
from bench.sides import engine_name
from ingestion.samples.pages import PAGES

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"  # real documents, where they are at hand
NO_CORPUS = "the corpus is absent"
MEANS_NO_GOOD = {"hostile", "corrupt", "encrypted"}  # kinds of the corpus
ONE_THREAD = {"OMP_THREAD_LIMIT": "1"}  # of tesseract, on every side
SEED = "reading"
PACKET = ("office", "clean", "office", "fax")  # kinds of its pages, over and over
CAP = 200  # dpi
LONG, SHORT = 32, 8  # pages of the one long scan in a mixed packet, and documents of one beside it
INNOCENTS, SCANNED = 40, 8  # good documents among hostile ones, and how many of these are scans
OWN = 120  # born-digital documents of our own: twelve packets
DIFFERENT = 20  # pages of a scan of hundreds

OURS, CAPPED, BARE, OCRMYPDF = "ours", f"ours at {CAP} dpi", "the bare engine", "OCRmyPDF"
WHOLE, PYPDF = "ours, a task for each document", "pypdf"


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
FULL = Size(rounds=3, packet=32, copies=6, long=200, words=12, fields=60, page_seconds=30.0)


class Bench:
    """Owns a temporary folder, and in it one for each set of files."""

    def __init__(self, folder: Path, size: Size, more_hostile: Path | None) -> None:
        self._folder = folder
        self.size = size
        self.more_hostile = more_hostile
        self.runs: list[Runs] = []

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
    runs = in_turn(f"a packet of {size.packet} scanned pages", size.packet, size.rounds, sides)
    bench.runs.append(runs)
    yield at_most("OCR: our CPU, of the bare engine's on pictures", 1.15, runs.cpu(OURS, BARE))
    for side, bound in ((OURS, 1.5), (CAPPED, 2.0)):
        what = f"OCR: pages a minute of {side}, of OCRmyPDF's"
        if OCRMYPDF in sides:
            yield runs.faster(side, OCRMYPDF, bound, what)
        else:
            yield not_measured(what, rivals.ABSENT)


def born_digital(bench: Bench) -> Iterator[Row]:
    """Files with a text layer, end to end, beside pypdf in a pool: real ones, and our own."""
    own = {f"{n:03}.pdf": paper.content for n, paper in enumerate(papers(OWN, SEED))}
    packet = dict(islice(own.items(), len(PAGES)))
    real = {name: file for name, file in _of_corpus({"born-digital"}).items() if has_text(file)}
    if real:  # without those in which pypdf finds nothing, and we go on to OCR
        yield _born_digital(bench, "real files and a packet of ours", {**real, **packet})
    else:
        yield not_measured("born digital, real files", NO_CORPUS)
    yield replace(_born_digital(bench, "packets of ours alone", own), expected="", met=None)


def _born_digital(bench: Bench, what: str, files: Mapping[str, bytes]) -> Row:
    times = range(bench.size.copies)
    copies = {f"{n}-{name}": content for n in times for name, content in files.items()}
    folder = bench.folder(what.replace(" ", "-"), copies)
    sides: dict[str, Callable[[], Used]] = {
        PYPDF: partial(bench.side, "usual", folder),
        OURS: partial(bench.side, "ours", folder),
    }
    runs = in_turn(what, len(copies), bench.size.rounds, sides)
    return runs.faster(OURS, PYPDF, 4.0, f"born digital, {what}: speed, of pypdf alone")


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
    runs = in_turn("mixed packet", LONG + SHORT, max(1, bench.size.rounds - 1), sides)
    bench.runs.append(runs)
    yield runs.faster(OURS, WHOLE, 1.4, "a mixed packet by page tasks: speed, of document tasks")


def words(bench: Bench) -> Iterator[Row]:
    corpus = [str(CORPUS)] if CORPUS.exists() else []
    for group, seen in bench.accuracy("words", str(bench.size.words), *corpus).items():
        gained = seen["ours"] - seen["plain"]
        expected = "better" if group == "photo" else "at least -0.005"
        found = f"{gained:+.3f} ({seen['ours']:.3f}, {seen['plain']:.3f}; {seen['pages']} pages)"
        met = gained > 0 if group == "photo" else gained >= -0.005
        yield Row(f"word F1 of {group} pages, beyond the plain grey page's", expected, found, met)
    if not corpus:
        yield not_measured("word F1 of real pages", NO_CORPUS)


def fields(bench: Bench) -> Iterator[Row]:
    bounds = {CLEAN: 0.98, NOISY: 0.9}  # nothing is expected of the text layer: it is the reference
    for group, seen in bench.accuracy("fields", str(bench.size.fields)).items():
        documents, expected, exact = seen["documents"], seen["expected"], seen["exact"]
        wrong, sure = seen["wrong"], seen["wrong_and_sure"]
        bound = bounds.get(group)
        yield Row(
            f"values read exactly, {group}",
            f"at least {bound:g}" if bound else "",
            f"{exact / expected:.3f} ({exact} of {expected}, {documents} documents)",
            exact / expected >= bound if bound else None,
        )
        yield Row(
            f"values read wrongly without a doubt, {group}",
            "below 1 %" if bound else "",
            f"{sure / expected:.1%} ({sure}; read wrongly in all: {wrong})",
            sure / expected < 0.01 if bound else None,
        )


def memory(bench: Bench) -> Iterator[Row]:
    """Of a long scan and of one page, with all children."""
    different = _pages(min(DIFFERENT, bench.size.long), ("noisy",))
    long = repeated(joined(different), bench.size.long // len(different))
    used = []
    for name, content in (("one-page", different[0]), ("long", long)):
        folder = bench.folder(name, {"scan.pdf": content})
        used.append(bench.side("ours", folder, weighed=True))
    few, many = used
    what = f"memory with a scan of {bench.size.long} pages, of that with one page"
    aside = f" ({many.peak / 1e6:.0f} MB, {few.peak / 1e6:.0f} MB)"
    yield at_most(what, 1.6, [many.peak / few.peak], aside)
    found = f"{many.share / few.share:.2f} ({many.share / 1e6:.0f} MB, {few.share / 1e6:.0f} MB)"
    yield Row("the same, pages of memory that processes share shared out among them", "", found)


def survival(bench: Bench) -> Iterator[Row]:
    """Good documents among files that mean no good."""
    bad = {**hostile(), **_of_corpus(MEANS_NO_GOOD)}
    if bench.more_hostile:
        bad |= {path.name: path.read_bytes() for path in bench.more_hostile.iterdir()}
    scanned = _pages(SCANNED)
    good = [*scanned, *(paper.content for paper in papers(INNOCENTS - len(scanned), SEED))]
    mixed = {f"{n:02}-good.pdf": content for n, content in enumerate(good)}
    mixed |= {f"{n % INNOCENTS:02}-{name}": bad[name] for n, name in enumerate(sorted(bad))}
    folder = bench.folder("hostile", mixed)
    used = bench.side("ours", folder, "--page-seconds", str(bench.size.page_seconds))
    good_ones = [name for name in mixed if name.endswith("-good.pdf")]
    seen = json.loads(used.output)
    lost = [each for each in good_ones if seen[each]["unread"] or not seen[each]["pages"]]
    for name in lost:
        sys.stderr.write(f"{name}: {seen[name]}\n")
    done = len(good) - len(lost)
    what = f"good documents read among {len(bad)} hostile files"
    if not CORPUS.exists():
        what += f" ({NO_CORPUS})"
    found = f"{done} of {len(good)}, in {used.wall:.0f} s"
    yield Row(what, "all", found, done == len(good))
    yield Row("processes left after them", "0", str(used.orphans), used.orphans == 0)


def _pages(count: int, kinds: Sequence[str] = PACKET) -> list[bytes]:
    """Scanned pages of these kinds, taken in turn."""
    each = [scans(kind, -(-count // len(kinds)), f"{SEED} {n}") for n, kind in enumerate(kinds)]
    return [next(each[n]).content for n in islice(cycle(range(len(kinds))), count)]


def _of_corpus(kinds: set[str]) -> Mapping[str, bytes]:
    if not CORPUS.exists():
        return {}
    rows = json.loads((CORPUS / "manifest.json").read_text())
    return {
        row["file"]: (CORPUS / row["file"]).read_bytes() for row in rows if row["kind"] in kinds
    }


PARTS = {
    each.__name__.replace("_", "-"): each
    for each in (engines, born_digital, page_tasks, words, fields, memory, survival)
}


def run(parts: Sequence[str], size: Size, more_hostile: Path | None) -> Iterator[str]:
    yield f"Measured on {machine()}; {engine_name()}; load {os.getloadavg()[0]:.1f} before.\n\n"
    yield HEAD
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as folder:
        bench = Bench(Path(folder), size, more_hostile)
        for part in parts:
            yield from map(str, PARTS[part](bench))
        yield from map(str, bench.runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small, one round")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS], metavar="PART")
    parser.add_argument("--hostile", type=Path, help="a folder of further hostile files")
    parser.add_argument("--output", type=Path, help="write the Markdown to this file as well")
    asked = parser.parse_args()
    logging.disable()  # pypdf's opinion of every font
    lines = []
    for line in run(asked.only, QUICK if asked.quick else FULL, asked.hostile):
        sys.stdout.write(line)
        sys.stdout.flush()
        lines.append(line)
    if asked.output:
        asked.output.write_text("".join(lines))


if __name__ == "__main__":
    main()
