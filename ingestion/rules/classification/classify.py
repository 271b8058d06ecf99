"""Classifies documents by their landmarks, their words and their layout.

Landmarks (`landmarks`) give each type its points. A statistical model (`type_model`) adds what the
words and the layout say, and gives each type a probability. A type is recognised if its probability
reaches the model's threshold and it leads the next type clearly. Otherwise there is no answer and a
person decides, with the three most probable types as candidates.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from math import inf

from audit.translation import gettext
from ingestion.reading.languages import ENGLISH
from ingestion.reading.results import DocumentReading
from ingestion.rules.classification.features import (
    LAYOUT,
    MAX_WORD_PAGES,
    extract_features,
    list_distinct_words,
)
from ingestion.rules.classification.landmarks import TypeScore, name_pages, score_types
from ingestion.rules.classification.type_model import (
    Contribution,
    Model,
    compute_probabilities,
    load_model,
)
from ingestion.rules.document_types import MIN_TYPE_SCORE, TYPES, DocumentType

__all__ = [
    "Classification",
    "TypeCandidate",
    "TypeMatch",
    "classify",
    "extract_document_features",
    "suggest_type",
]

MIN_SCORE_MARGIN = 2  # points
MAX_CANDIDATES = 3
_MAX_EVIDENCE_WORDS = 3


class TypeMatch(Enum):
    """States whether the declared type and the type that the pages show agree."""

    AGREED = "agreed"  #: they agree; or none was declared and the pages show one clearly
    CONFLICT = "conflict"  #: the pages clearly show another type
    UNRECOGNIZED = "unrecognized"


@dataclass(frozen=True, slots=True)
class TypeCandidate:
    """A type that a document may have. The probabilities of all types and of no type sum to 1."""

    slug: str
    probability: float
    evidence: str  # in words for a reviewer


@dataclass(frozen=True, slots=True)
class Classification:
    """The result of the classification of one document."""

    slug: str  # of the recognised type; "" if there is none
    fit: TypeMatch
    best: TypeScore
    candidates: tuple[TypeCandidate, ...] = ()  # the three most probable, the best first


def classify(
    reading: DocumentReading,
    declared: str = "",
    *,
    types: Mapping[str, DocumentType] = TYPES,
    model: Model | None = None,
) -> Classification:
    """Return the type of a document, compared with the slug of the declared type, if any.

    By default, `model` is the built-in model. It knows the words of English documents, so types
    with the phrases of another language are recognised by their landmarks alone.
    """
    model = model or load_model()
    scores = {score.slug: score for score in score_types(reading, types)}
    points = {slug: score.points for slug, score in scores.items()}
    is_english = all(kind.language == ENGLISH for kind in types.values())
    features = extract_features(reading, points) if is_english else {}
    log_odds = model.log_odds(features, scores) if is_english else model.log_odds_of_points(points)
    ranked = sorted(scores, key=lambda slug: -log_odds[slug])
    best = scores[ranked[0]] if ranked else TypeScore("")
    probabilities = compute_probabilities(log_odds)
    pages = [list_distinct_words(page.text) for page in reading.pages[:MAX_WORD_PAGES]]
    described = (
        (slug, _describe_evidence(scores[slug], contributions, pages))
        for slug, contributions in zip(ranked, model.explain_each(features, ranked), strict=False)
    )
    with_evidence = ((slug, evidence) for slug, evidence in described if evidence)
    candidates = tuple(
        TypeCandidate(slug, probabilities[slug], evidence)
        for slug, evidence in islice(with_evidence, MAX_CANDIDATES)
    )
    recognised = model.decide(log_odds)
    if declared and declared != recognised:
        is_possible = log_odds.get(declared, -inf) >= 0  # the type is as probable as no type
        if is_possible and _agrees(declared, scores, types):
            return Classification(declared, TypeMatch.AGREED, best, candidates)
    if not recognised:
        return Classification("", TypeMatch.UNRECOGNIZED, best, candidates)
    fit = TypeMatch.CONFLICT if declared not in {"", recognised} else TypeMatch.AGREED
    return Classification(recognised, fit, best, candidates)


def extract_document_features(
    reading: DocumentReading, *, types: Mapping[str, DocumentType] = TYPES
) -> dict[str, float]:
    """Return the features of a document, with which a model is trained and predicts its type."""
    points = {score.slug: score.points for score in score_types(reading, types)}
    return extract_features(reading, points)


def _agrees(
    declared: str, scores: Mapping[str, TypeScore], types: Mapping[str, DocumentType]
) -> bool:
    """Return whether the declared type has enough landmarks, and not clearly fewer than others."""
    # Of two decisions of an ethics committee, the declared one is not taken for the better one.
    rivals = [
        score.points
        for score in scores.values()
        if types[declared].family
        and types[score.slug].family == types[declared].family
        and score.slug != declared
    ]
    return scores[declared].points >= max(
        MIN_TYPE_SCORE,
        max(score.points for score in scores.values()) - MIN_SCORE_MARGIN + 1,
        max(rivals, default=-MIN_SCORE_MARGIN) + MIN_SCORE_MARGIN,
    )


def _describe_evidence(
    score: TypeScore, contributions: Iterable[Contribution], pages: Sequence[Container[str]]
) -> str:
    """Return the landmarks of a type and the words that weighed most, with their pages.

    `pages` are the words of the first pages. The result is "" if there are neither.
    """
    words: dict[str, int] = {}
    for feature, _ in contributions:
        prefix, _, word = feature.partition(":")
        page = next((number for number, found in enumerate(pages, 1) if word in found), 0)
        if page and f"{prefix}:" != LAYOUT:
            words.setdefault(word, page)
            if len(words) == _MAX_EVIDENCE_WORDS:
                break
    named = name_pages(words.items())
    if named:
        named = gettext("words: {words}").format(words=named)
    return "; ".join(filter(None, (score.evidence, named)))


def suggest_type(filename: str) -> str:
    """Return the slug of the type that the name of a file suggests, or ""."""
    words = f" {re.sub(r'[^a-z0-9]+', ' ', filename.casefold())} "
    hints = [(hint, kind.slug) for kind in TYPES.values() for hint in kind.filename]
    hints.sort(key=lambda pair: -len(pair[0]))  # "IRB approval" is more specific than "IRB"
    return next((slug for hint, slug in hints if f" {hint} " in words), "")
