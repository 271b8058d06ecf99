"""Checks for details of a study participant, which do not belong in a regulatory file.

`ingestion.rules.participants` finds them, and avoids false alarms: a consent form has lines for the
name of a participant, and a CV has the date of birth of its person.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ingestion.reading.results import Box, DocumentReading
from ingestion.rules.document_types import DocumentType
from ingestion.rules.fields.values import FieldValue
from ingestion.rules.findings import RuleFinding, format_area, parse_area
from ingestion.rules.participants.participant_records import find_participant_areas


def check_participant_details(
    reading: DocumentReading, kind: DocumentType | None
) -> Iterator[RuleFinding]:
    """Yield PHI_SUSPECTED for each page with details of a participant, with their places."""
    for page, boxes in find_participant_areas(reading, kind).items():
        yield RuleFinding("PHI_SUSPECTED", page, {"page": page, "area": format_area(*boxes)})


def withhold_details(
    findings: Iterable[RuleFinding], details: Sequence[RuleFinding], fields: Iterable[FieldValue]
) -> list[RuleFinding]:
    """Return findings without the facts that contain a detail of a participant.

    `details` are the findings of `check_participant_details`. A fact is withheld if it contains the
    value of a field whose place is among theirs, or if its finding is about such a place.
    """
    places = {each.page: parse_area(each.facts.get("area", "")) for each in details}
    covered = {
        text
        for value in fields
        if value.box and _is_covered(value.box, places.get(value.page, ()))
        for text in (value.value, *value.readings, *value.entries)
        if text
    }
    return [_withhold(finding, places.get(finding.page, ()), covered) for finding in findings]


def _withhold(finding: RuleFinding, places: Sequence[Box], covered: set[str]) -> RuleFinding:
    own = parse_area(finding.facts.get("area", ""))
    is_about_place = any(_is_covered(box, places) for box in own)
    facts = {
        name: fact
        for name, fact in finding.facts.items()
        if name in _PLACES
        or not isinstance(fact, str)
        or not (is_about_place or any(text in fact for text in covered))
    }
    return replace(finding, facts=facts) if len(facts) < len(finding.facts) else finding


def _is_covered(box: Box, places: Iterable[Box]) -> bool:
    return any(box.intersects(place) for place in places)


_PLACES = frozenset({"page", "area"})

CHECKS_OF_ANY_TYPE = (check_participant_details,)
