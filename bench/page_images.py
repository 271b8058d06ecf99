"""Compares the reading of page images with Tesseract, OCRmyPDF and RapidOCR alone, in one run.

`python -m bench.page_images [--quick] [--group GROUP ...] [--pages N] [--seeds SEED ...]` runs it.
docs/benchmarks describes what it measures. Every group is read by all sides. With `--sides ours`,
the others are left out, to see the effect of a change quickly.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

from bench.results.report import Row, not_measured, program, run_benchmark
from bench.sides.page_images import GROUPS, OCRMYPDF, OURS, RAPIDOCR, REAL, TESSERACT

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"  # real documents, if present
NO_CORPUS = "the corpus is absent"
SEEDS = ("pictures", "more pictures")
PAGES, QUICK_PAGES = 100, 4  # of each group and seed
MIN_F1 = {REAL: 0.955, "photo": 0.99, "noisy": 0.99, "hard photo": 0.88, "fax": 0.975}
LIKE_CLEAN, MAX_LOSS = ("faint", "half faint", "inverted"), 0.01  # compared with clean pages
MAX_BELOW_BEST = 0.02
MIN_SHARE_NEAR_BEST = {REAL: 0.95}
RIVALS = (TESSERACT, OCRMYPDF, RAPIDOCR)

Scores = Mapping[str, Sequence[Mapping[str, float]]]  # of each page, by side


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield three rows for each group and seed."""
    pages = options.pages or (QUICK_PAGES if options.quick else PAGES)
    for seed in options.seeds or (SEEDS[:1] if options.quick else SEEDS):
        clean = None
        for group in options.group or GROUPS:
            if group == REAL and not CORPUS.exists():
                yield not_measured("real pages", NO_CORPUS)
            elif group != REAL or seed == (options.seeds or SEEDS)[0]:
                scores = _measure(group, pages, seed, options)
                own = mean(page["f1"] for page in scores[OURS])
                clean = own if group == "clean" else clean
                minima = {"f1": MIN_F1.get(group), "near": MIN_SHARE_NEAR_BEST.get(group)}
                if group in LIKE_CLEAN and clean is not None:
                    minima["f1"] = round(clean - MAX_LOSS, 4)
                yield from _compare(f"{group} pages, seed {seed}", scores, minima)


def _measure(group: str, pages: int, seed: str, options: argparse.Namespace) -> Scores:
    """Return the scores of a group. It is read in a process of its own."""
    command = [sys.executable, "-m", "bench.sides.page_images", group, str(pages), seed]
    command += [str(CORPUS)] if CORPUS.exists() else []
    command += ["--one-engine"] if options.one_engine else []
    result = subprocess.run(
        [*command, "--sides", *options.sides], check=True, stdout=subprocess.PIPE, text=True
    )
    scores: Scores = json.loads(result.stdout)
    return scores


def _compare(what: str, scores: Scores, minima: Mapping[str, float | None]) -> Iterator[Row]:
    """Yield the words, the characters and the pages that another side reads better.

    `minima` are those of the words ("f1") and of the share of pages that are near the best of the
    other sides ("near").
    """
    rivals = [side for side in RIVALS if side in scores]
    if not rivals:  # with `--sides ours`: a figure without a baseline is its own
        rivals = [OURS]
    count = f"{len(scores[OURS])} pages"
    for member, name, best in (("f1", "word F1", max), ("error_rate", "character error rate", min)):
        means = {side: mean(page[member] for page in pages) for side, pages in scores.items()}
        against = best(rivals, key=lambda side: means[side])
        others = ", ".join(f"{side} {means[side]:.3f}" for side in rivals)
        yield Row(
            what=f"{what}: {name}",
            ours=means[OURS],
            against=against,
            baseline=means[against],
            note=f"{count}; {others}",
            minimum=minima.get(member),
        )
    best_f1 = [max(scores[side][n]["f1"] for side in rivals) for n in range(len(scores[OURS]))]
    near = [
        page["f1"] >= best - MAX_BELOW_BEST
        for page, best in zip(scores[OURS], best_f1, strict=True)
    ]
    yield Row(
        what=f"{what}: share at most {MAX_BELOW_BEST} below the best of the others",
        ours=mean(near),
        against="all pages",
        baseline=1.0,
        minimum=minima["near"],
        note=f"{near.count(False)} of {count} below",
    )


if __name__ == "__main__":
    parser = program(__doc__)
    parser.add_argument("--group", nargs="+", choices=GROUPS, metavar="GROUP")
    parser.add_argument("--pages", type=int, help=f"of each group; default: {PAGES}")
    parser.add_argument("--seeds", nargs="+", help=f"default: {', '.join(SEEDS)}")
    sides = [OURS, *RIVALS]
    parser.add_argument("--sides", nargs="+", choices=sides, default=sides)
    parser.add_argument("--one-engine", action="store_true", help="ours reads with Tesseract alone")
    run_benchmark(rows, parser)
