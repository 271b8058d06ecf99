"""The statistical model of document types: its coefficients, and the probabilities it gives.

The model is linear and has two steps. The first one gives each type log-odds from the words and the
layout of a document. The second one adds them to the points of the landmarks, with the same two
weights for all types, so that a type that the first step never saw is still judged by its
landmarks. "None of these types" is one of the classes.

The coefficients are plain numbers in a JSON object. `ingestion.training` makes it; a prediction
needs neither its libraries nor numpy.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from math import exp, sqrt
from typing import Any, NamedTuple, Self

from ingestion.rules.classification.features import LAYOUT, POINTS, Features
from ingestion.rules.document_types import MODEL_FILE

NO_TYPE = ""  # the class of documents that have none of the types
MODEL_FORMAT = 1


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
    threshold: float  # the probability from which a type is recognised without doubt
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
        return model

    def predict(
        self, features: Features, types: Collection[str] | None = None
    ) -> dict[str, float]:
        """Return the probability of each type and of NO_TYPE. They sum to 1.

        `types` are the types in question; by default those of the model and those with points.
        """
        if types is None:
            with_points = (name.removeprefix(POINTS) for name in features if name.startswith(POINTS))
            types = dict.fromkeys((*self.classes[1:], *with_points))
        words = self.log_odds_of_words(features)
        log_odds = {
            slug: self.log_odds_of_any_type
            + self.log_odds_per_point * features.get(POINTS + slug, 0.0)
            + self.weight_of_words * words.get(slug, 0.0)
            for slug in types
        }
        log_odds[NO_TYPE] = 0.0
        highest = max(log_odds.values())  # avoids an overflow
        weights = {slug: exp(each - highest) for slug, each in log_odds.items()}
        total = sum(weights.values())
        return {slug: weight / total for slug, weight in weights.items()}

    def log_odds_of_words(self, features: Features) -> dict[str, float]:
        """Return the log-odds of each type of the model against no type, without landmarks.

        They are limited, because the words of a document are not independent of each other.
        """
        sums = list(self.intercepts)
        for feature, value in scale_features(features, self.coefficients):
            for column, coefficient in enumerate(self.coefficients[feature]):
                sums[column] += coefficient * value
        limit = self.max_log_odds_of_words
        return {
            slug: max(-limit, min(limit, each - sums[0]))
            for slug, each in zip(self.classes[1:], sums[1:], strict=True)
        }

    def explain(self, features: Features, slug: str) -> list[Contribution]:
        """Return the features that speak for a type against no type, the strongest first."""
        if slug not in self.classes:
            return []
        column = self.classes.index(slug)
        found = [
            Contribution(feature, (row[column] - row[0]) * value)
            for feature, value in scale_features(features, self.coefficients)
            if (row := self.coefficients[feature])
        ]
        return sorted(
            (each for each in found if each.log_odds > 0),
            key=lambda each: (-each.log_odds, each.feature),
        )


def scale_features(features: Features, known: Collection[str]) -> list[tuple[str, float]]:
    """Return the known features of words and layout, with the values that the model multiplies.

    Each word counts less in a document with many words, so that a long document is not more
    certain than a short one.
    """
    found = [(name, value) for name, value in features.items() if name in known]
    word_count = sum(not name.startswith(LAYOUT) for name, _ in found)
    share = 1 / sqrt(word_count) if word_count else 0.0
    return [(name, value if name.startswith(LAYOUT) else value * share) for name, value in found]


@cache
def load_model() -> Model:
    """Return the model of the package. It is read once for each process."""
    return Model.from_json(json.loads(MODEL_FILE.read_text(encoding="utf-8")))
