"""The most probable starts of documents in a sequence of pages.

The sequence is a hidden Markov model whose state is the page on which the current document began. A
page either continues that document or begins another one. The probability of that is a logistic
function of the weighed evidence (`page_evidence`, `boundary_weights`). The starts are those of the
most probable path (Viterbi), and the probability of each boundary is that over all paths (forward
and backward sums).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log1p

from ingestion.rules.document_types import TYPES
from ingestion.rules.segmentation.boundary_weights import BIAS, WEIGHTS
from ingestion.rules.segmentation.page_evidence import (
    Evidence,
    PageEvidence,
    weigh_pages,
    weigh_title,
)

MAX_STATES = 16  # of the most probable starts of the current document that are kept for each page
MIN_LEAD = 2 / 8  # of a title ("lead of the title") that by itself shows another document
MIN_LEAD_IN_NUMBERING = 4 / 8  # the same, on a page that continues the numbering of the page before
SHOWN = 1.0  # log odds, at least, of a boundary that a title or a number shows
TOO_LONG = 3.0  # added to the log odds of a boundary on each page beyond the length of the type


@dataclass(frozen=True, slots=True)
class Boundary:
    """A page on which a document may begin. The first page of a sequence has probability 1."""

    is_start: bool  # on the most probable path
    probability: float  # from 0 to 1
    evidence: Evidence  # that was weighed, with the document before it on that path


Odds = list[dict[int, float]]  # for each page, the log odds of a boundary by the document's start


def find_boundaries(pages: Sequence[PageEvidence]) -> list[Boundary]:
    """Return whether a document begins on each page."""
    if not pages:
        return []
    forward, odds = _forward(pages)
    path = _most_probable_path(len(pages), odds)
    probabilities = _boundary_probabilities(forward, odds)
    boundaries = [Boundary(is_start=True, probability=1.0, evidence={})]
    start = 0
    for number in range(1, len(pages)):
        evidence = _collect(pages, start, number)
        is_start = number in path
        boundaries.append(Boundary(is_start, probabilities[number], evidence))
        start = number if is_start else start
    return boundaries


def log_odds(evidence: Mapping[str, float]) -> float:
    """Return the log odds of a boundary.

    Evidence that shows another document by itself is not outweighed by the likeness of the pages.
    """
    weighed = BIAS + sum(WEIGHTS[name] * value for name, value in evidence.items())
    return max(weighed, SHOWN) if _shows_another_document(evidence) else weighed


def _shows_another_document(evidence: Mapping[str, float]) -> bool:
    if evidence["numbered as first"] or evidence.get("another person or number"):
        return True
    lead = MIN_LEAD_IN_NUMBERING if evidence["numbering continues"] else MIN_LEAD
    is_mentioned = evidence.get("title may be mentioned", 0.0)
    return not is_mentioned and evidence.get("lead of the title", 0.0) >= lead


def _collect(pages: Sequence[PageEvidence], start: int, number: int) -> Evidence:
    return {
        **weigh_pages(pages[number - 1], pages[number]),
        **weigh_title(pages[start], pages[number]),
    }


def _forward(pages: Sequence[PageEvidence]) -> tuple[list[dict[int, float]], Odds]:
    """Return the log probability of each state on each page, and the log odds of a boundary."""
    forward: list[dict[int, float]] = [{0: 0.0}]
    odds: Odds = [{}]
    for number in range(1, len(pages)):
        pair = weigh_pages(pages[number - 1], pages[number])
        before, now, own = forward[-1], {}, {}
        begins = -inf
        for start, probability in before.items():
            value = log_odds({**pair, **weigh_title(pages[start], pages[number])})
            kind = TYPES.get(pages[start].kind)
            if kind and kind.max_pages and number - start >= kind.max_pages:
                value += TOO_LONG
            own[start] = value
            now[start] = probability + _log_sigmoid(-value)
            begins = _add_logs(begins, probability + _log_sigmoid(value))
        now[number] = begins
        kept = sorted(now, key=lambda start: -now[start])[:MAX_STATES]
        forward.append({start: now[start] for start in kept})
        odds.append(own)
    return forward, odds


def _most_probable_path(count: int, odds: Odds) -> frozenset[int]:
    """Return the starts on the most probable path."""
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, (0,))}
    for number in range(1, count):
        now: dict[int, tuple[float, tuple[int, ...]]] = {}
        for start, (score, path) in best.items():
            if (value := odds[number].get(start)) is None:
                continue
            now[start] = (score + _log_sigmoid(-value), path)
            begun = score + _log_sigmoid(value)
            if number not in now or begun > now[number][0]:
                now[number] = (begun, (*path, number))
        best = now
    return frozenset(max(best.values())[1])


def _boundary_probabilities(forward: Sequence[Mapping[int, float]], odds: Odds) -> list[float]:
    """Return the probability of a boundary on each page."""
    backward = dict.fromkeys(forward[-1], 0.0)
    found = [1.0]
    for number in range(len(forward) - 1, 0, -1):
        before: dict[int, float] = {}
        begins = everything = -inf
        for start, probability in forward[number - 1].items():
            value = odds[number][start]
            continued = _log_sigmoid(-value) + backward.get(start, -inf)
            begun = _log_sigmoid(value) + backward.get(number, -inf)
            before[start] = _add_logs(continued, begun)
            begins = _add_logs(begins, probability + begun)
            everything = _add_logs(everything, probability + before[start])
        found.insert(1, exp(begins - everything) if everything > -inf else 1.0)
        backward = before
    return found


def _log_sigmoid(value: float) -> float:
    return -log1p(exp(-value)) if value > -30 else value


def _add_logs(one: float, other: float) -> float:
    low, high = sorted((one, other))
    return high if low == -inf else high + log1p(exp(low - high))


def describe(evidence: Evidence) -> Iterator[str]:
    """Yield the evidence that speaks most for a boundary, in words for a reviewer."""
    effects = {name: WEIGHTS[name] * value for name, value in evidence.items()}
    for name in sorted(effects, key=lambda name: -effects[name])[:3]:
        if effects[name] > 0.25:
            yield name
