"""Makes the verdict on one document: runs all checks in a fixed order, and weighs their findings.

The verdict is deterministic: the same reading, site and day give the same verdict. The checks of a
document type run only if the file certainly contains one document of that type. While there is a
doubt about that, a rejection would be a guess.

If a file contains several documents, each part of it has a verdict of its own, as if the part were
a file. Pages keep their numbers, so findings and values of a part name the pages of the file.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from ingestion.core.container_entries import OpenedContainer
from ingestion.core.file_parts import FilePart
from ingestion.core.renditions import RenderedFile
from ingestion.core.states import DocumentState
from ingestion.reading.provenance import Provenance, describe_provenance
from ingestion.reading.results import (
    DocumentReading,
    Unreadable,
)
from ingestion.rules import checks
from ingestion.rules.checks import (
    identity,
    legibility,
    page_languages,
    privacy,
    registered_forms,
    submission,
    unfilled,
    validity,
)
from ingestion.rules.checks.check_input import CheckInput, SenderFacts, SiteFacts
from ingestion.rules.checks.signatures import (
    DocumentSignature,
    find_expected_signer,
    find_signature,
)
from ingestion.rules.classification.classify import (
    TypeCandidate,
    TypeMatch,
    classify,
)
from ingestion.rules.classification.model_file import ModelFile, load_model_file
from ingestion.rules.codes import CODES, Disposition, sort_key
from ingestion.rules.document_language import identify_document, separate_captions
from ingestion.rules.document_types import RULES_VERSION, TYPES, DocumentType, find_types
from ingestion.rules.fields.extraction import find_month_first, read_fields
from ingestion.rules.fields.levelled_lines import level_lines, measure_slopes, to_original_position
from ingestion.rules.fields.values import FieldValue
from ingestion.rules.findings import Facts, RuleFinding, format_area, parse_area
from ingestion.rules.forms.values import apply_box_values
from ingestion.rules.segmentation import composition
from ingestion.rules.segmentation.page_regions import restore_box
from ingestion.rules.segmentation.parts import (
    PagePart,
    ProposedCut,
    propose_cut,
    select_pages,
)
from ingestion.rules.segmentation.translated_titles import doubt_cut

__all__ = [
    "CheckedDocument",
    "DocumentVerdict",
    "check",
    "check_file",
    "check_or_reject",
    "check_part",
    "make_verdict_from_findings",
    "make_verdict_of_unreadable",
]  # fmt: skip


def _import_checks() -> list[ModuleType]:
    """Return the modules of this package, in the order of their names, without this one."""
    names = sorted(f"{checks.__name__}.{module.name}" for module in iter_modules(checks.__path__))
    return [import_module(name) for name in names if name != __name__]


# Each module lists its own checks, under one or more of these names. Their order does not matter:
# findings are sorted by their codes.
_MODULES = _import_checks()
CHECKS_OF_ANY_FILE: tuple[Callable[[DocumentReading], Iterator[RuleFinding]], ...] = tuple(
    each for module in _MODULES for each in getattr(module, "CHECKS_OF_ANY_FILE", ())
)
# These get the type that the file shows, or None if it is not known.
CHECKS_OF_ANY_TYPE: tuple[
    Callable[[DocumentReading, DocumentType | None], Iterator[RuleFinding]], ...
] = tuple(each for module in _MODULES for each in getattr(module, "CHECKS_OF_ANY_TYPE", ()))
CHECKS_OF_ITS_TYPE: tuple[Callable[[CheckInput], Iterator[RuleFinding]], ...] = tuple(
    each for module in _MODULES for each in getattr(module, "CHECKS", ())
)
# These checks do not run if a page was not read, because it may contain what they do not find.
CHECKS_OF_ALL_PAGES = frozenset(
    each for module in _MODULES for each in getattr(module, "CHECKS_OF_ALL_PAGES", ())
)

_STATES = {
    Disposition.HOLD: DocumentState.HELD,
    Disposition.REJECT: DocumentState.REJECTED,
    Disposition.REVIEW: DocumentState.IN_REVIEW,
}


@dataclass(frozen=True, slots=True)
class DocumentVerdict:
    """The outcome of the checks of one document."""

    # The type that the pages show, or the declared type if it agrees with them; "" if in doubt.
    document_type: str
    findings: tuple[RuleFinding, ...]  # the primary one first
    primary: RuleFinding | None  # the finding that decided; None for a document that is filed
    state: DocumentState
    fields: tuple[FieldValue, ...] = ()
    signature: DocumentSignature | None = None  # None for a type that needs no signature
    evidence: str = ""  # the landmarks with the most points, in words
    candidates: tuple[TypeCandidate, ...] = ()  # the three most probable types
    dated: date | None = None  # the date of the document by the dating convention of its type
    expires: date | None = None  # its last valid day, whether or not its site is active
    terms: Facts = field(default_factory=dict)  # the terms of validity by which it was judged
    rules_version: str = RULES_VERSION

    @property
    def is_quarantined(self) -> bool:
        """Return whether only QA may open the file."""
        return any(CODES[finding.code].quarantine for finding in self.findings)


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """A verdict, with the provenance of the reading; None if the file could not be read.

    `cut` is the proposed division of the file; None if it could not be read. `rendition` was made
    to read the file, and `is_rendition` says whether a rendition was read, made now or before.
    `container` has the entries of a file that is a container; then the verdict does not count.
    `checked_ns` is when the checks began and ended, in nanoseconds since 1970; None without checks.
    """

    verdict: DocumentVerdict
    read: Provenance | None = None
    cut: ProposedCut | None = None
    rendition: RenderedFile | None = None
    is_rendition: bool = False
    container: OpenedContainer | None = None
    checked_ns: tuple[int, int] | None = field(default=None, compare=False)


def check_or_reject(
    seen: DocumentReading | Unreadable,
    sent: SenderFacts,
    *,
    site: SiteFacts,
    today: date,
    part: FilePart | None = None,
    model: ModelFile | None = None,
) -> CheckedDocument:
    """Return the verdict on a file, or on a part of it, whether or not it can be read.

    Of a file that was divided, `seen` has the pages of `part` or all pages. With `model`, document
    types are recognised with this model, and otherwise with the built-in one. This is the result
    that a parser process returns.
    """
    started_ns = time.time_ns()
    checked = _check_or_reject(seen, sent, site=site, today=today, part=part, model=model)
    return replace(checked, checked_ns=(started_ns, time.time_ns()))


def _check_or_reject(
    seen: DocumentReading | Unreadable,
    sent: SenderFacts,
    *,
    site: SiteFacts,
    today: date,
    part: FilePart | None,
    model: ModelFile | None,
) -> CheckedDocument:
    if sent.is_doubtful:
        return _leave_to_person(seen, sent, model)
    if isinstance(seen, Unreadable):
        return CheckedDocument(make_verdict_of_unreadable(seen))
    if part:
        pages = PagePart(part.first, part.last, part.region)
        verdict = check_part(seen, pages, sent, site=site, today=today, model=model)
        own = tuple(page for page in seen.pages if page.number in part.numbers)
        return CheckedDocument(verdict, describe_provenance(replace(seen, pages=own)))
    checked = check_file(seen, sent, site=site, today=today, model=model)
    return replace(checked, read=describe_provenance(seen))


def _leave_to_person(
    seen: DocumentReading | Unreadable, sent: SenderFacts, model: ModelFile | None
) -> CheckedDocument:
    """Return the verdict on an entry of a container that may be no document at all.

    Nothing that is missing in it may be held against the site.
    """
    version = model.rules_version if model else RULES_VERSION
    verdict = replace(
        make_verdict_from_findings([RuleFinding("ENTRY_IN_DOUBT")]), rules_version=version
    )
    if isinstance(seen, Unreadable):
        return CheckedDocument(verdict)
    found = classify(seen, sent.declared, model=load_model_file(model) if model else None)
    if found.fit is TypeMatch.AGREED:
        verdict = replace(verdict, document_type=found.slug, evidence=found.best.evidence)
    return CheckedDocument(verdict, describe_provenance(seen))


def make_verdict_of_unreadable(unreadable: Unreadable) -> DocumentVerdict:
    """Return the verdict on a file that could not be read."""
    return make_verdict_from_findings([RuleFinding(unreadable.code, facts=unreadable.facts)])


def check(
    reading: DocumentReading,
    sent: SenderFacts,
    *,
    site: SiteFacts,
    today: date,
    model: ModelFile | None = None,
) -> DocumentVerdict:
    """Return the verdict on a file that was read. If it has several documents, it is reviewed."""
    cut = propose_cut(reading, site_id=site.site_id)
    return _check_whole(reading, cut, sent, site=site, today=today, model=model)


def check_file(
    reading: DocumentReading,
    sent: SenderFacts,
    *,
    site: SiteFacts,
    today: date,
    model: ModelFile | None = None,
) -> CheckedDocument:
    """Return the verdict on a file that was read, with its proposed division."""
    cut = propose_cut(reading, site_id=site.site_id)
    verdict = _check_whole(reading, cut, sent, site=site, today=today, model=model)
    return CheckedDocument(verdict, cut=cut)


def check_part(
    reading: DocumentReading,
    part: PagePart,
    sent: SenderFacts,
    *,
    site: SiteFacts,
    today: date,
    model: ModelFile | None = None,
) -> DocumentVerdict:
    """Return the verdict on one part of a file, whose boundaries are taken as given.

    `reading` is that of the whole file. Positions in the verdict are those on the page of the file.
    """
    whole = ProposedCut((part,))
    pages = select_pages(reading, part)
    verdict = _check_whole(pages, whole, sent, site=site, today=today, model=model)
    if part.region is None:
        return verdict
    page = next(page for page in reading.pages if page.number == part.first)
    region = part.region

    def restore(value: FieldValue) -> FieldValue:
        return replace(value, box=value.box and restore_box(value.box, page, region))

    signature = verdict.signature
    if signature is not None:
        signature = replace(
            signature,
            area=signature.area and restore_box(signature.area, page, region),
            date=signature.date and restore(signature.date),
        )
    findings = tuple(
        replace(
            finding,
            facts={
                **finding.facts,
                "area": format_area(*(restore_box(box, page, region) for box in boxes)),
            },
        )
        if (boxes := parse_area(finding.facts.get("area", "")))
        else finding
        for finding in verdict.findings
    )
    primary = verdict.primary and findings[verdict.findings.index(verdict.primary)]
    return replace(
        verdict,
        findings=findings,
        primary=primary,
        fields=tuple(map(restore, verdict.fields)),
        signature=signature,
    )


def _check_whole(
    reading: DocumentReading,
    cut: ProposedCut,
    sent: SenderFacts,
    *,
    site: SiteFacts,
    today: date,
    model: ModelFile | None,
) -> DocumentVerdict:
    """Return the verdict on a reading as one document, unless `cut` has several parts."""
    rules_version = model.rules_version if model else RULES_VERSION
    if any(page.is_language_missing for page in reading.pages):
        return replace(_check_unread(reading, sent), rules_version=rules_version)
    slopes = measure_slopes(reading)
    reading, cut, types = _prepare(level_lines(reading, slopes), cut)
    model_in_use = load_model_file(model) if model else None
    found = classify(reading, sent.declared, types=types, model=model_in_use)
    findings = [
        *submission.check_submission(reading, sent),
        *submission.check_type(reading, found, sent.declared, is_one=cut.is_one_document),
        *(finding for check_any in CHECKS_OF_ANY_FILE for finding in check_any(reading)),
    ]
    details = [
        finding
        for check_any in CHECKS_OF_ANY_TYPE
        for finding in check_any(reading, types.get(found.slug))
    ]
    several = list(
        composition.check_composition(cut, types.get(found.slug), page_count=len(reading.pages))
    )
    findings += several
    if several or found.fit is not TypeMatch.AGREED:
        findings = _join_details(findings, details, {}, slopes)
        return replace(
            make_verdict_from_findings(findings),
            document_type=found.slug,
            evidence=found.best.evidence,
            candidates=found.candidates,
            rules_version=rules_version,
        )
    kind = types[found.slug]
    case = _make_case(reading, kind, sent, site=site, today=today)
    fields, signature = case.fields, case.signature
    is_whole = "unread-form" not in reading.flags and not any(
        page.error or page.unfinished for page in reading.pages
    )
    for check_document in CHECKS_OF_ITS_TYPE:
        if is_whole or check_document not in CHECKS_OF_ALL_PAGES:
            findings += check_document(case)
    findings = unfilled.summarise_blank_form(findings, kind, fields)
    findings = _join_details(findings, details, fields, slopes)
    dated = fields.get(kind.dated_by)
    return replace(
        make_verdict_from_findings(findings),
        document_type=found.slug,
        fields=tuple(_restore_value(value, slopes) for value in fields.values()),
        signature=_restore_signature(signature, slopes),
        evidence=found.best.evidence,
        candidates=found.candidates,
        rules_version=rules_version,
        dated=dated.day if dated and not dated.is_unconfirmed else None,
        expires=validity.get_expiry_date(case.terms, fields),
        terms=case.terms.facts,
    )


def _prepare(
    reading: DocumentReading, cut: ProposedCut
) -> tuple[DocumentReading, ProposedCut, Mapping[str, DocumentType]]:
    """Return a reading and its division as its language needs them, and its document types."""
    language = identify_document(reading)
    types = find_types(language)
    if types is TYPES:
        return reading, cut, types
    reading = separate_captions(reading, language)
    return reading, doubt_cut(cut, reading, types), types


def _make_case(
    reading: DocumentReading, kind: DocumentType, sent: SenderFacts, *, site: SiteFacts, today: date
) -> CheckInput:
    """Return what the checks of a type need: the values of a document, its signature, its terms."""
    values = read_fields(reading, kind, month_first=site.month_first)
    fields = identity.confirm_protocol_number(apply_box_values(reading, kind, values), site)
    signature = _read_signature(reading, kind, fields, sent, month_first=site.month_first)
    if signature and signature.date:
        fields["signature_date"] = signature.date
    return CheckInput(
        reading,
        kind,
        site,
        today,
        fields,
        signature,
        site.terms(kind),
        sent.person,
        sent.version,
    )


def _read_signature(
    reading: DocumentReading,
    kind: DocumentType,
    fields: Mapping[str, FieldValue],
    sent: SenderFacts,
    *,
    month_first: bool | None,
) -> DocumentSignature | None:
    """Return the signature of a document, or None if its type needs none."""
    if not kind.signature:
        return None
    found = find_signature(
        reading,
        kind.signature,
        month_first=find_month_first(reading, kind, month_first),
        expected=find_expected_signer(kind, fields, sent.person),
    )
    return registered_forms.apply_signature_boxes(reading, kind, found)


def _check_unread(reading: DocumentReading, sent: SenderFacts) -> DocumentVerdict:
    """Return the verdict on a reading with pages that are not what was read.

    Nothing is known of the document but its file.
    """
    checks_of_file = (legibility.check_active_content, page_languages.check_languages)
    found = (finding for check_file_only in checks_of_file for finding in check_file_only(reading))
    return make_verdict_from_findings([*submission.check_submission(reading, sent), *found])


def make_verdict_from_findings(findings: Iterable[RuleFinding]) -> DocumentVerdict:
    """Return the verdict with the worst disposition; its most severe finding is the primary one.

    Equal findings of several checks are one.
    """
    unlike: list[RuleFinding] = []
    for finding in findings:
        if finding not in unlike:
            unlike.append(finding)
    ordered = tuple(
        sorted(
            unlike,
            key=lambda each: (sort_key(each.code, is_remark=each.is_remark), each.page),
        )
    )
    worst = ordered[0] if ordered and not ordered[0].is_remark else None
    state = _STATES.get(CODES[worst.code].disposition) if worst else None
    return DocumentVerdict("", ordered, worst if state else None, state or DocumentState.ARCHIVED)


def _restore_value(value: FieldValue, slopes: Mapping[int, float]) -> FieldValue:
    """Return a value with its position on the page as it was scanned."""
    if value.box is None or value.page not in slopes:
        return value
    return replace(value, box=to_original_position(value.box, slopes[value.page]))


def _join_details(
    findings: Sequence[RuleFinding],
    details: Sequence[RuleFinding],
    fields: Mapping[str, FieldValue],
    slopes: Mapping[int, float],
) -> list[RuleFinding]:
    """Return all findings, those about participants with their positions on the page as scanned.

    The others lose facts that are a participant's details: every finding is in the ledger.
    """
    others = privacy.withhold_details(findings, details, fields.values())
    return [*others, *(_restore_areas(finding, slopes) for finding in details)]


def _restore_areas(finding: RuleFinding, slopes: Mapping[int, float]) -> RuleFinding:
    """Return a finding about words with their positions on the page as it was scanned."""
    boxes = parse_area(finding.facts.get("area", ""))
    if not boxes or finding.page not in slopes:
        return finding
    restored = (to_original_position(box, slopes[finding.page]) for box in boxes)
    return replace(finding, facts={**finding.facts, "area": format_area(*restored)})


def _restore_signature(
    signature: DocumentSignature | None, slopes: Mapping[int, float]
) -> DocumentSignature | None:
    """Return a signature with the positions of its area and its date as they were scanned."""
    if signature is None or signature.area is None or signature.page not in slopes:
        return signature
    area = to_original_position(signature.area, slopes[signature.page])
    signed_on = signature.date and _restore_value(signature.date, slopes)
    return replace(signature, area=area, date=signed_on)
