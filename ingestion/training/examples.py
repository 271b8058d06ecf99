"""Defines the examples with which the model of document types is trained, and their weights."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingestion.rules.classification.features import Features

Numbers = NDArray[np.float64]


class Example(NamedTuple):
    """A document whose type is known."""

    features: Features
    type: str  # the id of its type; "" if it has none of the types
    group: str  # an institution or a family of layouts; examples of a group resemble each other
    also_right: Collection[str] = ()  # other types that are right for the document too
    # Whether only the coefficients of words are fitted with it. A renewal may be written like an
    # approval, and a threshold above all such examples would recognise nothing.
    only_words: bool = False

    @property
    def right_types(self) -> frozenset[str]:
        """Return the types that are right, or only NO_TYPE."""
        return frozenset((self.type, *self.also_right))


def weigh_examples(examples: Sequence[Example]) -> Numbers:
    """Return the weights of the examples.

    The examples of a type from one group resemble each other, so that n of them count as the root
    of n. Between a type with many examples and one with few, the difference is reduced to its root.
    """
    by_group = Counter((example.group, example.type) for example in examples)
    weights = [by_group[example.group, example.type] ** -0.5 for example in examples]
    by_type: dict[str, float] = defaultdict(float)
    for example, weight in zip(examples, weights, strict=True):
        by_type[example.type] += weight
    mean = sum(by_type.values()) / len(by_type)
    return np.array(
        [
            weight * (mean / by_type[example.type]) ** 0.5
            for example, weight in zip(examples, weights, strict=True)
        ]
    )
