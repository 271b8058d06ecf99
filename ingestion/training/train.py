"""Makes the statistical model of document types from examples.

The result depends on the examples and their order only: nothing is drawn at random.

The first step is a multinomial logistic regression over the words and the layout, with a penalty on
the squares of the coefficients. With a base model, the penalty is on the differences from its
coefficients, so that few examples change little. The second step fits the weights of landmarks and
words to predictions for examples that the first step was not trained with: the examples are divided
into folds, and all examples of a group (an institution, or a family of layouts) are in one fold.
The threshold is set in the same way.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import DictVectorizer
from sklearn.model_selection import GroupKFold

from ingestion.rules.classification.features import LAYOUT, POINTS, Features
from ingestion.rules.classification.type_model import (
    MODEL_FORMAT,
    NO_TYPE,
    Model,
    scale_features,
)

Numbers = NDArray[np.float64]

MIN_GROUPS = 3  # of examples in which a word has to occur to be a feature
MAX_FEATURES = 1500
FOLDS = 10
PENALTY = 0.5  # of the squares of the coefficients, for each group of examples
MAX_LOG_ODDS_OF_WORDS = 6.0
MIN_THRESHOLD = 0.9  # a type is never recognised with less than this probability
# The threshold lies above the most probable wrong type by this much.
THRESHOLD_MARGIN = 0.5  # log-odds
DIGITS = 4  # after the point, of the coefficients that are stored


class Example(NamedTuple):
    """A document whose type is known."""

    features: Features
    type: str  # the id of its type; "" if it has none of the types
    group: str  # an institution or a family of layouts; examples of a group resemble each other
    also_right: frozenset[str] = frozenset()  # other types that are right for the document too


@dataclass(frozen=True, slots=True)
class _Words:
    """The first step: coefficients by feature (rows) and class (columns)."""

    classes: tuple[str, ...]
    vocabulary: tuple[str, ...]
    coefficients: Numbers
    intercepts: Numbers


@dataclass(frozen=True, slots=True)
class _Weights:
    """The second step: the weights of landmarks and words, the same for every type."""

    log_odds_per_point: float
    weight_of_words: float
    log_odds_of_any_type: float


INITIAL_WEIGHTS = _Weights(0.8, 0.5, -4.0)


def train(
    examples: Sequence[Example],
    *,
    name: str,
    base: Model | None = None,
    excluded_words: Collection[str] = frozenset(),
) -> dict[str, Any]:
    """Return a model of the examples, as an object that can be stored as JSON.

    `name` names the model. With `base`, the new model starts from its coefficients, and keeps its
    types and its words. No feature contains one of `excluded_words`. Raises ValueError if there are
    fewer than two groups, or if all examples have the same type.
    """
    if len({example.group for example in examples}) < 2 or len({each.type for each in examples}) < 2:
        raise ValueError("a model needs examples of two types and two groups")
    words = _fit_words(examples, base, excluded_words)
    unseen = predict_unseen(examples, name=name, base=base, excluded_words=excluded_words)
