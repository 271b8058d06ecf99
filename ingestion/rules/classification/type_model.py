"""Computes the probabilities of document types from the coefficients of the statistical model.

The model is linear and has two steps. The first one gives each type log-odds from the words and the
layout of a document. The second one adds them to the points of the landmarks, with the same two
weights for all types, so that a type that the first step never saw is still judged by its
landmarks. "None of these types" is one of the classes.

The coefficients are plain numbers in a JSON object. `ingestion.training` makes it; a prediction
needs neither its libraries nor numpy.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop
from math import exp, inf, log, sqrt
from operator import mul
from typing import Any, NamedTuple, Self

from ingestion.rules.classification.features import LAYOUT, POINTS, Features
from ingestion.rules.document_types import MIN_TYPE_SCORE, MODEL_FILE

NO_TYPE = ""  # the class of documents that have none of the types
MODEL_FORMAT = 1
# The lead of a recognised type before the next one, as if it had this many points more.
MIN_LEAD_POINTS = 2
_ROUNDING = 1e-9


class ModelError(Exception):
    """An object is not a model of document types. The message says what is wrong with it."""


class Contribution(NamedTuple):
    """A feature that a document shows, and its log-odds for a type against no type."""

    feature: str
    log_odds: float


@dataclass(frozen=True, slots=True)
class Model:
    """A model of document types. `coefficients` has a row of numbers for each feature.

    A row and the intercepts have the same order as `classes`, of which the first is NO_TYPE.
    """

    name: str
    classes: tuple[str, ...]
    intercepts: tuple[float, ...]
    coefficients: Mapping[str, tuple[float, ...]]
    log_odds_per_point: float
    weight_of_words: float
    log_odds_of_any_type: float  # of a type without landmarks and words, against no type
    max_log_odds_of_words: float  # the words of a document count at most this much
    threshold: float  # the probability, against no type, from which a type is recognised
    training: Mapping[str, Any]  # what it was trained with: counts, and nothing of a document

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Return the model of a JSON object that `train` made. Raises ModelError."""
        try:
            if content["format"] != MODEL_FORMAT:
                raise ModelError(f"the format {content['format']!r} is not known")
            classes = tuple(map(str, content["classes"]))
            model = cls(
                name=str(content["name"]),
                classes=classes,
                intercepts=tuple(map(float, content["intercepts"])),
                coefficients={
                    str(feature): tuple(map(float, row))
                    for feature, row in content["coefficients"].items()
                },
                log_odds_per_point=float(content["log_odds_per_point"]),
                weight_of_words=float(content["weight_of_words"]),
                log_odds_of_any_type=float(content["log_odds_of_any_type"]),
                max_log_odds_of_words=float(content["max_log_odds_of_words"]),
                threshold=float(content["threshold"]),
                training=dict(content["training"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"a key is missing or has a wrong value: {error}") from error
        widths = {len(row) for row in (model.intercepts, *model.coefficients.values())}
        if widths != {len(classes)} or classes[:1] != (NO_TYPE,):
            raise ModelError("a row does not have one number for each class")
        if not 0 < model.threshold < 1:
            raise ModelError("the threshold is not between 0 and 1")
        return model

    def recognise(self, features: Features, types: Collection[str] | None = None) -> str:
        """Return the type that a document has without doubt, or NO_TYPE."""
        return self.decide(self.log_odds(features, types))

    def log_odds(
        self, features: Features, types: Collection[str] | None = None
    ) -> dict[str, float]:
        """Return the log-odds of each type against no type.

        `types` are the types in question; by default those of the model and those with points.
        """
        if types is None:
            of_points = (name.removeprefix(POINTS) for name in features if name.startswith(POINTS))
            types = dict.fromkeys((*self.classes[1:], *of_points))
        words = self.log_odds_of_words(features)
        of_unknown = self._log_odds_without_words
        return {
            slug: self.log_odds_per_point * features.get(POINTS + slug, 0.0)
            + (
                self.log_odds_of_any_type + self.weight_of_words * words[slug]
                if slug in words
                else of_unknown
            )
            for slug in types
        }

    @property
    def _log_odds_without_words(self) -> float:
        """Return the log-odds with which a type is recognised from MIN_TYPE_SCORE points."""
        return _logit(self.threshold) - self.log_odds_per_point * MIN_TYPE_SCORE

    def log_odds_of_points(self, points: Mapping[str, int]) -> dict[str, float]:
        """Return the log-odds of each type against no type by its landmarks alone."""
        return {
            slug: self.log_odds_per_point * count + self._log_odds_without_words
            for slug, count in points.items()
        }

    def decide(self, log_odds: Mapping[str, float]) -> str:
        """Return the type that is certain enough and leads clearly, or NO_TYPE."""
        best = find_leader(log_odds, self.log_odds_per_point)
        is_certain = log_odds.get(best, -inf) >= _logit(self.threshold) - _ROUNDING
        return best if is_certain else NO_TYPE

    def log_odds_of_words(self, features: Features) -> dict[str, float]:
        """Return the log-odds of each type of the model against no type, without landmarks.

        They are limited, because the words of a document are not independent of each other.
        """
        found = scale_features(features, self.coefficients)
        sums = list(self.intercepts)
        if found:
            values = [value for _, value in found]
            columns = zip(*[self.coefficients[feature] for feature, _ in found], strict=True)
            sums = [
                sum(map(mul, column, values), intercept)
                for intercept, column in zip(self.intercepts, columns, strict=True)
            ]
        limit = self.max_log_odds_of_words
        return {
            slug: max(-limit, min(limit, each - sums[0]))
            for slug, each in zip(self.classes[1:], sums[1:], strict=True)
        }

    def explain(self, features: Features, slug: str) -> list[Contribution]:
        """Return the features that speak for a type against no type, the strongest first."""
        return list(next(self.explain_each(features, (slug,))))

    def explain_each(
        self, features: Features, slugs: Iterable[str]
    ) -> Iterator[Iterator[Contribution]]:
        """Yield for each of some types what `explain` returns, one by one."""
        found = [
            (feature, value, self.coefficients[feature])
            for feature, value in scale_features(features, self.coefficients)
        ]
        for slug in slugs:
            column = self.classes.index(slug) if slug in self.classes else 0
            ranked = [
                (-log_odds, feature)
                for feature, value, row in found
                if (log_odds := (row[column] - row[0]) * value) > 0
            ]
            heapify(ranked)  # mostly, only the first ones are needed
            yield _take_in_order(ranked)


def _take_in_order(heap: list[tuple[float, str]]) -> Iterator[Contribution]:
    """Yield the features of a heap with their log-odds, which it has with the opposite sign."""
    while heap:
        log_odds, feature = heappop(heap)
        yield Contribution(feature, -log_odds)


def find_leader(log_odds: Mapping[str, float], log_odds_per_point: float) -> str:
    """Return the most probable type, or NO_TYPE if it does not lead the next one clearly."""
    best, *others = sorted(log_odds, key=lambda slug: -log_odds[slug]) or [NO_TYPE]
    lead = log_odds[best] - log_odds[others[0]] if others else inf
    return best if lead >= MIN_LEAD_POINTS * log_odds_per_point - _ROUNDING else NO_TYPE


def compute_probabilities(log_odds: Mapping[str, float]) -> dict[str, float]:
    """Return the probabilities of some types and of NO_TYPE from their log-odds against it."""
    all_log_odds = {**log_odds, NO_TYPE: 0.0}
    highest = max(all_log_odds.values())  # avoids an overflow
    weights = {slug: exp(each - highest) for slug, each in all_log_odds.items()}
    total = sum(weights.values())
    return {slug: weight / total for slug, weight in weights.items()}


def scale_features(features: Features, known: Collection[str]) -> list[tuple[str, float]]:
    """Return the known features of words and layout, with the values that the model multiplies.

    Each word counts less in a document with many words, so that a long document is not more
    certain than a short one.
    """
    found = [(name, value) for name, value in features.items() if name in known]
    are_layout = [name.startswith(LAYOUT) for name, _ in found]
    word_count = are_layout.count(False)
    share = 1 / sqrt(word_count) if word_count else 0.0
    return [
        (name, value if is_layout else value * share)
        for (name, value), is_layout in zip(found, are_layout, strict=True)
    ]


def _logit(probability: float) -> float:
    return log(probability / (1 - probability))


@cache
def load_model() -> Model:
    """Return the built-in model. It is read once for each process."""
    return Model.from_json(json.loads(MODEL_FILE.read_text(encoding="utf-8")))
