"""Computes the probability that a document begins with a page (the model of boundaries).

It is a sum of small decision trees (gradient boosting), which `bench.fit_boundaries` fits. The
coefficients are in `boundary_model.json`. At run time only additions and comparisons are needed,
which are made for all trees at once.
"""

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import exp, inf
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ingestion.rules.document_types import BOUNDARY_MODEL_FILE

# A leaf, or the position of a feature, its limit, and what follows up to the limit and above it.
Tree = float | tuple[int, float, "Tree", "Tree"]


class _Nodes(NamedTuple):
    """The questions and leaves of all trees, each with a place in these arrays.

    The roots are first, in the order of the trees. A leaf is always followed by itself.
    """

    positions: NDArray[np.intp]  # of the feature that is compared
    limits: NDArray[np.float64]
    followers: NDArray[np.intp]  # the place of what follows up to the limit; above it, the next one
    results: NDArray[np.float64]  # of the leaves

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Self:
        """Return the nodes of some trees."""
        nodes, rows = list(trees), []
        for place, node in enumerate(nodes):  # which becomes longer until all nodes are in it
            if isinstance(node, tuple):
                position, limit, low, high = node
                rows.append((position, limit, len(nodes), 0.0))
                nodes += low, high
            else:
                rows.append((0, inf, place, node))
        positions, limits, followers, results = np.reshape(rows, (-1, 4)).T
        return cls(positions.astype(np.intp), limits, followers.astype(np.intp), results)


@dataclass(frozen=True, eq=False)  # the hash of all trees would take a millisecond
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
        nodes = self._nodes
        values = np.array([features[name] for name in self.features])
        places = np.arange(len(self.trees))
        for _ in range(self._depth):
            is_above = values[nodes.positions[places]] > nodes.limits[places]
            places = nodes.followers[places] + is_above
        # Python adds them one after the other, numpy in an order that depends on the machine.
        log_odds = sum(nodes.results[places].tolist())
        return 1 / (1 + exp(-self.base - log_odds))

    @cached_property
    def _nodes(self) -> _Nodes:
        return _Nodes.of(self.trees)

    @cached_property
    def _depth(self) -> int:
        """Return the number of questions from a root to the farthest leaf."""
        return max(map(_measure_depth, self.trees), default=0)

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


def _measure_depth(tree: Tree) -> int:
    if not isinstance(tree, tuple):
        return 0
    _, _, low, high = tree
    return 1 + max(_measure_depth(low), _measure_depth(high))


def _tree(content: Any) -> Tree:
    if not isinstance(content, list):
        return float(content)
    position, limit, low, high = content
    return position, limit, _tree(low), _tree(high)


@cache
def load_boundary_model() -> BoundaryModel:
    """Return the built-in model. It is read once for each process."""
    return BoundaryModel.from_json(json.loads(BOUNDARY_MODEL_FILE.read_text(encoding="utf-8")))
