"""Fits the first step of the model of document types: the coefficients of words and of the layout.

It is a multinomial logistic regression with a penalty on the squares of the coefficients. With a
base model, the penalty is on the differences from its coefficients, so that few examples change
little.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from ingestion.rules.classification.features import BODY, HEADING, LAYOUT
from ingestion.rules.classification.type_model import NO_TYPE, Model, scale_features
from ingestion.training.examples import Example, Numbers, weigh_examples

MIN_GROUPS = 3  # of examples in which a word has to occur to be a feature
MAX_FEATURES = 1500  # words; those that distinguish the types most are kept
PENALTY = 0.1  # of the squares of the coefficients
MAX_ITERATIONS = 200
MIN_PROGRESS = 1e-5  # share of the loss by which a further iteration has to reduce it


@dataclass(frozen=True, slots=True)
class WordCoefficients:
    """The coefficients of the first step, by feature (rows) and class (columns)."""

    classes: tuple[str, ...]
    vocabulary: tuple[str, ...]
    coefficients: Numbers
    intercepts: Numbers


def fit_words(
    examples: Sequence[Example], base: Model | None, excluded_words: Collection[str]
) -> WordCoefficients:
    """Return the first step. Words that distinguish the types little are dropped, then refitted."""
    base_features = tuple(base.coefficients) if base else ()
    vocabulary = _find_vocabulary(examples, base_features, excluded_words)
    words = _fit_coefficients(examples, vocabulary, base)
    optional = len(vocabulary) - len(base_features)
    if optional <= MAX_FEATURES:
        return words
    spread = np.ptp(words.coefficients, axis=1)
    kept = sorted(
        range(len(vocabulary)),
        key=lambda row: (
            vocabulary[row] not in base_features and not vocabulary[row].startswith(LAYOUT),
            -spread[row],
            row,
        ),
    )[: len(base_features) + MAX_FEATURES]
    return _fit_coefficients(examples, [vocabulary[row] for row in sorted(kept)], base)


def _find_vocabulary(
    examples: Sequence[Example], base_features: Collection[str], excluded_words: Collection[str]
) -> list[str]:
    """Return the features of the layout, and the words that enough groups have, in order."""
    groups: dict[str, set[str]] = defaultdict(set)
    for example in examples:
        for feature in example.features:
            prefix, _, word = feature.partition(":")
            is_word = f"{prefix}:" in {HEADING, BODY} and word not in excluded_words
            if is_word or f"{prefix}:" == LAYOUT:
                groups[feature].add(example.group)
    found = {
        feature
        for feature, having in groups.items()
        if len(having) >= MIN_GROUPS or feature.startswith(LAYOUT)
    }
    return sorted(found | set(base_features))


def _fit_coefficients(
    examples: Sequence[Example], vocabulary: Sequence[str], base: Model | None
) -> WordCoefficients:
    """Return the coefficients that minimise the weighted log loss and the penalty."""
    known_types = {example.type for example in examples} | set(base.classes if base else ())
    classes = (NO_TYPE, *sorted(known_types - {NO_TYPE}))
    rows = {feature: row for row, feature in enumerate(vocabulary)}
    columns = {slug: column for column, slug in enumerate(classes)}
    prior = _prior(rows, columns, base)
    loss = _Loss(
        values=_to_matrix(examples, rows),
        right=np.array([columns[example.type] for example in examples]),
        weights=weigh_examples(examples),
        prior=prior,
    )
    options = {"maxiter": MAX_ITERATIONS, "ftol": MIN_PROGRESS}
    found = minimize(loss, prior.ravel(), jac=True, method="L-BFGS-B", options=options).x
    found = found.reshape(prior.shape)
    return WordCoefficients(classes, tuple(vocabulary), found[:-1], found[-1])


@dataclass(frozen=True, slots=True)
class _Loss:
    """The function that the first step minimises.

    Its argument has the coefficients of all features and, in the last row, the intercepts.
    """

    values: csr_matrix  # of the features, by example (rows)
    right: NDArray[np.int64]  # the column of the type of each example
    weights: Numbers  # of the examples
    prior: Numbers  # the coefficients without any example

    def __call__(self, flat: Numbers) -> tuple[float, Numbers]:
        """Return the loss of some coefficients, and its gradient."""
        coefficients = flat.reshape(self.prior.shape)
        examples = np.arange(len(self.right))
        scores = self.values @ coefficients[:-1] + coefficients[-1]
        scores -= scores.max(axis=1, keepdims=True)  # avoids an overflow
        shares = np.exp(scores)
        totals = shares.sum(axis=1)
        losses = np.log(totals) - scores[examples, self.right]
        away = coefficients - self.prior
        error = shares / totals[:, None] * self.weights[:, None]
        error[examples, self.right] -= self.weights
        gradient = np.vstack([self.values.T @ error, error.sum(axis=0)]) + PENALTY * away
        loss = (self.weights * losses).sum() + PENALTY / 2 * (away**2).sum()
        return float(loss), gradient.ravel()


def _to_matrix(examples: Sequence[Example], rows: Mapping[str, int]) -> csr_matrix:
    """Return a sparse matrix with a row for each example and a column for each feature."""
    cells = [
        (number, rows[feature], value)
        for number, example in enumerate(examples)
        for feature, value in scale_features(example.features, rows)
    ]
    numbers, features, values = zip(*cells, strict=True) if cells else ((), (), ())
    return csr_matrix((values, (numbers, features)), shape=(len(examples), len(rows)))


def _prior(rows: Mapping[str, int], columns: Mapping[str, int], base: Model | None) -> Numbers:
    """Return the coefficients and, in the last row, the intercepts of the base model.

    A feature that it does not have begins at 0, and a type that it does not have begins as if it
    were no type.
    """
    prior = np.zeros((len(rows) + 1, len(columns)))
    if base:
        from_base = [base.classes.index(slug if slug in base.classes else "") for slug in columns]
        prior[-1] = [base.intercepts[column] for column in from_base]
        for feature, coefficients in base.coefficients.items():
            prior[rows[feature]] = [coefficients[column] for column in from_base]
    return prior
