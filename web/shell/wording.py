"""How sentences that are made in Python name days and times."""

from datetime import UTC, date, datetime

from ingestion.rules.document_types import TYPES


def clock(moment: datetime) -> str:
    """As in 16:54 UTC: for times of the next hours."""
    return f"{moment.astimezone(UTC):%H:%M} UTC"


def day(of: date) -> str:
    """As in 20 Nov 2026; of a moment its day in UTC."""
    at = of.astimezone(UTC) if isinstance(of, datetime) else of
    return f"{at.day} {at:%b %Y}"


def said_as(document_type: str, doc_id: str) -> str:
    """What a document was sent as, as in "CV of Ana Ruiz"; its doc_id alone without a type."""
    kind = TYPES.get(document_type)
    if kind is None:
        return doc_id
    declared, _, person = doc_id.partition(".")
    is_said = kind.per_person and declared == kind.slug and person
    return f"{kind.name} of {person.replace('-', ' ').title()}" if is_said else kind.name
