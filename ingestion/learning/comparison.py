"""Compares two models of document types on documents that neither was trained with.

The result is plain JSON, which is stored with the model and shown to the person who decides about
it: the figures of both, and each document that they judge differently.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from ingestion.reading.results import DocumentReading
from ingestion.rules.classification.classify import Classification


class Change(StrEnum):
    """Names the ways in which the judgement of a document may change.

    The type that a person stated is taken as the right one.
    """

    BETTER = "better"  #: The right type instead of none or a wrong one, or none instead of a wrong.
    WORSE = "worse"  #: The reverse.
    OTHER = "other"  #: A different wrong type.


@dataclass(frozen=True, slots=True)
class TestDocument:
    """A document of the independent part, with the type that a person stated."""

    __test__ = False  # pytest takes classes with this name for tests

    key: int
    name: str
    site: str
    type: str
    reading: DocumentReading


@dataclass(slots=True)
class ModelFigures:
    """Counts the judgements of one model on documents without a declared type."""

    right: int = 0
    right_first: int = 0  # the right type is the most probable one, even if it is in doubt
    right_in_three: int = 0  # the right type is among the three most probable ones
    unrecognised: int = 0
    wrong: int = 0  # another type, without doubt


@dataclass(slots=True)
class Comparison:
    """The figures of both models, by type and together, and the documents that differ."""

    compared_with: str = ""  # the SHA-256 of the first model; "" for the built-in model
    documents: int = 0
    sites: list[str] = field(default_factory=list)
    before: ModelFigures = field(default_factory=ModelFigures)
    after: ModelFigures = field(default_factory=ModelFigures)
    types: dict[str, dict[str, int]] = field(default_factory=dict)  # documents, before, after
    changes: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as a dict, as it is stored with the model."""
        return asdict(self)


Judge = Callable[[DocumentReading], Classification]


def compare_models(documents: Sequence[TestDocument], *, before: Judge, after: Judge) -> Comparison:
    """Return how two models judge the documents. Each is given by the function that applies it."""
    sites = sorted({each.site for each in documents})
    result = Comparison(documents=len(documents), sites=sites)
    for document in documents:
        old, new = before(document.reading), after(document.reading)
        _count(result.before, old, document.type)
        _count(result.after, new, document.type)
        counts = result.types.setdefault(document.type, {"documents": 0, "before": 0, "after": 0})
        counts["documents"] += 1
        counts["before"] += old.slug == document.type
        counts["after"] += new.slug == document.type
        if old.slug != new.slug:
            result.changes.append(_describe_change(document, old, new))
    result.changes.sort(key=lambda change: (list(Change).index(change["change"]), change["key"]))
    return result


def _count(figures: ModelFigures, found: Classification, true: str) -> None:
    figures.right += found.slug == true
    figures.unrecognised += not found.slug
    figures.wrong += bool(found.slug) and found.slug != true
    first = found.slug or (found.candidates[0].slug if found.candidates else "")
    figures.right_first += first == true
    figures.right_in_three += true in {found.slug, *(each.slug for each in found.candidates)}


def _describe_change(
    document: TestDocument, old: Classification, new: Classification
) -> dict[str, Any]:
    ranks = [_rank(found.slug, document.type) for found in (old, new)]
    change = Change.OTHER
    if ranks[0] != ranks[1]:
        change = Change.BETTER if ranks[1] > ranks[0] else Change.WORSE
    return {
        "key": document.key,
        "name": document.name,
        "site": document.site,
        "type": document.type,
        "before": old.slug,
        "after": new.slug,
        "change": str(change),
    }


def _rank(slug: str, true: str) -> int:
    """Return 2 for the right type, 1 for none, which a person decides, and 0 for a wrong one."""
    return 2 if slug == true else 0 if slug else 1
