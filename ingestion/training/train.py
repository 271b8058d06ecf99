"""Makes the statistical model of document types from examples.

The result depends on the examples and their order only: nothing is drawn at random.

The first step is a regression over the words and the layout (`word_coefficients`). The second step
fits the weights of landmarks and words, with predictions for examples that the first step was not
trained with: the examples are divided into folds, and all examples of a group (an institution, or a
family of layouts) are in one fold. The threshold is set with the same predictions.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.model_selection import GroupKFold

from ingestion.rules.classification.features import POINTS
from ingestion.rules.classification.type_model import (
    MODEL_FORMAT,
    NO_TYPE,
    Model,
    find_leader,
)
from ingestion.training.examples import Example, Numbers, weigh_examples
from ingestion.training.word_coefficients import WordCoefficients, fit_words

MIN_TYPE_GROUPS = 3  # a type with examples of fewer groups is left to its landmarks
FOLDS = 8
MAX_LOG_ODDS_OF_WORDS = 6.0
MIN_THRESHOLD = 0.97  # probability; with less, a type is never recognised
THRESHOLD_MARGIN = 0.5  # log-odds by which the threshold lies above the most probable wrong type
DIGITS = 3  # after the point, of the coefficients that are stored
THRESHOLD_DIGITS = 6


class Weights(NamedTuple):
    """The numbers of the second step, the same for every type (see `Model`)."""

    log_odds_per_point: float
    weight_of_words: float
    log_odds_of_any_type: float


# The second step starts here, and deviates as far as the examples demand. The deviations are the
# standard deviations of a normal distribution. That of the weight of words is small: landmarks were
# written by people who had seen the examples, and look better on them than on other documents.
EXPECTED_WEIGHTS = Weights(0.9, 1.0, -4.5)
WEIGHT_DEVIATIONS = Weights(0.2, 0.1, 1.0)


def train(
    examples: Sequence[Example],
    *,
    name: str = "",
    base: Model | None = None,
    excluded_words: Collection[str] = frozenset(),
) -> dict[str, Any]:
    """Return a model of the examples: an object for `Model.from_json` that can be stored as JSON.

    With `base`, the new model starts from the coefficients of that one, and keeps its types, its
    words, its weights of landmarks and words, and its threshold: the examples of an installation
    contain no documents without a type, by which these are set. None of `excluded_words`, in lower
    case, becomes a feature, unless `base` has it. Raises ValueError if the examples have fewer than
    two groups or two types.
    """
    examples = _leave_out_rare_types(examples, base)
    _check_examples(examples)
    words = fit_words(examples, base, excluded_words)
    if base:
        kept = Weights(base.log_odds_per_point, base.weight_of_words, base.log_odds_of_any_type)
        return _to_json(words, kept, base.threshold, name, examples)
    unseen = _fit_unseen(examples, excluded_words)
    weights, threshold = _set_weights_and_threshold(examples, unseen)
    return _to_json(words, weights, threshold, name, examples)


class Judged(NamedTuple):
    """Contains the judgement of a model on an example that it was not trained with."""

    log_odds: Mapping[str, float]  # of each type against no type
    recognised: str  # the type without doubt, or NO_TYPE


def judge_unseen(
    examples: Sequence[Example],
    groups: Collection[str],
    *,
    excluded_words: Collection[str] = frozenset(),
) -> dict[int, Judged]:
    """Return what is said about the examples of some groups, by their places in `examples`.

    The words of an example are judged by coefficients that were fitted without its group, and
    combined with weights and a threshold that were set without its group.
    """
    _check_examples(examples)
    unseen = _fit_unseen(examples, excluded_words)
    judged = {}
    for group in dict.fromkeys(groups):
        rest = [place for place, each in enumerate(examples) if each.group != group]
        others, of_others = [examples[each] for each in rest], [unseen[each] for each in rest]
        weights, threshold = _set_weights_and_threshold(others, of_others)
        limit = log(threshold / (1 - threshold))
        for place, example in enumerate(examples):
            if example.group == group:
                log_odds = _combine(example, unseen[place], weights, _types_of(examples))
                best = find_leader(log_odds, weights.log_odds_per_point)
                is_certain = log_odds.get(best, 0.0) >= limit
                judged[place] = Judged(log_odds, best if is_certain else NO_TYPE)
    return judged


def _leave_out_rare_types(examples: Sequence[Example], base: Model | None) -> list[Example]:
    """Return the examples without those of types that few groups have and `base` does not know.

    The words of one layout say little about the words of another one.
    """
    groups: dict[str, set[str]] = defaultdict(set)
    for example in examples:
        groups[example.type].add(example.group)
    known = {NO_TYPE, *(base.classes if base else ())}
    return [
        each for each in examples if each.type in known or len(groups[each.type]) >= MIN_TYPE_GROUPS
    ]


def _check_examples(examples: Sequence[Example]) -> None:
    if len({each.group for each in examples}) < 2 or len({each.type for each in examples}) < 2:
        raise ValueError("a model needs examples of two types and of two groups")


def _to_json(
    words: WordCoefficients,
    weights: Weights,
    threshold: float,
    name: str,
    examples: Sequence[Example],
) -> dict[str, Any]:
    rows = zip(words.vocabulary, np.round(words.coefficients, DIGITS).tolist(), strict=True)
    return {
        "format": MODEL_FORMAT,
        "name": name,
        "classes": list(words.classes),
        "intercepts": np.round(words.intercepts, DIGITS).tolist(),
        "log_odds_per_point": round(weights.log_odds_per_point, DIGITS),
        "weight_of_words": round(weights.weight_of_words, DIGITS),
        "log_odds_of_any_type": round(weights.log_odds_of_any_type, DIGITS),
        "max_log_odds_of_words": MAX_LOG_ODDS_OF_WORDS,
        "threshold": round(threshold, THRESHOLD_DIGITS),
        "training": {
            "examples": len(examples),
            "groups": len({example.group for example in examples}),
            "types": dict(sorted(Counter(example.type for example in examples).items())),
        },
        "coefficients": dict(rows),
    }


def _fit_unseen(
    examples: Sequence[Example], excluded_words: Collection[str]
) -> list[dict[str, float]]:
    """Return the log-odds of the words of each example.

    The first step that gives them was not trained with the group of the example.
    """
    groups = [example.group for example in examples]
    folds = GroupKFold(n_splits=min(FOLDS, len(set(groups))))
    log_odds: list[dict[str, float]] = [{} for _ in examples]
    for training, test in folds.split(groups, groups=groups):
        words = fit_words([examples[each] for each in training], None, excluded_words)
        model = Model.from_json(_to_json(words, EXPECTED_WEIGHTS, MIN_THRESHOLD, "", examples))
        for each in test:
            log_odds[each] = model.log_odds_of_words(examples[each].features)
    return log_odds


def _set_weights_and_threshold(
    examples: Sequence[Example], unseen: Sequence[Mapping[str, float]]
) -> tuple[Weights, float]:
    """Return the weights of landmarks and words, and the threshold."""
    used = [place for place, each in enumerate(examples) if not each.only_words]
    examples, unseen = [examples[each] for each in used], [unseen[each] for each in used]
    weights = _fit_weights(examples, unseen)
    return weights, _find_threshold(examples, unseen, weights)


def _fit_weights(examples: Sequence[Example], unseen: Sequence[Mapping[str, float]]) -> Weights:
    """Return the weights of the second step, by maximum likelihood."""
    slugs, limit = _types_of(examples), MAX_LOG_ODDS_OF_WORDS
    points = np.array(
        [[example.features.get(POINTS + slug, 0.0) for slug in slugs] for example in examples]
    )
    words = np.clip([[each.get(slug, 0.0) for slug in slugs] for each in unseen], -limit, limit)
    right = np.array(
        [[slug in example.right_types for slug in (NO_TYPE, *slugs)] for example in examples]
    )
    expected, deviations = np.array(EXPECTED_WEIGHTS), np.array(WEIGHT_DEVIATIONS)
    importance = weigh_examples(examples)

    def loss(weights: Numbers) -> float:
        scores = weights[0] * points + weights[1] * words + weights[2]
        scores = np.hstack([np.zeros((len(examples), 1)), scores])
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        of_right = (shares * right).sum(axis=1) / shares.sum(axis=1)
        surprise = -(importance * np.log(np.maximum(of_right, 1e-300))).sum()
        return float(surprise + (((weights - expected) / deviations) ** 2).sum() / 2)

    found = minimize(loss, expected, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-6})
    return Weights(*found.x.tolist())


def _find_threshold(
    examples: Sequence[Example], unseen: Sequence[Mapping[str, float]], weights: Weights
) -> float:
    """Return the threshold at which no example is recognised as a wrong type, with a margin."""
    slugs = _types_of(examples)
    highest = log(MIN_THRESHOLD / (1 - MIN_THRESHOLD))
    for example, words in zip(examples, unseen, strict=True):
        log_odds = _combine(example, words, weights, slugs)
        best = find_leader(log_odds, weights.log_odds_per_point)
        if best != NO_TYPE and best not in example.right_types:
            highest = max(highest, log_odds[best] + THRESHOLD_MARGIN)
    return 1 / (1 + exp(-highest))


def _combine(
    example: Example, words: Mapping[str, float], weights: Weights, slugs: Sequence[str]
) -> dict[str, float]:
    """Return the log-odds of each type against no type."""
    return {
        slug: weights.log_odds_of_any_type
        + weights.log_odds_per_point * example.features.get(POINTS + slug, 0.0)
        + weights.weight_of_words * words.get(slug, 0.0)
        for slug in slugs
    }


def _types_of(examples: Sequence[Example]) -> list[str]:
    """Return all types that the examples have, or have landmarks of."""
    named = {
        feature.removeprefix(POINTS)
        for example in examples
        for feature in example.features
        if feature.startswith(POINTS)
    }
    return sorted((named | {slug for each in examples for slug in each.right_types}) - {NO_TYPE})
