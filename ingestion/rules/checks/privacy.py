"""Checks for details of a study participant, which do not belong in a regulatory file.

`ingestion.rules.participants` finds them, and avoids false alarms: a consent form has lines for the
name of a participant, and a CV has the date of birth of its person.
"""

from collections.abc import Iterator

from ingestion.reading.results import DocumentReading
from ingestion.rules.document_types import DocumentType
from ingestion.rules.findings import RuleFinding, format_area
from ingestion.rules.participants.participant_records import find_participant_areas


def check_participant_details(
    reading: DocumentReading, kind: DocumentType | None
) -> Iterator[RuleFinding]:
    """Yield PHI_SUSPECTED for each page with details of a participant, with their places."""
    for page, boxes in find_participant_areas(reading, kind).items():
        yield RuleFinding("PHI_SUSPECTED", page, {"page": page, "area": format_area(*boxes)})


CHECKS_OF_ANY_TYPE = (check_participant_details,)
