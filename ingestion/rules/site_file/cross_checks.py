"""Compares the documents of a site with one another.

Only values that were read with certainty are compared, and only in documents that are on file or in
review. A value that may be misread causes no gap, and neither does a value that was not found.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from audit.translation import gettext_noop as _
from ingestion.core.states import DocumentState
from ingestion.rules.checks.identity import is_same_number
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.persons.names import (
    is_same_institution,
    is_same_version,
    may_be_same_person,
)
from ingestion.rules.findings import Facts
from ingestion.rules.site_file.requirements import (
    DELEGATION_LOG,
    FORM_1572,
    DocumentRequirement,
    ExpectedDocument,
    RequiredFor,
    RequirementStatus,
    SiteDocument,
    find_newest,
    find_unassigned,
    list_named,
)

_PROTOCOL_PAGE, _IRB_APPROVAL = "protocol-signature-page", "irb-approval"
# Later approvals, which may name another protocol version than the first one, or another committee.
_IRB_APPROVALS = (_IRB_APPROVAL, "irb-amendment-approval", "irb-continuing-review")
_CERTIFICATE, _NORMAL_RANGES = "lab-certification", "lab-normal-ranges"
_CONSENT_FORM = "informed-consent-form"
_MAX_NAMES_IN_SENTENCE = 6  # names of a log that a sentence repeats
_CONSENT_WORDS = re.compile(r"(?i)\b(?:consent|icf)\b")
# A version, but not a number of a date, or of a protocol or site with letters in it.
_VERSION_NUMBER = re.compile(
    r"(?<![\w./-])[vV]?\d{1,2}(?:\.\d+)*(?![\w/-]|\.\d| [A-Za-z]{3,9}\.?,? \d{4})"
)


@dataclass(frozen=True, slots=True)
class Gap:
    """A conflict between two documents of a site, or a document that is missing."""

    code: str  # a finding code, whose messages say how to resolve the gap
    one: SiteDocument
    other: SiteDocument | None  # None: the document is missing
    facts: Facts


@dataclass(frozen=True, slots=True)
class _SharedValue:
    """A value that must be the same in several documents."""

    code: str
    fields: tuple[str, ...]  # one of these fields contains the value
    slugs: tuple[str, ...]  # the slugs of the document types; the first one leads in a tie
    is_same: Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class _FoundValue:
    """A shared value as one document has it."""

    document: SiteDocument
    value: str  # as a sentence shows it
    compared: str  # as it is compared, with an address or a registration number


def _is_same_protocol(one: str, other: str) -> bool:
    return is_same_number(one, other) or is_same_number(other, one)


_TYPES_WITH_PROTOCOL = tuple(slug for slug, kind in TYPES.items() if kind.names_protocol)
_SHARED_VALUES = (
    _SharedValue(
        "PERSON_MISMATCH",
        ("investigator",),
        (FORM_1572, _PROTOCOL_PAGE, DELEGATION_LOG, _IRB_APPROVAL),
        may_be_same_person,
    ),
    _SharedValue(
        "PROTOCOL_VERSION_MISMATCH",
        ("protocol_version",),
        (_PROTOCOL_PAGE, _IRB_APPROVAL),
        is_same_version,
    ),
    _SharedValue(
        "IRB_MISMATCH", ("irb_name", "irb"), (_IRB_APPROVAL, FORM_1572), is_same_institution
    ),
    _SharedValue(
        "PROTOCOL_MISMATCH", ("protocol_number",), _TYPES_WITH_PROTOCOL, _is_same_protocol
    ),
)


def find_gaps(
    expected: Sequence[ExpectedDocument],
    documents: Sequence[SiteDocument],
    required: Iterable[DocumentRequirement],
    *,
    protocol: str = "",
) -> list[Gap]:
    """Return the gaps of a site in a fixed order, whatever the order of the documents.

    `protocol` is the study's own protocol number.
    """
    live = sorted((each for each in documents if each.is_live), key=lambda each: each.key)
    missing = [each for each in required if each.status is RequirementStatus.MISSING]
    unnamed = list(_compare_with_form(expected, live, missing))
    explained = {gap.other.document_type for gap in unnamed if gap.other}
    return [
        *(gap for shared in _SHARED_VALUES for gap in _compare_values(shared, live, protocol)),
        *unnamed,
        *_compare_laboratories(live),
        *_compare_team_with_log(live),
        *_compare_consent_with_approval(live),
        *_list_missing(each for each in missing if each.document_type not in explained),
    ]


def _compare_values(
    shared: _SharedValue, documents: Sequence[SiteDocument], protocol: str
) -> Iterator[Gap]:
    """Yield a gap for each document that differs from the one with which most documents agree."""
    found: list[_FoundValue] = []
    for slug in shared.slugs:
        slugs = _IRB_APPROVALS if slug == _IRB_APPROVAL else (slug,)
        candidates = [newest for each in slugs if (newest := find_newest(documents, each))]
        if TYPES[slug].per_person:
            # The newest document of each person.
            by_person = {
                document.names: document for document in documents if document.document_type == slug
            }
            candidates = list(by_person.values())
        values = [_find_value(shared, document, protocol) for document in candidates]
        named = [value for value in values if value]
        if named and not TYPES[slug].per_person:
            named = [max(named, key=lambda value: value.document.key)]
        found += named
    if not found:
        return
    agreeing = [
        sum(shared.is_same(one.compared, other.compared) for other in found) for one in found
    ]
    reference = found[agreeing.index(max(agreeing))]
    for each in found:
        if not shared.is_same(reference.compared, each.compared):
            yield _mismatch(
                shared.code, reference.document, reference.value, each.document, each.value
            )


def _find_value(shared: _SharedValue, document: SiteDocument, protocol: str) -> _FoundValue | None:
    values = [value for field in shared.fields for value in document.sure_values(field)]
    if not values:
        return None
    is_filed = document.state is DocumentState.ARCHIVED
    if "protocol_number" in shared.fields and protocol and is_filed:
        # The document may list several protocols. The check of the document searched its whole
        # text for the study's own.
        return _FoundValue(document, protocol, protocol)
    compared = values[:1]
    if shared.is_same is is_same_institution:
        compared = [*values, *document.sure_values("irb_registration")]
    return _FoundValue(document, values[0], ", ".join(compared))


def _compare_with_form(
    expected: Sequence[ExpectedDocument],
    documents: Sequence[SiteDocument],
    missing: Sequence[DocumentRequirement],
) -> Iterator[Gap]:
    """Yield a gap if a person's document is missing, and another names a person not on the form."""
    form = find_newest(documents, FORM_1572)
    for line in expected:
        lacking = next(
            (one for one in missing if one.document_type == line.document_type and one.whose), None
        )
        if form is None or lacking is None:
            continue
        is_person = line.required_for.is_person
        code = "PERSON_MISMATCH" if is_person else "LAB_MISMATCH"
        for document in find_unassigned(line, documents):
            # A gap says that a document names a person only if the name was read on it. If the
            # declared name differs, the document has a finding of its own.
            is_read = any(may_be_same_person(name, document.names) for name in document.names_read)
            if is_read or not is_person:
                yield _mismatch(code, form, lacking.whose, document, document.names)


def _compare_laboratories(documents: Sequence[SiteDocument]) -> Iterator[Gap]:
    """Compare the certificate with the normal ranges while no form names the laboratories."""
    certificate = find_newest(documents, _CERTIFICATE)
    ranges = find_newest(documents, _NORMAL_RANGES)
    if list_named(documents, RequiredFor.LABORATORY) or not certificate or not ranges:
        return
    one, other = certificate.names, ranges.names
    if one and other and not is_same_institution(one, other):
        yield _mismatch("LAB_MISMATCH", certificate, one, ranges, other)


def _compare_team_with_log(documents: Sequence[SiteDocument]) -> Iterator[Gap]:
    """Yield a gap for each person on Form FDA 1572 who is not on the delegation log."""
    form, log = find_newest(documents, FORM_1572), find_newest(documents, DELEGATION_LOG)
    listed = log.sure_values("persons") if log else []
    if form is None or log is None or not listed:
        return
    for person in list_named(documents, RequiredFor.TEAM):
        if not any(may_be_same_person(person, each) for each in listed):
            facts = {"one": _noun(form), "other": _noun(log), "absent": person}
            names = _name_facts("listed", listed)
            yield Gap("PERSON_MISMATCH", form, log, {**facts, **names})


def _compare_consent_with_approval(documents: Sequence[SiteDocument]) -> Iterator[Gap]:
    """Yield a gap if the IRB approval lists another version than that of the consent form.

    The newest approval that lists a consent form counts: an amendment may approve a new version.
    """
    form = find_newest(documents, _CONSENT_FORM)
    listings = []
    for slug in _IRB_APPROVALS:
        newest = find_newest(documents, slug)
        listed = [
            each
            for each in (newest.sure_values("approved_documents") if newest else ())
            if _CONSENT_WORDS.search(each)
        ]
        if newest and listed:
            listings.append((newest, listed))
    if not listings or form is None or not (version := form.first_sure_value("version")):
        return
    approval, listed = max(listings, key=lambda listing: listing[0].key)
    approved = [one for each in listed for one in _VERSION_NUMBER.findall(each)]
    if approved and not any(is_same_version(version, one) for one in approved):
        facts = {"one": _noun(approval), "other": _noun(form), "named": version}
        names = _name_facts("approved", listed)
        yield Gap("PROTOCOL_VERSION_MISMATCH", approval, form, {**facts, **names})


def _list_missing(missing: Iterable[DocumentRequirement]) -> Iterator[Gap]:
    """Yield a gap for each missing document of a person or laboratory that a document names."""
    for each in missing:
        if each.named_on:
            facts = {"one": _noun(each.named_on), "absent": each.whose}
            facts["lacking"] = _noun(each)
            yield Gap("PACKET_INCOMPLETE", each.named_on, None, facts)


def _mismatch(code: str, one: SiteDocument, expected: str, other: SiteDocument, named: str) -> Gap:
    facts = {"one": _noun(one), "expected": expected, "other": _noun(other), "named": named}
    return Gap(code, one, other, facts)


def _noun(document: SiteDocument | DocumentRequirement) -> str:
    return TYPES[document.document_type].noun if document.document_type in TYPES else _("document")


def _name_facts(fact: str, names: Sequence[str]) -> Facts:
    """Return the first of some names as a fact, and how many more there are as the fact `more`."""
    listed: Facts = {fact: ", ".join(names[:_MAX_NAMES_IN_SENTENCE])}
    more = len(names) - _MAX_NAMES_IN_SENTENCE
    return {**listed, "more": more} if more > 0 else listed
