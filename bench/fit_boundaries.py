"""Fits the model of boundaries, and writes it into the package.

`python -m bench.fit_boundaries fit` fits the model with generated binders, born digital and
scanned, whose layouts the benchmark `bench.binders` does not use, and with the real documents in
English of `../shared/corpus/real`, single and joined. `python -m bench.fit_boundaries unseen`
judges the real documents with models that were fitted without the institutions of these documents.
docs/segmentation.md describes the model.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

from bench.binders import (
    FITTED_PART,
    FITTED_SCANNED_SEEDS,
    OF_PEOPLE,
    SEEDS,
    Binder,
    BinderFigures,
    Piece,
    Start,
    bind,
    compose_binders,
    make_pieces,
    read_pieces,
)
from bench.documents.type_examples import CORPUS, READINGS, read_corpus
from ingestion.assessment.truth import Truth
from ingestion.reading.results import DocumentReading, MediaType, PageReading
from ingestion.rules.document_types import BOUNDARY_MODEL_FILE
from ingestion.rules.segmentation.boundary_model import BoundaryModel
from ingestion.rules.segmentation.document_starts import find_document_starts
from ingestion.rules.segmentation.page_comparison import compare_pages
from ingestion.rules.segmentation.page_evidence import (
    PageEvidence,
    collect_evidence,
    find_running_lines,
)
from ingestion.rules.segmentation.page_regions import cut_out

BINDERS, STAFF_BINDERS = 400, 100  # born digital
SCANNED_BINDERS, SCANNED_STAFF_BINDERS = 400, 100
REAL_BINDERS = 3  # joined files, for each real document
MAX_REAL_PAGES = 60  # of a joined file
MAX_REAL_DOCUMENTS = 6  # in one of them
TREES = 480
MAX_TREE_DEPTH = 3  # questions from the root to a leaf
LEARNING_RATE = 0.05  # share of the value of each tree that is added
MIN_LEAF_EXAMPLES = 12
EXAMPLE_SHARE, FEATURE_SHARE = 0.5, 0.3  # of all, drawn at random for each tree and each question
REAL_WEIGHT = 3  # of a real example; a generated one has 1
DOUBT_FROM = 0.06  # the probability of a start from which a file may be several documents
DIGITS = 5  # after the point, of the numbers that are stored
FOLDS = 5  # of the cross-validation


@dataclass(frozen=True, slots=True)
class BoundaryExample:
    """The features of a page after another one, and whether a document begins with it."""

    features: Mapping[str, float]
    begins: bool


@dataclass(frozen=True, slots=True)
class RealFile:
    """The reading of a real document, and the institution that it comes from."""

    name: str
    origin: str
    reading: DocumentReading


def examples_of(binders: Iterable[Binder]) -> Iterator[BoundaryExample]:
    """Yield an example for each page that the model judges, after the true starts before it."""
    for binder in binders:
        starts = {page for page, _ in binder.starts}
        shared = {page for page, region in binder.starts if region}
        running = find_running_lines(binder.reading.pages)
        earlier: list[PageEvidence] = []
        length = blanks = 0
        for page in binder.reading.pages:
            if page.is_blank and page.number > 1:
                blanks += 1
                continue
            if page.number in shared:
                yield from _reduced_examples(binder, page)
                earlier = []
            else:
                one = collect_evidence(page, running)
                begins = page.number in starts
                if earlier:
                    features = compare_pages(one, earlier, length=length, blanks=blanks)
                    yield BoundaryExample(features, begins)
                if begins or not earlier:
                    earlier, length = [], 0
                earlier.append(one)
            length += 1 + blanks
            blanks = 0


def _reduced_examples(binder: Binder, sheet: PageReading) -> Iterator[BoundaryExample]:
    """Yield an example for each document on a sheet after the one before it."""
    regions = [region for page, region in binder.starts if page == sheet.number and region]
    pages = [collect_evidence(cut_out(sheet, region)) for region in regions]
    for before, one in pairwise(pages):
        yield BoundaryExample(compare_pages(one, [before], length=1, blanks=0), begins=True)


def real_files(corpus: Path, readings: Path) -> list[RealFile]:
    """Return the real files in English with one document each, without very long ones."""
    bundles = {file.file for file in Truth.load(corpus / "truth.json").files if file.bundle}
    origins = {
        each["file"]: each["repo"] for each in json.loads((corpus / "truth.json").read_bytes())
    }
    return [
        RealFile(name, origins[name], reading)
        for name, reading in read_corpus(corpus, readings).items()
        if name not in bundles and 0 < len(reading.pages) <= MAX_REAL_PAGES
    ]


def single_files(files: Iterable[RealFile]) -> Iterator[Binder]:
    """Yield each file as a binder with one document."""
    for file in files:
        yield Binder(file.reading, ((1, None),))


def join_files(files: Sequence[RealFile], count: int, seed: str) -> Iterator[Binder]:
    """Yield files with several of these documents."""
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        chosen = rng.sample(files, min(rng.randint(2, MAX_REAL_DOCUMENTS), len(files)))
        yield join(file.reading for file in chosen)


def join(readings: Iterable[DocumentReading]) -> Binder:
    """Return the reading of one file with the pages of all readings."""
    pages: list[PageReading] = []
    starts: list[Start] = []
    for reading in readings:
        starts.append((len(pages) + 1, None))
        pages += [
            replace(page, number=number)
            for number, page in enumerate(reading.pages, len(pages) + 1)
        ]
    return Binder(DocumentReading(MediaType.PDF, tuple(pages)), tuple(starts))


def fit(generated: Sequence[BoundaryExample], real: Sequence[BoundaryExample]) -> dict[str, Any]:
    """Return the model of some examples, as it is stored."""
    examples = [*generated, *real]
    weights = np.array([1.0] * len(generated) + [REAL_WEIGHT] * len(real))
    names = sorted(examples[0].features)
    values = np.array([[example.features[name] for name in names] for example in examples])
    begins = np.array([example.begins for example in examples])
    fitted = GradientBoostingClassifier(
        n_estimators=TREES,
        max_depth=MAX_TREE_DEPTH,
        learning_rate=LEARNING_RATE,
        min_samples_leaf=MIN_LEAF_EXAMPLES,
        subsample=EXAMPLE_SHARE,
        max_features=FEATURE_SHARE,
        random_state=0,
    ).fit(values, begins, sample_weight=weights)
    share = np.average(begins, weights=weights)
    return {
        "examples": len(examples),
        "features": names,
        "base": round(float(np.log(share / (1 - share))), DIGITS),
        "trees": [_describe_tree(tree.tree_, 0) for (tree,) in fitted.estimators_],
        "doubt_from": DOUBT_FROM,
    }


def _describe_tree(tree: Any, node: int) -> Any:
    if tree.children_left[node] < 0:
        return round(LEARNING_RATE * float(tree.value[node][0][0]), DIGITS)
    return [
        int(tree.feature[node]),
        round(float(tree.threshold[node]), DIGITS),
        _describe_tree(tree, tree.children_left[node]),
        _describe_tree(tree, tree.children_right[node]),
    ]


def generated_examples(readings: Path) -> list[BoundaryExample]:
    """Return the examples of the generated binders. Some have the documents of many people."""
    examples: list[BoundaryExample] = []
    for is_scan, seeds, count, of_staff in (
        (False, SEEDS, BINDERS, STAFF_BINDERS),
        (True, FITTED_SCANNED_SEEDS, SCANNED_BINDERS, SCANNED_STAFF_BINDERS),
    ):
        pieces = list(make_pieces(FITTED_PART, seeds))
        read = read_pieces(pieces, is_scan=is_scan, readings=readings)
        examples += examples_of(compose_binders(read, count, f"binders {FITTED_PART}"))
        examples += examples_of(staff_binders(read, of_staff))
    return examples


def staff_binders(
    read: Mapping[str, tuple[Piece, tuple[PageReading, ...]]], count: int
) -> Iterator[Binder]:
    """Yield binders with documents of one type, most of them of the same layout."""
    by_layout: dict[tuple[str, str], list[str]] = {}
    for key, (piece, _) in read.items():
        if len(piece.slugs) == 1 and piece.slugs[0] in OF_PEOPLE:
            _, slug, layout = key.split(" ")
            by_layout.setdefault((slug, layout), []).append(key)
    for number in range(count):
        rng = random.Random(f"staff {number}")
        slug = rng.choice(OF_PEOPLE)
        own = [keys for (other, _), keys in sorted(by_layout.items()) if other == slug]
        chosen = [key for keys in rng.sample(own, min(2, len(own))) for key in keys]
        yield bind([read[key] for key in chosen], rng)


def real_examples(files: Sequence[RealFile]) -> list[BoundaryExample]:
    """Return the examples of real documents, single and joined."""
    joined = join_files(files, REAL_BINDERS * len(files), "real")
    return [*examples_of(single_files(files)), *examples_of(joined)]


def evaluate_unseen(
    files: Sequence[RealFile], generated: Sequence[BoundaryExample]
) -> Mapping[str, Any]:
    """Return the figures of real documents with models that do not know their institutions."""
    origins = sorted({file.origin for file in files})
    random.Random("folds").shuffle(origins)
    binders, pairs = BinderFigures(), BinderFigures()
    doubted, divided, as_one = 0, 0, 0
    for fold in range(FOLDS):
        own = set(origins[fold::FOLDS])
        known = [file for file in files if file.origin not in own]
        unseen = [file for file in files if file.origin in own]
        model = BoundaryModel.from_json(fit(generated, real_examples(known)))
        for file in unseen:
            found = find_document_starts(file.reading, model=model)
            doubted += not found.is_certain or len(found.starts) > 1
            divided += len(found.starts) > 1
        for binder in join_files(unseen, 2 * len(unseen), f"unseen {fold}"):
            _count(binders, binder, model)
        for one in unseen:
            others = [file for file in unseen if file is not one]
            binder = join((one.reading, random.Random(one.name).choice(others).reading))
            _count(pairs, binder, model)
            found = find_document_starts(binder.reading, model=model)
            as_one += len(found.starts) == 1 and found.is_certain
    return {
        "files": len(files),
        "single files in doubt": doubted,
        "single files divided": divided,
        "joined pairs that are certainly one document": as_one,
        "pairs": pairs,
        "boundaries of pairs, F1": pairs.f1,
        "binders": binders,
        "boundaries of binders, F1": binders.f1,
    }


def _count(figures: BinderFigures, binder: Binder, model: BoundaryModel) -> None:
    found = find_document_starts(binder.reading, model=model)
    places = [(start.page, start.region) for start in found.starts]
    figures.add_places(binder.starts, places, is_certain=found.is_certain)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["fit", "unseen"])
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--readings", type=Path, default=READINGS)
    options = parser.parse_args(arguments)
    generated = generated_examples(options.readings)
    files = real_files(options.corpus, options.readings)
    if options.what == "unseen":
        for name, figure in evaluate_unseen(files, generated).items():
            sys.stdout.write(f"{name}: {figure}\n")
        return
    model = fit(generated, real_examples(files))
    BOUNDARY_MODEL_FILE.write_text(json.dumps(model) + "\n", encoding="utf-8")
    sys.stdout.write(f"{BOUNDARY_MODEL_FILE}: {model['examples']} examples\n")


if __name__ == "__main__":
    main()
