"""Chooses between candidates for the values of a document's fields.

A field may have several candidates, each found in one or more ways. Two ways are independent: each
uses something else of the document, such as the place of a value on the page, or the order of the
text. A value is without doubt only if two ways led to it, or one way that needs no second one, and
if no other candidate is about as good. The candidates of all dates are chosen together, because a
document begins before it ends.

This module is pure. It knows neither document types nor pages.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from itertools import product
from typing import Generic, TypeVar

WAY_BONUS = 0.1  # of a score, for each way after the first one
MAX_JOINT_CANDIDATES = 4  # of one field, in the joint choice; the limit bounds the time
_RIVAL_MARGIN = 0.05  # of a score; a candidate that is worse by less is about as good
_VIOLATION_COST = 0.25  # of a score, if a document would end before it begins

V = TypeVar("V", bound=Hashable)


class Way(StrEnum):
    """The ways in which a value can be found."""

    FORM = "form field"  #: the file itself names the value
    SHAPE = "fixed format"  #: no other value has this format
    PLACE = "place"  #: beside or below its caption, by the positions on the page
    TEXT = "text"  #: after its caption, in the order of the text
    ALIGNED = "alignment"  #: exactly in the column of its caption
    SENTENCE = "sentence"  #: in a phrase such as "approved on"
    LETTER = "letter"  #: at its usual place in a letter: its date, its addressee
    HEADING = "heading"  #: in the head of page 1, by its words or its type
    TYPE = "type"  #: the only name in large type
    REPEATED = "repeated"  #: printed at a second place in the document


# Ways that need no second one.
_SUFFICIENT = frozenset({Way.FORM, Way.SHAPE})


def are_agreed(ways: frozenset[Way]) -> bool:
    """Return whether these are two independent ways, or one that needs no second one."""
    return len(ways) > 1 or bool(ways & _SUFFICIENT)


@dataclass(frozen=True, slots=True)
class Candidate(Generic[V]):
    """A value that a field may have. `key` is equal for two writings of the same value."""

    key: V
    ways: frozenset[Way]
    score: float  # 0 to 1: how much the best of its ways is worth
    rank: int = 0  # of its caption among the captions of the field; equal captions are equal
    day: date | None = None

    @property
    def is_agreed(self) -> bool:
        """Return whether two independent ways led to the value, or one that needs no second one."""
        return are_agreed(self.ways)

    @property
    def total(self) -> float:
        """Return the score with the bonus for each further way."""
        return self.score + WAY_BONUS * (len(self.ways) - 1)


@dataclass(frozen=True, slots=True)
class Choice(Generic[V]):
    """The chosen candidate of a field, and what casts doubt on it."""

    best: Candidate[V]
    rival: Candidate[V] | None = None  # another value that is about as good

    @property
    def is_without_doubt(self) -> bool:
        """Return whether the value is agreed, and no other one is about as good."""
        return self.best.is_agreed and self.rival is None


def merge_candidates(candidates: Iterable[Candidate[V]]) -> list[Candidate[V]]:
    """Return one candidate for each value, with all of its ways, the best first.

    Candidates with equal totals stay in their order.
    """
    merged: dict[V, Candidate[V]] = {}
    for each in candidates:
        known = merged.get(each.key)
        if known is None:
            merged[each.key] = each
        else:
            better = max(known, each, key=lambda one: one.score)
            merged[each.key] = replace(better, ways=known.ways | each.ways)
    return sorted(merged.values(), key=lambda each: -each.total)


def choose(candidates: Iterable[Candidate[V]]) -> Choice[V] | None:
    """Return the choice for one field, or None without a candidate."""
    return _judge(None, merge_candidates(candidates))


def choose_together(
    candidates: Mapping[str, Iterable[Candidate[V]]], order: Iterable[tuple[str, str]]
) -> dict[str, Choice[V]]:
    """Return the choice for each field that has a candidate.

    `order` lists pairs of fields of which the first has to be before the second or on the same day.
    If the best values contradict this, a slightly worse combination without contradiction is
    chosen, and the contradiction is the doubt. A contradiction that cannot be avoided remains, so
    that a check can report it.
    """
    merged = {
        name: ranked for name, each in candidates.items() if (ranked := merge_candidates(each))
    }
    pairs = [(one, other) for one, other in order if one in merged and other in merged]
    names = sorted({name for pair in pairs for name in pair})
    chosen: dict[str, Candidate[V]] = {}
    if names:
        options = [merged[name][:MAX_JOINT_CANDIDATES] for name in names]
        best = max(
            product(*options),
            key=lambda combination: _total(dict(zip(names, combination, strict=True)), pairs),
        )
        chosen = dict(zip(names, best, strict=True))
    choices = {}
    for name, ranked in merged.items():
        if choice := _judge(chosen.get(name), ranked):
            choices[name] = choice
    return choices


def _total(combination: Mapping[str, Candidate[V]], pairs: Sequence[tuple[str, str]]) -> float:
    violations = sum(
        one is not None and other is not None and one > other
        for one, other in (
            (combination[first].day, combination[second].day) for first, second in pairs
        )
    )
    return sum(each.total for each in combination.values()) - _VIOLATION_COST * violations


def _judge(best: Candidate[V] | None, ranked: Sequence[Candidate[V]]) -> Choice[V] | None:
    """Return the choice of `best`, or of the first, with a rival if there is one.

    A rival is a better candidate that the constraints excluded, or another value at an equal
    caption that is about as good.
    """
    if not ranked:
        return None
    best = best or ranked[0]
    is_rival: Callable[[Candidate[V]], bool] = lambda each: (  # noqa: E731 - used once below
        each.key != best.key
        and (
            each.total > best.total
            or (each.rank == best.rank and each.total > best.total - _RIVAL_MARGIN)
        )
    )
    return Choice(best, next(filter(is_rival, ranked), None))
