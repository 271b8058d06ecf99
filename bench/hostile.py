"""Counts what becomes of hostile and damaged files, and of sound documents among them.

`python -m bench.hostile [--quick] [--both-engines] [--keep RESULT]` processes 1,990 hostile files
with 50 sound documents in one installation, and the same 50 documents by themselves.
docs/benchmarks describes what it measures.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.documents.generated import make_documents
from bench.documents.hostile import HOSTILE_KINDS, load_corpus_files, make_hostile_files
from bench.documents.mutations import make_damaged_files
from bench.installation import process
from bench.installation.environment import environment
from bench.results.report import Row, program, run_benchmark

FILES, QUICK_FILES = 1_990, 60
SOUND, QUICK_SOUND = 50, 6
SEED = "hostile"
MAX_HOLD_SECONDS, MAX_MEGABYTES = 30.0, 500.0


def _process(
    folder: Path, files: Mapping[str, bytes], settings: Mapping[str, str]
) -> Mapping[str, Any]:
    """Process files in an installation of their own with these settings."""
    packet = folder / "packet"
    packet.mkdir(parents=True)
    for name, content in files.items():
        (packet / name).write_bytes(content)
    data = folder / "data"
    data.mkdir()
    result = folder / "result.json"
    process.run("bench.sides.hostile", str(packet), str(result), **environment(data), **settings)
    outcome: Mapping[str, Any] = json.loads(result.read_text())
    return outcome


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of the benchmark."""
    count, sound = (QUICK_FILES, QUICK_SOUND) if options.quick else (FILES, SOUND)
    good = {f"sound-{n:02}.pdf": each.content for n, each in enumerate(make_documents(sound, SEED))}
    hostile = {**make_hostile_files(), **load_corpus_files(HOSTILE_KINDS)}
    hostile |= dict(make_damaged_files(count - len(hostile), SEED))
    settings = {"OCR_SECOND_ENGINE": "rapidocr" if options.both_engines else "none"}
    with tempfile.TemporaryDirectory(prefix="siteledger-bench-") as name:
        alone = _process(Path(name) / "alone", good, settings)
        mixed = _process(Path(name) / "mixed", hostile | good, settings)
    if options.keep:
        options.keep.write_text(json.dumps(mixed, indent=1))
    names = [Path(each).stem for each in good]
    own: dict[str, Any] = {"against": f"the {sound} sound documents alone"}
    engines = "both engines" if options.both_engines else "Tesseract alone"
    note = f"in {mixed['seconds']:.0f} s; alone {alone['seconds']:.0f} s; {engines}"
    yield Row(
        what=f"files of {len(hostile)} hostile and {sound} sound ones without a settled state",
        ours=mixed["unsettled"],
        baseline=alone["unsettled"],
        maximum=0,
        note=note,
        **own,
    )
    same = sum(
        (mixed["states"][each], mixed["codes"][each])
        == (alone["states"][each], alone["codes"][each])
        for each in names
    )
    yield Row(
        what="sound documents with the same outcome as alone",
        ours=same,
        baseline=sound,
        minimum=sound,
        **own,
    )
    yield Row(
        what="largest process",
        unit="MB",
        ours=mixed["largest"] / 1e6,
        baseline=alone["largest"] / 1e6,
        maximum=None if options.both_engines else MAX_MEGABYTES,
        **own,
    )
    yield Row(
        what="longest time for which a task kept a parser process",
        unit="s",
        ours=mixed["longest"],
        baseline=alone["longest"],
        maximum=MAX_HOLD_SECONDS,
        **own,
    )


if __name__ == "__main__":
    parser = program(__doc__)
    parser.add_argument("--keep", type=Path, metavar="RESULT", help="a file for the outcomes")
    parser.add_argument("--both-engines", action="store_true", help="read with RapidOCR, too")
    run_benchmark(rows, parser)
