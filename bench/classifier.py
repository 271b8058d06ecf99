"""Trains and evaluates the statistical model of document types.

`python -m bench.classifier train` trains the model with all examples and writes the coefficients
into the package. `python -m bench.classifier evaluate` prints how the model recognises the real
documents: with the built-in model, which was trained with them, and, for each institution,
with a model that was trained without its documents. `texts` judges invented texts that the model
was not trained with. docs/classification.md describes all of them.
"""

import argparse
import json
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.documents import type_examples
from bench.values import DECISIONS, TEXTS, WORKING, make_documents, read_content
from ingestion.rules.classification.classify import extract_document_features
from ingestion.rules.classification.type_model import (
    NO_TYPE,
    Model,
    compute_probabilities,
    load_model,
)
from ingestion.rules.document_types import MODEL_FILE
from ingestion.training.examples import Example
from ingestion.training.train import Judged, judge_unseen, train

MODEL_NAME = "siteledger"
CANDIDATES = 3


@dataclass(slots=True)
class ClassifierFigures:
    """The results of a model on documents whose type is known. Lists name the documents."""

    supported: int = 0  # documents that have one of the types
    others: int = 0  # documents that have none
    first: int = 0  # of the supported ones: the right type is the most probable one
    in_three: int = 0  # of them: it is among the three most probable ones
    recognised: int = 0  # of them: it is recognised without doubt
    wrong: list[str] = field(default_factory=list)  # recognised as a wrong type without doubt
    in_doubt: list[str] = field(default_factory=list)  # supported, and not recognised

    def add(self, name: str, example: Example, judged: Judged) -> None:
        """Count one document."""
        log_odds, recognised = judged
        ranked = sorted(log_odds, key=lambda slug: -log_odds[slug])
        if recognised != NO_TYPE and recognised not in example.right_types:
            self.wrong.append(f"{name}: {recognised}")
        if example.type == NO_TYPE:
            self.others += 1
            return
        self.supported += 1
        self.first += ranked[0] in example.right_types
        self.in_three += any(slug in example.right_types for slug in ranked[:CANDIDATES])
        self.recognised += recognised in example.right_types
        if recognised == NO_TYPE:
            probability = compute_probabilities(log_odds)[ranked[0]]
            self.in_doubt.append(f"{name}: {ranked[0]} {probability:.2f}")

    def describe(self) -> str:
        """Return the figures as lines of text."""
        return (
            f"  right type first       {self.first} of {self.supported}\n"
            f"  right type in three    {self.in_three} of {self.supported}\n"
            f"  right without doubt    {self.recognised} of {self.supported}\n"
            f"  wrong without doubt    {len(self.wrong)} of {self.supported + self.others}, "
            f"{self.others} of them without a type\n"
            + "".join(f"    wrong: {each}\n" for each in self.wrong)
            + "".join(f"    in doubt: {each}\n" for each in self.in_doubt)
        )


def decision_examples() -> Iterator[Example]:
    """Yield examples for the decisions of committees with which the reading of values is measured.

    Their words teach how the kinds of decisions differ. Each one is a group of its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        for each in make_documents(TEXTS / f"{WORKING}.pages"):
            if each.slug in DECISIONS:
                features = extract_document_features(read_content(each.content, Path(folder)))
                group = f"values {each.name}"
                yield Example(features, each.slug, group, (each.slug,), only_words=True)


def train_all(examples: Sequence[Example]) -> dict[str, Any]:
    """Return the model of all examples, as it is stored."""
    excluded = type_examples.words_to_exclude(examples)
    return train(examples, name=MODEL_NAME, excluded_words=excluded)


def evaluate_model(real: Mapping[str, Example], model: Model) -> ClassifierFigures:
    """Return the figures of a model on examples. It may have been trained with them."""
    figures = ClassifierFigures()
    for name, example in real.items():
        log_odds = model.log_odds(example.features)
        figures.add(name, example, Judged(log_odds, model.decide(log_odds)))
    return figures


def evaluate_unseen(real: Mapping[str, Example], generated: Sequence[Example]) -> ClassifierFigures:
    """Return the figures of models that were trained without the institution of each document.

    The words, the coefficients, the weights and the threshold are decided without it. The landmarks
    stay as they are.
    """
    figures = ClassifierFigures()
    examples = [*real.values(), *generated]
    groups = [example.group for example in real.values()]
    excluded = type_examples.words_to_exclude(examples)
    judged = judge_unseen(examples, groups, excluded_words=excluded)
    for place, (name, example) in enumerate(real.items()):
        figures.add(name, example, judged[place])
    return figures


def main(arguments: Iterable[str] | None = None) -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["train", "evaluate", "unseen", "texts", "words"])
    parser.add_argument("--corpus", type=Path, default=type_examples.CORPUS)
    parser.add_argument("--readings", type=Path, default=type_examples.READINGS)
    options = parser.parse_args(arguments)
    if options.what == "texts":
        texts = dict(type_examples.text_examples(type_examples.UNSEEN_TEXTS))
        sys.stdout.write("Invented texts that the model was not trained with:\n")
        sys.stdout.write(evaluate_model(texts, load_model()).describe())
        return
    real = dict(sorted(type_examples.real_examples(options.corpus, options.readings).items()))
    if options.what == "evaluate":
        sys.stdout.write("With the built-in model:\n")
        sys.stdout.write(evaluate_model(real, load_model()).describe())
        return
    generated = [
        *type_examples.specimen_examples(options.readings),
        *type_examples.other_examples(options.readings),
        *(example for _, example in type_examples.text_examples(type_examples.TRAINING_TEXTS)),
        *decision_examples(),
    ]
    if options.what == "words":
        words = type_examples.words_to_check([*real.values(), *generated])
        sys.stdout.write(textwrap.fill(" ".join(words), 100) + "\n")
        return
    if options.what == "unseen":
        sys.stdout.write("\nTrained without the institution of each document:\n")
        sys.stdout.write(evaluate_unseen(real, generated).describe())
        return
    model = train_all([*real.values(), *generated])
    MODEL_FILE.write_text(_dump(model), encoding="utf-8")
    sys.stdout.write(f"{MODEL_FILE}: {len(model['coefficients'])} features\n")


def _dump(model: Mapping[str, Any]) -> str:
    """Return the model as JSON with one line for each feature, so that changes can be read."""
    head = json.dumps(
        {key: value for key, value in model.items() if key != "coefficients"}, indent=1
    )
    rows = model["coefficients"].items()
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows)
    return f'{head[:-2]},\n "coefficients": {{\n{lines}\n }}\n}}\n'


if __name__ == "__main__":
    main()
