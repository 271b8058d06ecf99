"""Ours beside the usual way, in turn and in one run, against the same sample portal.

`python -m bench.flow [--quick] [--output FILE]` prints Markdown: what it measures and what it found
is in docs/benchmarks.md. Each side runs in a process of its own, the portal in another.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from statistics import median

from bench import outcome, process
from bench.offer import UNLIMITED, Offer, Originals, real_documents, samples, write_offer
from bench.report import Measured, Report, write_report
from ingestion.samples.portal import Limit

PLAIN, OURS = "plain", "ours"
SAME, DURABLE = "plain, our reading", "plain, our reading, on disk"
LIMITED = Limit(2.0, 4)  # of one portal; all together stay below what either side can work off
SLOW = Limit(1.0, 1)
CORPUS = Path(__file__).parents[2] / "shared" / "corpus"  # real documents, where they are at hand
SLOW_DOCUMENTS = 20  # of each site: the slow one outlasts the others


@dataclass(frozen=True, slots=True)
class Size:
    sites: int
    documents: int  # of each site
    limited: int  # of each site, where the portals have limits
    rounds: int
    memory: tuple[int, int]  # documents in all


QUICK = Size(sites=10, documents=20, limited=8, rounds=1, memory=(100, 1000))
FULL = Size(sites=20, documents=50, limited=20, rounds=3, memory=(500, 5000))


@dataclass(frozen=True, slots=True)
class Scene:
    """What the portals allow and how often they fail; one limit for each site."""

    title: str
    limits: Sequence[Limit]
    documents: int
    faults: float = 0.0
    originals: Originals = samples


class Bench:
    """Owns a temporary folder, and a port that all offers name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = process.free_port()
        self._numbers = count(1)
        self._offers: dict[str, Offer] = {}

    def measure(self, scene: Scene, side: str, *options: str) -> Measured:
        """One run of one side, against a portal that knows nothing of the runs before."""
        offer = self._offer(scene)
        folder = self._folder / f"run-{next(self._numbers)}"
        folder.mkdir()
        result = folder / "outcome.json"
        environ = environment(folder)
        command, before = ["bench.plain", str(offer.directory), str(result), *options], 0.0
        if side == OURS:
            said = process.run("bench.ours", "register", str(offer.directory), **environ)
            command, before = ["bench.ours", "work", str(result), *options], float(said)
        with process.portal(offer.directory, self._port, scene.faults) as answers:
            peak = process.run_weighed(*command, log=folder / "log", **environ)
        seen = outcome.read(result)
        return Measured(
            scene.title, side, offer.documents, seen, before + seen.seconds, answers, peak
        )

    def _offer(self, scene: Scene) -> Offer:
        if scene.title not in self._offers:
            self._offers[scene.title] = write_offer(
                self._folder / f"offer-{len(self._offers)}",
                f"http://127.0.0.1:{self._port}",
                limits=scene.limits,
                documents=scene.documents,
                originals=scene.originals,
            )
        return self._offers[scene.title]


def environment(folder: Path) -> Mapping[str, str]:
    """The settings as they are shipped, on a database and folders of the run's own."""
    return {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATA_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder / 'bench.sqlite3'}",
        "SECRET_KEY": "only for a benchmark",
        "ALLOWED_HOSTS": "localhost",
        "LOG_LEVEL": "ERROR",
    }


def throughput(bench: Bench, size: Size) -> Iterator[Measured]:
    """Both sides in turn, at full speed and at the portals' speed, in good and in bad weather."""
    free, limited = [UNLIMITED] * size.sites, [LIMITED] * size.sites
    for _ in range(size.rounds):
        scene = Scene("no limits, no faults", free, size.documents)
        for side in (PLAIN, OURS):
            yield bench.measure(scene, side)
        yield replace(bench.measure(scene, PLAIN, "--same-reading"), side=SAME)
        durable = bench.measure(scene, PLAIN, "--same-reading", "--on-disk")
        yield replace(durable, side=DURABLE)
        if CORPUS.exists():
            real = real_documents(CORPUS)
            scene = Scene("the same, real documents", free, size.documents, originals=real)
            for side in (PLAIN, OURS):
                yield bench.measure(scene, side)
        for faults in (0.0, 0.3):
            scene = Scene(f"limits, {faults:.0%} faults", limited, size.limited, faults)
            for side in (PLAIN, OURS):
                yield bench.measure(scene, side)


def memory(bench: Bench, size: Size) -> list[Measured]:
    """Ours, with few documents waiting and with many."""
    scenes = [
        Scene(f"{documents} documents", [UNLIMITED] * 10, documents // 10)
        for documents in size.memory
    ]
    return [bench.measure(scene, OURS) for scene in scenes]


def fairness(bench: Bench, size: Size) -> Iterator[tuple[str, float]]:
    """(side, time of the fast sites beside a slow one, of their time alone), in turn.

    The slow one's documents come first: whoever takes work as it comes is held up by them.
    """
    fast = [UNLIMITED] * (size.sites - 1)
    alone = Scene("fast sites alone", fast, SLOW_DOCUMENTS)
    beside = Scene("beside a slow site", [SLOW, *fast], SLOW_DOCUMENTS)
    for _ in range(size.rounds):
        for side in (PLAIN, OURS):
            undisturbed = max(bench.measure(alone, side).outcome.finished.values())
            _slow, *others = sorted(bench.measure(beside, side).outcome.finished.items())
            yield side, max(seconds for _, seconds in others) / undisturbed


def watched(bench: Bench, size: Size) -> Mapping[str, float]:
    """What held ours' event loop for 50 ms, in bad weather."""
    scene = Scene("limits, 30% faults", [LIMITED] * size.sites, size.limited, 0.3)
    return bench.measure(scene, OURS, "--watched").outcome.slow


@contextmanager
def _bench() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as folder:
        yield Bench(Path(folder))


def _said(measured: Measured) -> Measured:
    seen = measured.outcome
    sys.stderr.write(
        f"{measured.scene}: {measured.side}: {measured.rate:.1f} documents/s, {seen.lost} lost\n"
    )
    return measured


def run(size: Size) -> Report:
    with _bench() as bench:
        runs = [_said(measured) for measured in throughput(bench, size)]
        few, many = map(_said, memory(bench, size))
        fair: dict[str, list[float]] = {}
        for side, ratio in fairness(bench, size):
            fair.setdefault(side, []).append(ratio)
        return Report(
            runs=runs,
            memory=(few, many),
            fairness={side: median(ratios) for side, ratios in fair.items()},
            slow=watched(bench, size),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small, one round: two minutes")
    parser.add_argument("--output", type=Path, help="write the Markdown to this file as well")
    asked = parser.parse_args()
    text = write_report(run(QUICK if asked.quick else FULL))
    sys.stdout.write(text)
    if asked.output:
        asked.output.write_text(text)


if __name__ == "__main__":
    main()
