"""How sentences that are made in Python name days and times."""

from datetime import UTC, date, datetime

from django.utils import dateformat
from django.utils.translation import gettext as _

from ingestion.rules.document_types import TYPES


def format_clock(moment: datetime) -> str:
    """As in 16:54 UTC: for times of the next hours."""
    return f"{moment.astimezone(UTC):%H:%M} UTC"


def format_day(of: date) -> str:
    """As in 20 Nov 2026; of a moment its day in UTC."""
    at = of.astimezone(UTC) if isinstance(of, datetime) else of
    return dateformat.format(at, "j M Y")


def describe_declared(document_type: str, doc_id: str) -> str:
    """What a document was sent as, as in "CV of Ana Ruiz"; its doc_id alone without a type."""
    kind = TYPES.get(document_type)
    if kind is None:
        return doc_id
    declared, _dot, person = doc_id.partition(".")
    if not (kind.per_person and declared == kind.slug and person):
        return kind.name
    name = person.replace("-", " ").title()
    return _("{type} of {person}").format(type=kind.name, person=name)
