"""Computes the probability that a document begins with a page (the model of boundaries).

It is a sum of small decision trees (gradient boosting), which `bench.fit_boundaries` fits. The
coefficients are in `boundary_model.json`. At run time only additions and comparisons are needed.
"""

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import exp
from typing import Any, Self

from ingestion.rules.document_types import BOUNDARY_MODEL_FILE

# A leaf, or the position of a feature, its limit, and what follows up to the limit and above it.
Tree = float | tuple[int, float, "Tree", "Tree"]


@dataclass(frozen=True, slots=True, eq=False)  # the hash of all trees would take a millisecond
class BoundaryModel:
    """The trees, and the probability from which a page is in doubt."""

    features: tuple[str, ...]
    base: float  # log-odds
    trees: tuple[Tree, ...]
    doubt_from: float  # with a lower probability, a page certainly continues a document

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Return the model of the content of a file."""
        return cls(
            tuple(content["features"]),
            content["base"],
            tuple(_tree(each) for each in content["trees"]),
            content["doubt_from"],
        )

    def probability(self, features: Mapping[str, float]) -> float:
        """Return the probability that a document begins with the page with these features."""
        values = [features[name] for name in self.features]
        log_odds = 0.0
        for tree in self.trees:
            node = tree
            while isinstance(node, tuple):
                position, limit, low, high = node
                node = low if values[position] <= limit else high
            log_odds += node
        return 1 / (1 + exp(-self.base - log_odds))

    def bound(self, unknown: Container[str]) -> "BoundaryModel":
        """Return a model without the `unknown` features, whose probability is never lower."""
        known = tuple(name for name in self.features if name not in unknown)
        positions = {self.features.index(name): at for at, name in enumerate(known)}
        return replace(
            self, features=known, trees=tuple(_bound(tree, positions) for tree in self.trees)
        )


def _bound(tree: Tree, positions: Mapping[int, int]) -> Tree:
    """Return a tree of the features with these new positions that is never lower."""
    if not isinstance(tree, tuple):
        return tree
    position, limit, low, high = tree
    low, high = _bound(low, positions), _bound(high, positions)
    if position not in positions:
        return _higher(low, high)
    return positions[position], limit, low, high


def _higher(one: Tree, other: Tree) -> Tree:
    """Return a tree with the higher result of two trees."""
    if isinstance(one, tuple):
        position, limit, low, high = one
        return position, limit, _higher(low, other), _higher(high, other)
    return _higher(other, one) if isinstance(other, tuple) else max(one, other)


def _tree(content: Any) -> Tree:
    if not isinstance(content, list):
        return float(content)
    position, limit, low, high = content
    return position, limit, _tree(low), _tree(high)


@cache
def load_boundary_model() -> BoundaryModel:
    """Return the built-in model. It is read once for each process."""
    return BoundaryModel.from_json(json.loads(BOUNDARY_MODEL_FILE.read_text(encoding="utf-8")))
