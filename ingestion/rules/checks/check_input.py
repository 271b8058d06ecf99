"""What a check of one type of document is given."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from ingestion.reading.results import DocumentReading
from ingestion.rules.checks.signatures import DocumentSignature
from ingestion.rules.checks.validity_terms import Override, Terms
from ingestion.rules.document_types import DocumentType
from ingestion.rules.fields.extraction import SCANS, FieldValue
from ingestion.rules.findings import Facts, RuleFinding


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """What the register says of the site that sent the document; "" where it says nothing."""

    site_id: str
    protocol_number: str = ""
    name: str = ""
    protocol_version: str = ""  # the current one
    activated_on: date | None = None
    overrides: Mapping[str, Override] = field(default_factory=dict)  # the study's own, by type

    def terms(self, kind: DocumentType) -> Terms:
        return Terms.of(kind, self.overrides.get(kind.slug), self.activated_on)


@dataclass(frozen=True, slots=True)
class Sent:
    """What its sender said of a document; "" where nothing was said."""

    schema_version: str
    declared: str = ""  # its type's slug
    person: str = ""  # whose it is
    filename: str = ""


@dataclass(frozen=True, slots=True)
class CheckInput:
    """A document whose type is settled, and everything its checks ask for."""

    reading: DocumentReading
    kind: DocumentType
    site: SiteFacts
    today: date
    fields: Mapping[str, FieldValue]  # `signature_date` among them
    signature: DocumentSignature | None  # None for a type that needs none
    terms: Terms
    person: str = ""  # whose it is, as the sender said; "" where nothing was said


def unlikely(value: FieldValue, what: str, code: str, facts: Facts) -> RuleFinding:
    """For a value that cannot be true: on a scan that alone speaks for a misreading."""
    doubtful = replace(value, confidence=0.0) if value.source in SCANS else value
    return sure(doubtful, what, code, facts)


def sure(value: FieldValue, what: str, code: str, facts: Facts) -> RuleFinding:
    """This finding; where the value may have been misread, that a person is to look at `what`."""
    where: Facts = {"page": value.page} if value.page else {}
    if value.is_sure:
        return RuleFinding(code, value.page, {**facts, **where})
    return RuleFinding("OCR_LOW_CONFIDENCE", value.page, {"what": what, **where})
