"""Formats days, times and declared documents for sentences that are built in Python."""

from datetime import UTC, date, datetime

from django.utils import dateformat
from django.utils.translation import gettext as _

from ingestion.rules.document_types import TYPES, parse_doc_id


def format_clock(moment: datetime) -> str:
    """Return the time of day, for example "16:54 UTC"."""
    return f"{moment.astimezone(UTC):%H:%M} UTC"


def format_day(day: date) -> str:
    """Return a day, for example "20 Nov 2026". A datetime is converted to its day in UTC."""
    in_utc = day.astimezone(UTC) if isinstance(day, datetime) else day
    return dateformat.format(in_utc, "j M Y")


def describe_declared(document_type: str, doc_id: str, *, names_person: bool) -> str:
    """Return what a document was sent as, for example "CV of Ana Ruiz".

    `names_person` says whether the `doc_id` is that of an upload, which may name a person. For an
    unknown type, this is the `doc_id` alone.
    """
    kind = TYPES.get(document_type)
    if kind is None:
        return doc_id
    declared, person = parse_doc_id(doc_id)
    if not (names_person and declared == kind.slug and person):
        return kind.name
    return _("{type} of {person}").format(type=kind.name, person=person)
