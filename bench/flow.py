"""Compares our software with the usual design, in turns, with the same sample portal.

`python -m bench.flow [--quick]`; docs/benchmarks describes what it measures. Each side runs in its
own process, and so does the portal.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from bench.documents.served import (
    UNLIMITED,
    Originals,
    ServedDocuments,
    real_documents,
    samples,
    write_offer,
)
from bench.installation import process
from bench.installation.environment import environment
from bench.installation.process import Answers
from bench.results import outcome
from bench.results.report import Row, compare, program, run_benchmark
from samples.portal import SiteLimit

PLAIN, OURS = "plain", "ours"
SAME, DURABLE = "plain, our reading", "plain, our reading, on disk"
FREELY, REAL = "no limits, no faults", "the same, real documents"
EXPECTED = {(FREELY, OURS): 1.5, (REAL, OURS): 1.5}  # of plain's documents/s
LIMITED = SiteLimit(2.0, 4)  # of one portal; all together allow less than either side can process
SLOW = SiteLimit(1.0, 1)
CORPUS = Path(__file__).parents[2] / "shared" / "corpus"  # real documents, if available
SLOW_DOCUMENTS = 10  # of each site, so that the slow site takes longest


@dataclass(frozen=True, slots=True)
class FlowSize:
    """Describes the size of a run."""

    sites: int
    documents: int  # of each site
    limited: int  # of each site, with portal limits
    rounds: int
    memory: tuple[int, int]  # documents in all


QUICK = FlowSize(sites=10, documents=20, limited=8, rounds=1, memory=(100, 1000))
FULL = FlowSize(sites=20, documents=25, limited=10, rounds=3, memory=(500, 5000))


@dataclass(frozen=True, slots=True)
class Scene:
    """The limits and faults of the portals, with one limit for each site."""

    title: str
    limits: Sequence[SiteLimit]
    documents: int
    faults: float = 0.0
    originals: Originals = samples


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one side."""

    scene: str
    side: str
    documents: int
    outcome: outcome.RunOutcome
    seconds: float  # of processing, and for our side also of registering the documents
    answers: Answers
    peak: int  # bytes, of all processes of the side

    @property
    def rate(self) -> float:
        """Return the documents with a final record per second. A lost document does not count."""
        return (self.documents - self.outcome.lost) / self.seconds

    @property
    def lost(self) -> float:
        """Return the percentage of lost documents."""
        return 100 * self.outcome.lost / self.documents


class FlowBench:
    """Has a temporary folder, and a port that all offers name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = process.free_port()
        self._numbers = count(1)
        self._offers: dict[str, ServedDocuments] = {}

    def measure(self, scene: Scene, side: str, *options: str) -> Run:
        """Run one side once, with a newly started portal."""
        offer = self._offer(scene)
        folder = self._folder / f"run-{next(self._numbers)}"
        folder.mkdir()
        result = folder / "outcome.json"
        environ = environment(folder)
        command = ["bench.sides.plain", str(offer.directory), str(result), *options]
        registration = 0.0
        if side == OURS:
            output = process.run("bench.sides.shift", "register", str(offer.directory), **environ)
            command = ["bench.sides.shift", "work", str(result), *options]
            registration = float(output)
        with process.portal(offer.directory, self._port, scene.faults) as answers:
            peak = process.run_weighed(*command, log=folder / "log", **environ)
        done = outcome.read(result)
        seconds = registration + done.seconds
        return Run(scene.title, side, offer.documents, done, seconds, answers, peak)

    def _offer(self, scene: Scene) -> ServedDocuments:
        """Return the offer of a scene, which is written once."""
        if scene.title not in self._offers:
            self._offers[scene.title] = write_offer(
                self._folder / f"offer-{len(self._offers)}",
                f"http://127.0.0.1:{self._port}",
                limits=scene.limits,
                documents=scene.documents,
                originals=scene.originals,
            )
        return self._offers[scene.title]


def throughput(bench: FlowBench, size: FlowSize) -> Iterator[Run]:
    """Run both sides in turn, with and without portal limits, with and without faults."""
    free, limited = [UNLIMITED] * size.sites, [LIMITED] * size.sites
    for _ in range(size.rounds):
        scene = Scene(FREELY, free, size.documents)
        for side in (PLAIN, OURS):
            yield bench.measure(scene, side)
        yield replace(bench.measure(scene, PLAIN, "--same-reading"), side=SAME)
        durable = bench.measure(scene, PLAIN, "--same-reading", "--on-disk")
        yield replace(durable, side=DURABLE)
        if CORPUS.exists():
            real = real_documents(CORPUS)
            scene = Scene(REAL, free, size.documents, originals=real)
            for side in (PLAIN, OURS):
                yield bench.measure(scene, side)
        for faults in (0.0, 0.3):
            scene = Scene(f"limits, {faults:.0%} faults", limited, size.limited, faults)
            for side in (PLAIN, OURS):
                yield bench.measure(scene, side)


def memory(bench: FlowBench, size: FlowSize) -> Row:
    """Compare our memory with few and with many waiting documents."""
    scenes = [
        Scene(f"{documents:,} documents", [UNLIMITED] * 10, documents // 10)
        for documents in size.memory
    ]
    few, many = (_report(bench.measure(scene, OURS)) for scene in scenes)
    what = f"peak memory with {many.scene}"
    return compare(what, "MB", [many.peak / 1e6], few.scene, [few.peak / 1e6], maximum=1.1)


def fairness(bench: FlowBench, size: FlowSize) -> Iterator[Row]:
    """Compare the time of the fast sites beside a slow one with their time alone, in turn.

    The documents of the slow site come first. They block a design that takes work in order of
    arrival.
    """
    fast = [UNLIMITED] * (size.sites - 1)
    alone = Scene("fast sites alone", fast, SLOW_DOCUMENTS)
    beside_slow = Scene("beside a slow site", [SLOW, *fast], SLOW_DOCUMENTS)
    durations: dict[str, list[tuple[float, float]]] = {PLAIN: [], OURS: []}
    for _ in range(size.rounds):
        for side, pairs in durations.items():
            undisturbed = max(bench.measure(alone, side).outcome.finished.values())
            _slow, *others = sorted(bench.measure(beside_slow, side).outcome.finished.items())
            pairs.append((max(seconds for _, seconds in others), undisturbed))
    for side, pairs in durations.items():
        disturbed, baseline = zip(*pairs, strict=True)
        what = f"{len(fast)} fast sites beside one at 1 request/s: {side}"
        maximum = 1.15 if side == OURS else None
        yield compare(what, "s", disturbed, "without it", baseline, maximum=maximum)


def blocking(bench: FlowBench, size: FlowSize) -> Row:
    """Count the places that block the event loop for 50 ms, with injected faults."""
    scene = Scene("limits, 30% faults", [LIMITED] * size.sites, size.limited, 0.3)
    theirs, ours = (bench.measure(scene, side, "--watched").outcome.slow for side in (PLAIN, OURS))
    note = "; ".join(f"`{name}` {1000 * seconds:.0f} ms" for name, seconds in ours.items())
    what = f"{scene.title}: places that block the event loop for 50 ms"
    return compare(what, "", [len(ours)], PLAIN, [len(theirs)], maximum=0, of_ours=True, note=note)


def compare_with_plain(runs: Sequence[Run]) -> Iterator[Row]:
    """Compare each side of a scene with the plain design: speed and lost documents."""
    by_scene: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        by_scene.setdefault(run.scene, {}).setdefault(run.side, []).append(run)
    for scene, sides in by_scene.items():
        plain = sides.pop(PLAIN)
        for side, ours in sides.items():
            rates, plain_rates = [run.rate for run in ours], [run.rate for run in plain]
            peak = max(run.peak for run in ours) / 1e6
            note = f"{_count_refused(ours)} 429s, plain {_count_refused(plain)}; {peak:.0f} MB"
            minimum = EXPECTED.get((scene, side))
            what = f"{scene}: {side}"
            yield compare(
                what, "documents/s", rates, PLAIN, plain_rates, minimum=minimum, note=note
            )
        lost, lost_by_plain = [run.lost for run in sides[OURS]], [run.lost for run in plain]
        what = f"{scene}: documents lost"
        yield compare(what, "%", lost, PLAIN, lost_by_plain, maximum=0, of_ours=True)


def _count_refused(runs: Sequence[Run]) -> int:
    return sum(run.answers.get(429, 0) for run in runs)


def _report(run: Run) -> Run:
    """Print the result of a run, and return the run."""
    lost = run.outcome.lost
    sys.stderr.write(f"{run.scene}: {run.side}: {run.rate:.1f} documents/s, {lost} lost\n")
    return run


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the benchmark."""
    size = QUICK if options.quick else FULL
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as folder:
        bench = FlowBench(Path(folder))
        yield from compare_with_plain([_report(run) for run in throughput(bench, size)])
        yield memory(bench, size)
        yield from fairness(bench, size)
        yield blocking(bench, size)


if __name__ == "__main__":
    run_benchmark(rows, program(__doc__))
