"""Defines the input of a type's checks, and makes the findings that depend on confidence."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from audit.translation import gettext_noop as _
from ingestion.reading.results import DocumentReading
from ingestion.rules.checks.signatures import DocumentSignature
from ingestion.rules.checks.validity_terms import TermsOverride, ValidityTerms
from ingestion.rules.document_types import DocumentType
from ingestion.rules.fields.dates import puts_month_first
from ingestion.rules.fields.values import SCAN_SOURCES, FieldValue
from ingestion.rules.findings import Facts, RuleFinding, make_page_facts


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """The data of the site that sent the document. A value of "" is not known."""

    site_id: str
    protocol_number: str = ""
    name: str = ""
    protocol_version: str = ""  # the current one
    activated_on: date | None = None
    overrides: Mapping[str, TermsOverride] = field(default_factory=dict)  # of the study, by type
    country: str = ""  # as the register names it; it decides the order of day and month
    investigator: str = ""  # the principal investigator, as the register names the person
    investigator_licence: str = ""  # the number of the person's licence

    @property
    def month_first(self) -> bool | None:
        """Return whether dates as 03/12/2026 put the month first there; None if unknown."""
        return puts_month_first(self.country)

    def terms(self, kind: DocumentType) -> ValidityTerms:
        """Return how long documents of a type are valid at this site."""
        return ValidityTerms.of(kind, self.overrides.get(kind.slug), self.activated_on)


@dataclass(frozen=True, slots=True)
class SenderFacts:
    """Contains what the sender declared about a document. A value of "" was not declared."""

    schema_version: str
    declared: str = ""  # the slug of the document type
    person: str = ""  # the person whose document it is
    filename: str = ""
    # Whether a person has to decide if it is a document at all. It came in a container.
    is_doubtful: bool = False
    language: str = ""  # by its name in `reading.languages`
    version: str = ""  # of the document


@dataclass(frozen=True, slots=True)
class CheckInput:
    """A document whose type is decided, with everything that its checks need."""

    reading: DocumentReading
    kind: DocumentType
    site: SiteFacts
    today: date
    fields: Mapping[str, FieldValue]  # with `signature_date`
    signature: DocumentSignature | None  # None for a type that needs no signature
    terms: ValidityTerms
    person: str = ""  # the person whose document it is, as declared; "" if not declared
    version: str = ""  # the version of the document, as declared; "" if not declared

    def noun_of(self, value: FieldValue) -> str:
        """Return the noun of the field of a value, or "" if the type has no such field."""
        return next((spec.noun for spec in self.kind.fields if spec.name == value.name), "")


def make_entry_facts(noun: str, box: str = "", *, is_struck_out: bool = False) -> Facts:
    """Return the facts that name an entry of a document, for OCR_LOW_CONFIDENCE.

    `noun` is the name of the entry, and `box` the number of its box on a form, if it has one.
    """
    if not box:
        what = _("the struck-out entry for the {field}") if is_struck_out else _("the {field}")
        return {"what": what, "field": noun}
    what = _("the struck-out entry in {box} ({field})") if is_struck_out else _("{box} ({field})")
    return {"what": what, "field": noun, "box": _("box {number}"), "number": box}


def make_implausible_value_finding(
    value: FieldValue, what: Facts, code: str, facts: Facts, *, noun: str = ""
) -> RuleFinding:
    """Return the finding for a value that cannot be true.

    On a scan, such a value was probably misread, so the finding is OCR_LOW_CONFIDENCE.
    """
    doubtful = replace(value, confidence=0.0) if value.source in SCAN_SOURCES else value
    return make_finding_if_sure(doubtful, what, code, facts, noun=noun)


def make_finding_if_sure(
    value: FieldValue, what: Facts, code: str, facts: Facts, *, noun: str = ""
) -> RuleFinding:
    """Return a finding with this code, or one that asks a person if the value is in doubt.

    On a scan it may be misread (OCR_LOW_CONFIDENCE), and `what` are the facts that name it there.
    Elsewhere nothing confirms it (VALUE_IN_DOUBT), and `noun` or the field of `what` names it.
    """
    page = make_page_facts(value.page)
    if value.is_sure:
        return RuleFinding(code, value.page, {**facts, **page})
    noun = noun or str(what.get("field", ""))
    if noun and value.source not in SCAN_SOURCES:
        doubt: Facts = {"field": noun, "read": value.value, **page}
        return RuleFinding("VALUE_IN_DOUBT", value.page, doubt)
    return RuleFinding("OCR_LOW_CONFIDENCE", value.page, {**what, **page})
