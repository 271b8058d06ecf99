"""Collects the examples with which the statistical model of document types is trained.

There are four sources: the real documents of `../shared/corpus/real`, which stay outside of the
repository; generated specimens of every type; generated documents that have none of the types; and
invented texts of pages, written as institutions of many countries write them (`type_texts`).
Readings are kept in a folder, because OCR takes minutes.
"""

import asyncio
import hashlib
import json
import pickle
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from ingestion.assessment.truth import Truth
from ingestion.core.errors import ReadingFault
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import DocumentReading, MediaType, PageReading, TextSource
from ingestion.rules import ordinary_words
from ingestion.rules.classification.classify import extract_document_features
from ingestion.rules.classification.features import POINTS
from ingestion.training.examples import Example
from ingestion.training.word_coefficients import MIN_GROUPS
from samples.layouts import LAYOUTS, OTHER, OTHER_LAYOUTS, make_specimen

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "real"
READINGS = Path(tempfile.gettempdir()) / "siteledger-readings"
SPECIMEN_SEEDS = (1, 2)
LANGUAGE = "en"
LIMITS = ReadingLimits(processes=2)
# Texts that train the model, and texts that only measure it. Nobody changes a landmark because of
# the second ones: write new ones instead, and move them to the first ones.
TEXTS = Path(__file__).with_name("type_texts")
TRAINING_TEXTS, UNSEEN_TEXTS = TEXTS / "training.pages", TEXTS / "unseen.pages"
_TEXT_HEAD = re.compile(r"^=== (\S+) (\S+)\n", re.MULTILINE)  # the type and a name
_LETTER_SIZE = (612, 792)  # points


def read_corpus(corpus: Path = CORPUS, readings: Path = READINGS) -> dict[str, DocumentReading]:
    """Return the readings of the documents in English, by file. Unreadable files are left out.

    They are taken from the folder `readings`, or read and stored there.
    """
    readings.mkdir(parents=True, exist_ok=True)
    wanted = [file.file for file in _truth(corpus).files if file.language.endswith(LANGUAGE)]
    found = read_files({name: corpus / name for name in wanted}, readings)
    return {name: each for name, each in found.items() if isinstance(each, DocumentReading)}


def read_files(files: Mapping[str, Path], readings: Path) -> dict[str, object]:
    """Return the readings of some files by name. The folder `readings` keeps them by SHA-256.

    A file that could not be read is tried again next time.
    """
    found: dict[str, object] = {}

    async def read_missing() -> None:
        async with Reader(LIMITS) as reader:
            for sha256, path in missing.items():
                try:
                    reading = await reader.read(path, sha256)
                except ReadingFault as fault:
                    found[sha256] = fault
                    continue
                found[sha256] = reading
                if isinstance(reading, DocumentReading):
                    (readings / f"{sha256}.pickle").write_bytes(pickle.dumps(reading))

    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    missing = {}
    for name, sha256 in digests.items():
        kept = readings / f"{sha256}.pickle"
        if kept.exists():
            found[sha256] = pickle.loads(kept.read_bytes())  # noqa: S301 - written above
        else:
            missing[sha256] = files[name]
    if missing:
        asyncio.run(read_missing())
    return {name: found[sha256] for name, sha256 in digests.items()}


def real_examples(corpus: Path = CORPUS, readings: Path = READINGS) -> dict[str, Example]:
    """Return an example for each real document in English, by file, with its origin as its group.

    The truth often names a type that was divided later. Of the types that are right, the one with
    the most landmarks is then the type of the example.
    """
    files = {file.file: file for file in _truth(corpus).files}
    origins = {
        each["file"]: each["repo"] for each in json.loads((corpus / "truth.json").read_bytes())
    }
    examples = {}
    for name, reading in read_corpus(corpus, readings).items():
        right = files[name].true_documents[0].right_types
        features = extract_document_features(reading)
        best = max(sorted(right), key=lambda slug: features.get(POINTS + slug, 0.0), default="")
        examples[name] = Example(features, best, origins[name], right)
    return examples


def specimen_examples(readings: Path = READINGS) -> Iterator[Example]:
    """Yield examples for the generated specimens of every type. A layout is a group."""
    made = {
        (slug, f"layout {slug} {layout}", seed): make_specimen(slug, layout, seed).content
        for slug, layouts in LAYOUTS.items()
        for layout in layouts
        for seed in SPECIMEN_SEEDS
    }
    yield from _generated(made, readings)


def other_examples(readings: Path = READINGS) -> Iterator[Example]:
    """Yield examples for the generated documents that have none of the types. A kind is a group."""
    made = {
        ("", f"other {kind}", seed): make_specimen(OTHER, kind, seed).content
        for kind in OTHER_LAYOUTS
        for seed in SPECIMEN_SEEDS
    }
    yield from _generated(made, readings)


def text_examples(file: Path) -> Iterator[tuple[str, Example]]:
    """Yield the names and the examples of invented texts. Each one is a group of its own."""
    _, *parts = _TEXT_HEAD.split(file.read_text(encoding="utf-8"))
    for slug, name, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        kind = "" if slug == OTHER else slug
        page = PageReading(1, *_LETTER_SIZE, text.strip("\n"), TextSource.NATIVE)
        features = extract_document_features(DocumentReading(MediaType.PDF, (page,)))
        label = f"text {file.stem} {slug} {name}"
        yield label, Example(features, kind, label, (kind,) if kind else ())


def _generated(made: Mapping[tuple[str, str, int], bytes], readings: Path) -> Iterator[Example]:
    readings.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for number, content in enumerate(made.values()):
            files[str(number)] = Path(folder, f"{number}.pdf")
            files[str(number)].write_bytes(content)
        found = read_files(files, readings)
    for number, (slug, group, _) in enumerate(made):
        reading = found[str(number)]
        if not isinstance(reading, DocumentReading):
            raise TypeError(f"a sample of {group} cannot be read: {reading}")
        yield Example(extract_document_features(reading), slug, group, (slug,) if slug else ())


def words_to_check(examples: Iterable[Example]) -> list[str]:
    """Return the words that occur in enough groups to be features and were not checked yet."""
    groups: dict[str, set[str]] = defaultdict(set)
    for example in examples:
        for feature in example.features:
            groups[feature.partition(":")[2]].add(example.group)
    often = {word for word, having in groups.items() if len(having) >= MIN_GROUPS}
    return sorted(word for word in often - ordinary_words.get_words() if word.isalpha())


def words_to_exclude(examples: Iterable[Example]) -> frozenset[str]:
    """Return all words of the examples that the model may not use."""
    words = {feature.partition(":")[2] for each in examples for feature in each.features}
    return frozenset(words) - ordinary_words.get_words()


@cache
def _truth(corpus: Path) -> Truth:
    return Truth.load(corpus / "truth.json")
