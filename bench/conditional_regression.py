"""Fits a conditional logistic regression: the candidates of an example compete with each other.

They also compete with having no value, whose score is 0. The score of a candidate is the intercept
and the sum of the weights of its features. The model of values (`bench.fit_values`) is fitted so.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

Vector = NDArray[np.float64]

MIN_OCCURRENCES = 3  # of a feature among the candidates
STRENGTH = 0.3  # inverse of the regularisation
MAX_SCORE = 50.0  # of a candidate while the weights are fitted
MIN_WEIGHT, DIGITS = 0.02, 3  # of the weights that are returned


@dataclass(frozen=True, slots=True)
class ChoiceExample:
    """The features of the candidates in one document, and which of them are the value."""

    features: Sequence[frozenset[str]]
    are_values: Sequence[bool]


def regress(examples: Sequence[ChoiceExample]) -> tuple[float, dict[str, float]]:
    """Return the intercept and the weights under which the printed values are most probable."""
    features = [each for example in examples for each in example.features]
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
    documents = np.repeat(range(len(examples)), [len(each.features) for each in examples])
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
    return round(float(intercept), DIGITS), weights
