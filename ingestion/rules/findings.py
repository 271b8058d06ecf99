"""Defines a finding: what a check found in one document, under a finding code of the registry."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingestion.reading.results import Box

Facts = Mapping[str, str | int]
_BETWEEN_BOXES = "; "


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A finding before it is stored.

    `facts` fill the placeholders of its messages. Their values are str or int; dates are written
    as 2026-03-12. Each is one value, such as a name or a number, or a word or phrase that is marked
    for translation. A phrase names other facts in braces, as in "box {number}".
    """

    code: str
    page: int = 0  # from 1; 0 if it concerns the whole document
    facts: Facts = field(default_factory=dict)
    is_remark: bool = False  # the study files such a document, whatever the code would do


def make_page_facts(page: int) -> Facts:
    """Return the fact `page`, or nothing for page 0, which is no page."""
    return {"page": page} if page else {}


def format_area(*boxes: Box) -> str:
    """Return the value of the fact `area`: left, top, right and bottom of each box, in points.

    These are the places on the page that the finding is about. No sentence contains them.
    """
    return _BETWEEN_BOXES.join(" ".join(f"{edge:.1f}" for edge in box) for box in boxes)


def parse_area(fact: str | int) -> list[Box]:
    """Return the boxes of a fact `area`; none if it contains something else."""
    try:
        boxes = [tuple(map(float, each.split())) for each in str(fact).split(_BETWEEN_BOXES)]
        return [Box(*edges) for edges in boxes]
    except (TypeError, ValueError):
        return []
