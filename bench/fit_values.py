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
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from bench.conditional_regression import DIGITS, ChoiceExample, regress
from bench.values import DECISIONS, TEXTS, WORKING, make_documents, read_content
from ingestion.assessment.scores import Outcome, compare_values
from ingestion.reading.results import DocumentReading
from ingestion.rules.document_types import TYPES, VALUE_MODEL_FILE, FieldSpec
from ingestion.rules.fields.extraction import find_month_first, read_fields
from ingestion.rules.fields.printed_candidates import (
    DATE,
    NUMBER,
    PERSON,
    TEXT,
    VERSION,
    PrintedCandidate,
    fold_number,
)
from ingestion.rules.fields.printed_spans import PrintedWords
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.value_model import (
    LISTS,
    FieldModel,
    SpanModel,
    ValueModel,
    make_value,
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
# The fields whose value is a text, and whether the rules' value is compared with the model's.
TEXT_FIELDS: Sequence[tuple[Sequence[str], str, bool]] = (
    (DECISIONS, "irb_name", False),
    (CONSENT, "institution", False),
    (CERTIFICATES, "course", True),
    (CONSENT, "title", True),
)
FOLDS = 5  # of the cross-validation, by document
MIN_PRECISION, WINDOW = 0.5, 25  # of suggestions near the threshold, and documents that show it
# Below it, in log-odds, a document is likely not to have the value, and none is suggested.
LEAST_THRESHOLD = -1.0
LEAST_LOGARITHM = -2.0  # the same for a text, whose score is the logarithm of its probability


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
) -> list[ChoiceExample]:
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
            ChoiceExample(
                [each.features for each in candidates],
                [_is_value(each, spec, printed, type_.slug) for each in candidates],
            )
        )
    return examples


def _is_value(
    candidate: PrintedCandidate, spec: FieldSpec, printed: Mapping[str, str], slug: str
) -> bool:
    value = make_value(candidate, spec)
    return any(each.outcome is Outcome.EXACT for each in compare_values(printed, slug, (value,)))


def _fit_weights(examples: Sequence[ChoiceExample], kind: str) -> FieldModel:
    """Return a model without a threshold."""
    return FieldModel(kind, *regress(examples), threshold=0.0)


def fit_field(examples: Sequence[ChoiceExample], kind: str) -> FieldModel:
    """Return the model of a field. Its threshold follows from a cross-validation."""
    ranked: list[tuple[float, bool]] = []
    for fold in range(FOLDS):
        others = [each for at, each in enumerate(examples) if at % FOLDS != fold]
        model = _fit_weights(others, kind)
        for example in examples[fold::FOLDS]:
            if example.features:
                scores = [model.score(each) for each in example.features]
                best = int(np.argmax(scores))
                ranked.append((scores[best], example.are_values[best]))
    model = _fit_weights(examples, kind)
    return FieldModel(
        kind, model.intercept, model.weights, _choose_threshold(ranked, LEAST_THRESHOLD)
    )


@dataclass(frozen=True, slots=True)
class SpanExample:
    """The words of one document, and the spans of them that are the value of a field."""

    words: PrintedWords
    spans: Sequence[tuple[int, int]]
    has_value: bool


def list_span_examples(
    documents: Iterable[ReadDocument], types: Collection[str], field: str
) -> list[SpanExample]:
    """Return the examples of a field whose value is a text."""
    examples = []
    for document in documents:
        if document.slug in types:
            words = PrintedWords(document.reading.pages)
            value = document.values.get(field, "")
            examples.append(SpanExample(words, _find_spans(words, value), bool(value)))
    return examples


def _find_spans(words: PrintedWords, value: str) -> list[tuple[int, int]]:
    """Return where a text is printed, without regard to its signs and to its line ends."""
    printed = [at for at, word in enumerate(words.words) if fold_number(word.text)]
    texts = [fold_number(words.words[at].text) for at in printed]
    sought = [folded for word in value.split() if (folded := fold_number(word))]
    length = len(sought)
    return [
        (printed[at], printed[at + length - 1])
        for at in range(len(texts) - length + 1)
        if sought and texts[at : at + length] == sought
    ]


def fit_spans(examples: Sequence[SpanExample], *, is_compared: bool) -> SpanModel:
    """Return the model of a field whose value is a text, with a threshold like that of others."""
    ranked: list[tuple[float, bool]] = []
    for fold in range(FOLDS):
        others = [each for at, each in enumerate(examples) if at % FOLDS != fold]
        model = _regress_spans(others, is_compared=is_compared)
        for example in examples[fold::FOLDS]:
            score, best = max(model.rank(example.words), default=(0.0, None), key=itemgetter(0))
            if best is not None:
                texts = {fold_number(example.words.text_of(*span)) for span in example.spans}
                ranked.append((score, fold_number(best.text) in texts))
    model = _regress_spans(examples, is_compared=is_compared)
    return replace(model, threshold=_choose_threshold(ranked, LEAST_LOGARITHM))


def _regress_spans(examples: Sequence[SpanExample], *, is_compared: bool) -> SpanModel:
    starts = [
        ChoiceExample(
            [each.words.features_of_start(at) for at in each.words.starts],
            [any(at == start for start, _ in each.spans) for at in each.words.starts],
        )
        for each in examples
        if each.spans or not each.has_value
    ]
    ends = [
        ChoiceExample(
            [each.words.features_of_end(start, at) for at in each.words.ends_of(start)],
            [(start, at) in each.spans for at in each.words.ends_of(start)],
        )
        for each in examples
        for start, _ in each.spans
    ]
    return SpanModel(_fit_weights(starts, TEXT), _fit_weights(ends, TEXT), 0.0, is_compared)


def _choose_threshold(ranked: Sequence[tuple[float, bool]], least: float) -> float:
    """Return the lowest score near which enough of the best candidates are the value."""
    ordered = sorted(ranked, reverse=True)
    threshold = 0.0
    for end in range(WINDOW, len(ordered) + 1):
        window = ordered[end - WINDOW : end]
        if sum(is_value for _, is_value in window) >= MIN_PRECISION * WINDOW:
            threshold = window[-1][0]
    return round(max(threshold, least), DIGITS)


def fit(documents: Sequence[ReadDocument]) -> list[dict[str, Any]]:
    """Return the models of all fields as the content of the file."""
    content = []
    for types, field, kind in FIELDS:
        model = fit_field(list_examples(documents, types, field, kind), kind)
        about = {"types": list(types), "field": field, "kind": kind, "threshold": model.threshold}
        content.append({**about, **_content_of(model)})
    for types, field, is_compared in TEXT_FIELDS:
        spans = fit_spans(list_span_examples(documents, types, field), is_compared=is_compared)
        about = {"types": list(types), "field": field, "kind": TEXT, "threshold": spans.threshold}
        parts = {"start": _content_of(spans.start), "end": _content_of(spans.end)}
        content.append({**about, "is_compared": is_compared, **parts})
    return content


def _content_of(model: FieldModel) -> dict[str, Any]:
    return {"intercept": model.intercept, "weights": model.weights}


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
                f"{each['field']}: threshold {each['threshold']} ({', '.join(each['types'])})\n"
            )
        return
    for file in options.files:
        documents = list(read_documents(file))
        for name, model in (("rules alone", {}), ("with the model", None)):
            sys.stdout.write(f"{file.name}, {name}: {dict(count_values(documents, model))}\n")


if __name__ == "__main__":
    main()
