"""Defines a finding: what a check found in one document, under a finding code of the registry."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingestion.reading.results import Box

Facts = Mapping[str, str | int]


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


def format_area(box: Box) -> str:
    """Return the value of the fact `area`: left, top, right and bottom in points.

    It is the place on the page that the finding is about. No sentence contains it.
    """
    return " ".join(f"{edge:.1f}" for edge in box)


def parse_area(fact: str | int) -> Box | None:
    """Return the box of a fact `area`, or None if it contains no box."""
    try:
        left, top, right, bottom = map(float, str(fact).split())
    except ValueError:
        return None
    return Box(left, top, right, bottom)
