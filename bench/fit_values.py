"""Fits the model of values, and writes it into the package.

`python -m bench.fit_values fit` fits a conditional logistic regression for each field with the
invented documents of `value_texts/working.pages`. `python -m bench.fit_values unseen FILE ...`
counts the values of other documents of this form that are read with the model, and by the rules
alone. docs/assessment.md describes the measurement.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from bench.values import TEXTS, WORKING, make_documents, read_content
from ingestion.assessment.scores import Outcome, compare_values
from ingestion.reading.results import DocumentReading
from ingestion.rules.document_types import TYPES, VALUE_MODEL_FILE, FieldSpec
from ingestion.rules.fields.extraction import find_month_first, read_fields
from ingestion.rules.fields.printed_candidates import (
    DATE,
    NUMBER,
    PERSON,
    VERSION,
    PrintedCandidate,
)
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.value_model import LISTS, FieldModel, ValueModel, make_value

Vector = NDArray[np.float64]

DECISIONS = (
    "irb-approval",
    "irb-exemption",
    "irb-amendment-approval",
    "irb-continuing-review",
    "irb-acknowledgement",
    "irb-changes-requested",
    "irb-disapproval",
)
CERTIFICATES = (
    "gcp-certificate",
    "human-subjects-certificate",
    "rcr-certificate",
    "social-behavioral-certificate",
    "data-specimens-certificate",
)
CONSENT = ("informed-consent-form",)
# The fields of each family of types that have enough examples.
FIELDS: Sequence[tuple[Sequence[str], str, str]] = (
    (DECISIONS, "protocol_number", NUMBER),
    (DECISIONS, "amendment_number", NUMBER),
    (DECISIONS, "approval_date", DATE),
    (DECISIONS, "decision_date", DATE),
    (DECISIONS, "expiry_date", DATE),
    (DECISIONS, "investigator", PERSON),
    (CERTIFICATES, "certificate_number", NUMBER),
    (CERTIFICATES, "completion_date", DATE),
    (CERTIFICATES, "expiry_date", DATE),
    (CONSENT, "protocol_number", NUMBER),
    (CONSENT, "version", VERSION),
    (CONSENT, "version_date", DATE),
    (CONSENT, "approval_date", DATE),
    (CONSENT, "expiry_date", DATE),
    (CONSENT, "investigator", PERSON),
    (("cv",), "document_date", DATE),
)
MIN_OCCURRENCES = 3  # of a feature among the candidates
STRENGTH = 0.3  # inverse of the regularisation
MAX_SCORE = 50.0  # of a candidate while the model is fitted
FOLDS = 5  # of the cross-validation, by document
MIN_PRECISION, WINDOW = 0.5, 25  # of suggestions near the threshold, and documents that show it
# Below it, in log-odds, a document is likely not to have the value, and none is suggested.
LEAST_THRESHOLD = -1.0
MIN_WEIGHT, DIGITS = 0.02, 3  # of the coefficients that are stored


@dataclass(frozen=True, slots=True)
class FieldExample:
    """The candidates of a field in one document, and which of them are its value."""

    candidates: Sequence[PrintedCandidate]
    are_values: Sequence[bool]


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """An invented document that was read, and the values that are printed in it."""

    slug: str
    reading: DocumentReading
    values: Mapping[str, str]


def read_documents(file: Path) -> Iterator[ReadDocument]:
    """Yield the documents of a file."""
    with tempfile.TemporaryDirectory() as folder:
        for each in make_documents(file):
            yield ReadDocument(each.slug, read_content(each.content, Path(folder)), each.values)


def list_examples(
    documents: Iterable[ReadDocument], types: Collection[str], field: str, kind: str
) -> list[FieldExample]:
    """Return the examples of a field."""
    examples = []
    for document in documents:
        type_ = TYPES[document.slug]
        spec = next((each for each in type_.fields if each.name == field), None)
        if document.slug not in types or spec is None:
            continue
        order = find_month_first(document.reading, type_)
        searched = SearchedDocument(document.reading, type_, order)
        candidates = LISTS[kind](searched)
        printed = {field: document.values[field]} if field in document.values else {}
        examples.append(
            FieldExample(
                candidates, [_is_value(each, spec, printed, type_.slug) for each in candidates]
            )
        )
    return examples


def _is_value(
    candidate: PrintedCandidate, spec: FieldSpec, printed: Mapping[str, str], slug: str
) -> bool:
    value = make_value(candidate, spec)
    return any(each.outcome is Outcome.EXACT for each in compare_values(printed, slug, (value,)))


def fit_field(examples: Sequence[FieldExample], kind: str) -> FieldModel:
    """Return the model of a field. Its threshold follows from a cross-validation."""
    ranked: list[tuple[float, bool]] = []
    for fold in range(FOLDS):
        others = [each for at, each in enumerate(examples) if at % FOLDS != fold]
        model = _regress(others, kind)
        for example in examples[fold::FOLDS]:
            if example.candidates:
                scores = [model.score(each) for each in example.candidates]
                best = int(np.argmax(scores))
                ranked.append((scores[best], example.are_values[best]))
    model = _regress(examples, kind)
    return FieldModel(kind, model.intercept, model.weights, _choose_threshold(ranked))


def _regress(examples: Sequence[FieldExample], kind: str) -> FieldModel:
    """Return the model under which the printed values are most probable.

    The candidates of a document compete with each other, and with having no value, whose score is
    0 (a conditional logistic regression).
    """
    features = [each.features for example in examples for each in example.candidates]
    counts = Counter(each for found in features for each in found)
    known = sorted(each for each, count in counts.items() if count >= MIN_OCCURRENCES)
    columns = {each: at for at, each in enumerate(known, start=1)}
    rows = [[0, *sorted(columns[each] for each in found if each in columns)] for found in features]
    matrix = csr_matrix(
        (
            np.ones(sum(map(len, rows))),
            [column for row in rows for column in row],
            np.cumsum([0, *map(len, rows)]),
        ),
        shape=(len(rows), len(known) + 1),
    )
    documents = np.repeat(range(len(examples)), [len(each.candidates) for each in examples])
    are_values = np.array([each for example in examples for each in example.are_values])
    has_value = np.array([any(example.are_values) for example in examples])

    def lose(weights: Vector) -> tuple[float, Vector]:
        scores = np.exp(np.clip(matrix @ weights, -MAX_SCORE, MAX_SCORE))
        all_ = np.bincount(documents, scores, len(examples)) + 1.0
        right = np.bincount(documents, scores * are_values, len(examples))
        right = np.where(has_value, right, 1.0)
        slopes = scores / all_[documents]
        slopes -= np.where(are_values, scores / right[documents], 0.0)
        penalty = np.concatenate([[0.0], weights[1:]]) / STRENGTH
        loss = np.log(all_ / right).sum() + weights @ penalty / 2
        return float(loss), matrix.T @ slopes + penalty

    start = np.zeros(len(known) + 1)
    intercept, *fitted = minimize(lose, start, jac=True, method="L-BFGS-B").x
    weights = {
        name: round(float(weight), DIGITS)
        for name, weight in zip(known, fitted, strict=True)
        if abs(weight) >= MIN_WEIGHT
    }
    return FieldModel(kind, round(float(intercept), DIGITS), weights, 0.0)


def _choose_threshold(ranked: Sequence[tuple[float, bool]]) -> float:
    """Return the lowest score near which enough of the best candidates are the value."""
    ordered = sorted(ranked, reverse=True)
    threshold = 0.0
    for end in range(WINDOW, len(ordered) + 1):
        window = ordered[end - WINDOW : end]
        if sum(is_value for _, is_value in window) >= MIN_PRECISION * WINDOW:
            threshold = window[-1][0]
    return round(max(threshold, LEAST_THRESHOLD), DIGITS)


def fit(documents: Sequence[ReadDocument]) -> list[dict[str, Any]]:
    """Return the models of all fields as the content of the file."""
    content = []
    for types, field, kind in FIELDS:
        model = fit_field(list_examples(documents, types, field, kind), kind)
        content.append(
            {
                "types": list(types),
                "field": field,
                "kind": kind,
                "intercept": model.intercept,
                "threshold": model.threshold,
                "weights": model.weights,
            }
        )
    return content


def count_values(documents: Iterable[ReadDocument], model: ValueModel | None) -> Counter[str]:
    """Return how many values of documents are read in each way."""
    counts: Counter[str] = Counter()
    for document in documents:
        fields = read_fields(document.reading, TYPES[document.slug], model=model)
        for each in compare_values(document.values, document.slug, fields):
            counts[each.outcome] += 1
    return counts


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["fit", "unseen"])
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args(arguments)
    if options.what == "fit":
        content = fit(list(read_documents(TEXTS / f"{WORKING}.pages")))
        VALUE_MODEL_FILE.write_text(json.dumps(content) + "\n", encoding="utf-8")
        for each in content:
            sys.stdout.write(
                f"{each['field']}: {len(each['weights'])} features, threshold "
                f"{each['threshold']} ({', '.join(each['types'])})\n"
            )
        return
    for file in options.files:
        documents = list(read_documents(file))
        for name, model in (("rules alone", {}), ("with the model", None)):
            sys.stdout.write(f"{file.name}, {name}: {dict(count_values(documents, model))}\n")


if __name__ == "__main__":
    main()
