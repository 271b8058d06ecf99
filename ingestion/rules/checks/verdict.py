"""The verdict on one document: every check in its fixed order, and what their findings come to.

Pure and deterministic: the same reading, site and day give the same verdict. Checks of a
type run only once it is settled that the file holds one document, and of which type: while
that is in doubt, a rejection would be a guess.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import PurePath

from ingestion.core.states import DocumentState
from ingestion.reading.provenance import Provenance, describe_provenance
from ingestion.reading.results import (
    SUFFIXES,
    DocumentReading,
    MediaType,
    Unreadable,
)
from ingestion.rules import fuzzy_phrases
from ingestion.rules.checks import (
    composition,
    digital_signatures,
    identity,
    legibility,
    presence,
    privacy,
    validity,
)
from ingestion.rules.checks.check_input import CheckInput, Sent, SiteFacts
from ingestion.rules.checks.signatures import DocumentSignature, expected_signer, find_signature
from ingestion.rules.classification.classify import Classification, Fit, classify
from ingestion.rules.codes import CODES, Disposition, weight
from ingestion.rules.document_types import RULES_VERSION, TYPES, DocumentType
from ingestion.rules.fields.extraction import FieldValue, read_fields
from ingestion.rules.fields.levelled_lines import as_it_lies, levelled, slopes
from ingestion.rules.findings import Facts, RuleFinding

__all__ = [
    "SCHEMA_VERSIONS",
    "Checked",
    "DocumentVerdict",
    "Sent",
    "SiteFacts",
    "check",
    "check_whatever",
    "judge",
    "verdict_of",
]  # fmt: skip

SCHEMA_VERSIONS = ("v2.0", "v2.1")  # of a submission, the latest last

OF_ANY_FILE: tuple[Callable[[DocumentReading], Iterator[RuleFinding]], ...] = (
    legibility.active_content,
    digital_signatures.damaged_signatures,
    legibility.blank_pages,
    legibility.missing_pages,
    legibility.illegible_pages,
    legibility.doubtful_pages,
    privacy.participant_details,
)
OF_ITS_TYPE: tuple[Callable[[CheckInput], Iterator[RuleFinding]], ...] = (
    presence.required_entries,
    presence.unsigned,
    presence.undated,
    digital_signatures.doubtful_signatures,
    digital_signatures.unsound_place,
    digital_signatures.signer_mismatch,
    validity.impossible,
    validity.in_future,
    validity.out_of_sequence,
    validity.expired,
    validity.stale,
    validity.expires_soon,
    validity.outdated_form,
    identity.site_mismatch,
    identity.protocol_mismatch,
    identity.protocol_version_mismatch,
    identity.whose,
)
# A page that we could not read may hold what is not on the others.
NEED_EVERY_PAGE = frozenset({
    presence.required_entries,
    presence.unsigned,
    presence.undated,
    digital_signatures.unsound_place,
    digital_signatures.signer_mismatch,
    identity.protocol_mismatch,
    identity.protocol_version_mismatch,
    identity.whose,
})  # fmt: skip

_FOUND = {
    MediaType.PDF: "a PDF",
    MediaType.JPEG: "a JPEG picture",
    MediaType.PNG: "a PNG picture",
    MediaType.TIFF: "a TIFF picture",
}
_STATES = {
    Disposition.HOLD: DocumentState.HELD,
    Disposition.REJECT: DocumentState.REJECTED,
    Disposition.REVIEW: DocumentState.IN_REVIEW,
}


@dataclass(frozen=True, slots=True)
class DocumentVerdict:
    document_type: str  # as the pages show it, or as declared where that fits; "" in doubt
    findings: tuple[RuleFinding, ...]  # the primary one first
    primary: RuleFinding | None  # the one that decided; None for a document that is filed
    state: DocumentState
    fields: tuple[FieldValue, ...] = ()
    signature: DocumentSignature | None = None  # None for a type that needs none
    evidence: str = ""  # for its type: the most telling landmarks, in words
    dated: date | None = None  # by its type's dating convention
    expires: date | None = None  # its last day, where something on it says so, live site or not
    terms: Facts = field(default_factory=dict)  # how long it counts, as it was judged
    rules_version: str = RULES_VERSION

    @property
    def is_quarantined(self) -> bool:
        """The bytes are withheld from all but QA."""
        return any(CODES[finding.code].quarantine for finding in self.findings)


def check(reading: DocumentReading, sent: Sent, *, site: SiteFacts, today: date) -> DocumentVerdict:
    askew = slopes(reading)
    reading = levelled(reading, askew)
    found = classify(reading, sent.declared)
    findings = [*_schema(sent.schema_version), *_kind(reading, sent.filename)]
    findings += _type(found, sent.declared)
    findings += [finding for rule in OF_ANY_FILE for finding in rule(reading)]
    several = list(composition.multiple_documents(reading, TYPES.get(found.slug)))
    findings += several
    if several or found.fit is not Fit.AGREED:
        return replace(verdict_of(findings), document_type=found.slug, evidence=found.best.evidence)
    kind = TYPES[found.slug]
    case = _case(reading, kind, site, today, sent.person)
    findings += _contradictions(reading, kind)
    findings += [finding for rule in _of_its_type(reading) for finding in rule(case)]
    dated = case.fields.get(kind.dated_by)
    return replace(
        verdict_of(findings),
        document_type=found.slug,
        fields=tuple(_as_it_lies(value, askew) for value in case.fields.values()),
        signature=_signature_as_it_lies(case.signature, askew),
        evidence=found.best.evidence,
        dated=dated.day if dated else None,
        expires=validity.runs_out(case.terms, case.fields),
        terms=case.terms.facts,
    )


def _of_its_type(
    reading: DocumentReading,
) -> Iterator[Callable[[CheckInput], Iterator[RuleFinding]]]:
    is_whole = "unread-form" not in reading.flags
    is_whole = is_whole and not any(page.error for page in reading.pages)
    return (rule for rule in OF_ITS_TYPE if is_whole or rule not in NEED_EVERY_PAGE)


def judge(unreadable: Unreadable) -> DocumentVerdict:
    return verdict_of([RuleFinding(unreadable.code, facts=unreadable.facts)])


@dataclass(frozen=True, slots=True)
class Checked:
    """A verdict, and how the file was read that it is about; None where it could not be."""

    verdict: DocumentVerdict
    read: Provenance | None = None


def check_whatever(
    seen: DocumentReading | Unreadable, sent: Sent, *, site: SiteFacts, today: date
) -> Checked:
    """The verdict on a file, readable or not. What a child of the reading pool sends back."""
    if isinstance(seen, Unreadable):
        return Checked(judge(seen))
    verdict = check(seen, sent, site=site, today=today)
    return Checked(verdict, describe_provenance(seen))


def verdict_of(findings: Iterable[RuleFinding]) -> DocumentVerdict:
    """The worst disposition decides; its most severe finding is the primary one."""
    ordered = tuple(sorted(findings, key=_weight))
    worst = ordered[0] if ordered and not ordered[0].is_remark else None
    state = _STATES.get(CODES[worst.code].disposition) if worst else None
    return DocumentVerdict("", ordered, worst if state else None, state or DocumentState.ARCHIVED)


def _weight(finding: RuleFinding) -> tuple[tuple[int, int, int], int]:
    return weight(finding.code, is_remark=finding.is_remark), finding.page


def _case(
    reading: DocumentReading, kind: DocumentType, site: SiteFacts, today: date, person: str
) -> CheckInput:
    fields = {value.name: value for value in read_fields(reading, kind)}
    signature = None
    if kind.signature:
        expected = expected_signer(kind, fields, person)
        signature = find_signature(
            reading, kind.signature, month_first=kind.us_dates, expected=expected
        )
        if signature.date:
            fields["signature_date"] = signature.date
    return CheckInput(reading, kind, site, today, fields, signature, site.terms(kind), person)


def _as_it_lies(value: FieldValue, askew: Mapping[int, float]) -> FieldValue:
    if value.box is None or value.page not in askew:
        return value
    return replace(value, box=as_it_lies(value.box, askew[value.page]))


def _signature_as_it_lies(
    signature: DocumentSignature | None, askew: Mapping[int, float]
) -> DocumentSignature | None:
    if signature is None or signature.area is None or signature.page not in askew:
        return signature
    area = as_it_lies(signature.area, askew[signature.page])
    date = signature.date and _as_it_lies(signature.date, askew)
    return replace(signature, area=area, date=date)


def _schema(version: str) -> Iterator[RuleFinding]:
    if version not in SCHEMA_VERSIONS:
        facts = {"supported": " and ".join(SCHEMA_VERSIONS), "latest": SCHEMA_VERSIONS[-1]}
        yield RuleFinding("SCHEMA_MISMATCH", facts={"schema_version": version, **facts})


def _kind(reading: DocumentReading, filename: str) -> Iterator[RuleFinding]:
    """A name that ends in nothing we know says nothing."""
    named = SUFFIXES.get(PurePath(filename.casefold()).suffix)
    if named and named is not reading.media_type:
        found = _FOUND[reading.media_type]
        yield RuleFinding("TYPE_MISMATCH", facts={"declared": filename, "found": found})


def _type(found: Classification, declared: str) -> Iterator[RuleFinding]:
    sent_as = {"declared": _name(declared)} if declared else {}
    if found.fit is Fit.UNRECOGNIZED:
        yield RuleFinding("DOC_TYPE_UNRECOGNIZED", facts=sent_as)
    elif found.fit is Fit.CONFLICT:
        seen = {"detected": _name(found.slug), "evidence": found.best.evidence}
        yield RuleFinding("DOC_TYPE_CONFLICT", facts={**seen, **sent_as})


def _contradictions(reading: DocumentReading, kind: DocumentType) -> Iterator[RuleFinding]:
    for page in reading.pages:
        for phrase in kind.contradictions:
            if fuzzy_phrases.holds(page.text, phrase):
                facts = {"detected": f"{kind.noun} that is not final", "declared": kind.name}
                evidence = f'"{phrase.upper()}" on page {page.number}'
                yield RuleFinding("DOC_TYPE_CONFLICT", page.number, {**facts, "evidence": evidence})
                return


def _name(slug: str) -> str:
    return TYPES[slug].name if slug in TYPES else slug
