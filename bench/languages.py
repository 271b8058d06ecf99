"""Measures scans in other languages, beside Tesseract that is told the language, in one run.

`python -m bench.languages [--quick] [--language LANGUAGE ...] [--pages N] [--seeds SEED ...]` runs
it, and docs/benchmarks describes what it measures.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean

from bench.results.report import Row, program, run_benchmark
from bench.sides.languages import BY_CHARACTERS, ENGLISH, GROUPS, OURS, TOLD
from ingestion.reading.languages import NAMES

SEEDS = ("languages", "more languages")
PAGES, QUICK_PAGES = 100, 4  # of each language and seed
MIN_F1 = dict.fromkeys(("fra", "deu", "por", "jpn", "chi_sim"), 0.95)

Scores = Mapping[str, Sequence[float]]  # of each page, by side


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield two rows for each language and seed."""
    pages = options.pages or (QUICK_PAGES if options.quick else PAGES)
    for seed in options.seeds or (SEEDS[:1] if options.quick else SEEDS):
        for language in options.language or GROUPS:
            scores, identified = _measure(language, pages, seed)
            unit = "characters" if language in BY_CHARACTERS else "words"
            given, plain = mean(scores[TOLD]), mean(scores[ENGLISH])
            what = f"{NAMES[language]} scans, seed {seed}"
            yield Row(
                what=f"{what}: F1 of {unit}",
                ours=mean(scores[OURS]),
                against=TOLD,
                baseline=given,
                note=f"{pages} pages; with English data {plain:.3f}",
                minimum=MIN_F1.get(language),
            )
            yield Row(
                what=f"{what}: language identified",
                ours=identified,
                against="all pages",
                baseline=1.0,
                note=f"{pages} pages",
            )


def _measure(language: str, pages: int, seed: str) -> tuple[Scores, float]:
    """Return the scores of a language, and the share of pages whose language was identified."""
    command = [sys.executable, "-m", "bench.sides.languages", language, str(pages), seed]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(result.stdout)
    return found["scores"], found["identified"]


if __name__ == "__main__":
    parser = program(__doc__)
    parser.add_argument("--language", nargs="+", choices=GROUPS, metavar="LANGUAGE")
    parser.add_argument("--pages", type=int, help=f"of each language; default: {PAGES}")
    parser.add_argument("--seeds", nargs="+", help=f"default: {', '.join(SEEDS)}")
    run_benchmark(rows, parser)
