"""Determines the documents that a site needs on file, and the status of each.

This module is pure. The status is computed when it is needed and not stored, so that it is never
out of date. Some documents are needed once; others are needed of the investigator, of everybody, or
of every laboratory that Form FDA 1572 names. Without a readable form, each is needed once.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from ingestion.core.states import DocumentState
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.persons.names import (
    is_same_institution,
    is_same_person,
    may_be_same_person,
)
from ingestion.rules.fields.values import FieldValue

FORM_1572, DELEGATION_LOG = "form-fda-1572", "delegation-log"
_NO_ENTRY = re.compile(r"(?i)^\W*(none|not applicable|n/?a|nil)?\W*$")
_LABORATORY = re.compile(r"(?i)\b(?:labs?\b|labor|lab[A-Z]|patholog|diagnosti|quest\b|\d\dD\d{7})")
# The beginning of a line that names a part of an institution, and so belongs to the line above.
_PART_OF_INSTITUTION = re.compile(
    r"(?i)\W*(?:dep(?:t|artment)|division|unit|attn|c/o|director|room)\b"
)
_ENTRY_SEPARATOR = re.compile(r"\s*[;\n|]\s*")


class RequiredFor(StrEnum):
    """Lists for whom a document of a type is needed."""

    SITE = "site"
    INVESTIGATOR = "investigator"
    TEAM = "team"  #: the investigator and the sub-investigators of Form FDA 1572
    DELEGATED = "delegated"  #: the team, and the other people on the delegation log
    LABORATORY = "laboratory"  #: each laboratory of Form FDA 1572

    @property
    def is_person(self) -> bool:
        """Return whether a document is needed for single people."""
        return self in {RequiredFor.INVESTIGATOR, RequiredFor.TEAM, RequiredFor.DELEGATED}


class RequirementStatus(StrEnum):
    """Lists the statuses of a requirement."""

    MISSING = "missing"
    PENDING = "pending"  #: sent, and not decided yet
    RETURNED = "returned"  #: rejected or returned; the site has to send another one
    EXPIRED = "expired"
    EXPIRING = "expiring"
    CURRENT = "current"
    WAIVED = "waived"  #: a recorded decision says that it is not needed

    @property
    def is_met(self) -> bool:
        """Return whether a requirement with this status is met."""
        return self in {
            RequirementStatus.EXPIRING,
            RequirementStatus.CURRENT,
            RequirementStatus.WAIVED,
        }


@dataclass(frozen=True, slots=True)
class ExpectedDocument:
    """A line of the expected document list of a study."""

    document_type: str  # the slug of the document type
    required_for: RequiredFor = RequiredFor.SITE


# The list of a study without its own list: the documents without which no site is activated.
DEFAULT_EXPECTED_DOCUMENTS = (
    ExpectedDocument("protocol-signature-page"),
    ExpectedDocument("irb-approval"),
    ExpectedDocument(FORM_1572),
    ExpectedDocument("cv", RequiredFor.TEAM),
    ExpectedDocument("medical-licence", RequiredFor.INVESTIGATOR),
    ExpectedDocument("gcp-certificate", RequiredFor.TEAM),
    ExpectedDocument("lab-certification", RequiredFor.LABORATORY),
    ExpectedDocument("lab-normal-ranges", RequiredFor.LABORATORY),
    ExpectedDocument("financial-disclosure", RequiredFor.TEAM),
    ExpectedDocument(DELEGATION_LOG),
)


@dataclass(frozen=True, slots=True)
class WaivedRequirement:
    """A recorded decision that a site does not need a document."""

    document_type: str  # the slug of the document type
    reason: str
    whose: str = ""  # a person or a laboratory; "" for all of them


@dataclass(frozen=True, slots=True)
class SiteDocument:
    """A document of a site, with what the comparison of the site's documents needs."""

    key: int  # the primary key of its row; a later document has a larger one
    document_type: str  # the slug of the document type
    state: DocumentState
    values: tuple[FieldValue, ...] = ()
    person: str = ""  # the declared person
    expires: date | None = None  # its last valid day under today's terms
    expires_soon: bool = False  # a warning is due
    is_accepted_after_expiry: bool = False  # the study accepts it after its last valid day

    def sure_values(self, name: str) -> list[str]:
        """Return the values of a field that were read with certainty, each entry of a list apart.

        Text of the blank form, which earlier versions of the rules took for values, is left out.
        """
        texts = (value.value for value in self.values if value.name == name and value.is_sure)
        entries = [
            entry
            for text in texts
            for entry in _ENTRY_SEPARATOR.split(text)
            if not _NO_ENTRY.match(entry)
        ]
        kind, is_name = TYPES.get(self.document_type), name in _NAME_FIELDS
        return [
            entry for entry in entries if not (kind and kind.is_printed(entry, is_name=is_name))
        ]

    def first_sure_value(self, *names: str) -> str:
        """Return the first value of the first of these fields that has one, or ""."""
        return next((value for name in names for value in self.sure_values(name)), "")

    @property
    def is_live(self) -> bool:
        """Return whether its content counts, because it is on file or may soon be."""
        return self.state in {DocumentState.ARCHIVED, DocumentState.IN_REVIEW}

    @property
    def names_read(self) -> list[str]:
        """Return the people that the document itself names, whatever was declared."""
        fields = ("person", "investigator")
        return [name for field in fields if (name := self.first_sure_value(field))]

    @property
    def names(self) -> str:
        """Return the person or the laboratory that it is about, or "" if not known."""
        if self.document_type in _LABORATORY_TYPES:
            number = self.first_sure_value("clia_number")
            return self.first_sure_value("lab_name") + (f", CLIA {number}" if number else "")
        if not self.person:
            return next(iter(self.names_read), "")
        # The declared person was checked, or confirmed in a recorded decision. A financial
        # disclosure names the principal investigator as well.
        fitting = [name for name in self.names_read if may_be_same_person(name, self.person)]
        return max((*fitting[:1], self.person), key=len)


@dataclass(frozen=True, slots=True)
class DocumentRequirement:
    """A document that a site needs, and its status."""

    document_type: str  # the slug of the document type
    status: RequirementStatus
    whose: str = ""  # "" for the site, or while no name is known
    document: SiteDocument | None = None  # the document that decided the status
    named_on: SiteDocument | None = None  # the document that names the person or laboratory
    reason: str = ""  # of a waiver


_NAME_FIELDS = frozenset({"person", "investigator", "persons", "subinvestigators"})
_LABORATORY_TYPES = frozenset({"lab-certification", "lab-normal-ranges"})
_REMOVED = {
    DocumentState.WITHDRAWN,
    DocumentState.CANCELLED,
    DocumentState.DEDUPED,
    DocumentState.DIVIDED,  # its parts count
}
_SENT_BACK = {DocumentState.REJECTED, DocumentState.RETURNED}


def list_requirements(
    expected: Sequence[ExpectedDocument],
    documents: Iterable[SiteDocument],
    waived: Sequence[WaivedRequirement],
    today: date,
) -> list[DocumentRequirement]:
    """Return the requirements of a site in the order of `expected`, the investigator first."""
    present = [document for document in documents if document.state not in _REMOVED]
    requirements = []
    for line in expected:
        for whose, own in assign_documents(line, present):
            status, document = _determine_status(own, today)
            reason = ""
            if not status.is_met:
                reason = next(
                    (
                        waiver.reason
                        for waiver in waived
                        if waiver.document_type == line.document_type
                        and (
                            not waiver.whose
                            or (whose and _is_same(line.required_for, waiver.whose, whose))
                        )
                    ),
                    "",
                )
            requirements.append(
                DocumentRequirement(
                    line.document_type,
                    RequirementStatus.WAIVED if reason else status,
                    whose,
                    document,
                    find_naming_document(present, line, whose),
                    reason,
                )
            )
    return requirements


def is_accepted_as(slug: str, needed: str) -> bool:
    """Return whether a document of a type meets the requirement of a document of another.

    A type lists the types in whose place it is accepted (`satisfies` in types.toml): a continuing
    review extends an approval, and a biosketch describes a person as a CV does.
    """
    return slug == needed or (slug in TYPES and needed in TYPES[slug].satisfies)


def find_newest(documents: Iterable[SiteDocument], slug: str) -> SiteDocument | None:
    """Return the newest document of a type whose content counts, or None."""
    live = (
        document for document in documents if document.document_type == slug and document.is_live
    )
    return max(live, key=lambda document: document.key, default=None)


def find_investigator(documents: Sequence[SiteDocument]) -> str:
    """Return the name of the principal investigator, or "" if it was not read.

    The name is taken from Form FDA 1572, the protocol page, the delegation log or the IRB approval,
    in this order.
    """
    for slug in (FORM_1572, "protocol-signature-page", DELEGATION_LOG, "irb-approval"):
        document = find_newest(documents, slug)
        if document and (name := document.first_sure_value("investigator")):
            return name
    return ""


def list_named(documents: Sequence[SiteDocument], required_for: RequiredFor) -> list[str]:
    """Return the known people or laboratories for whom a document is needed, the leader first."""
    form = find_newest(documents, FORM_1572)
    if required_for is RequiredFor.LABORATORY:
        laboratories: list[str] = []
        # The box has names and addresses. A line without a laboratory belongs to the one above.
        for line in form.sure_values("labs") if form else []:
            is_named = _LABORATORY.search(line.split(",")[0])
            if not laboratories or (is_named and not _PART_OF_INSTITUTION.match(line)):
                laboratories.append(line)
        return _distinct(laboratories, required_for)
    if required_for is RequiredFor.SITE:
        return []
    people = [name] if (name := find_investigator(documents)) else []
    if form and required_for is not RequiredFor.INVESTIGATOR:
        people += form.sure_values("subinvestigators")
    if required_for is RequiredFor.DELEGATED and (log := find_newest(documents, DELEGATION_LOG)):
        people += log.sure_values("persons")
    return _distinct(people, required_for)


def assign_documents(
    expected: ExpectedDocument, documents: Sequence[SiteDocument]
) -> Iterator[tuple[str, list[SiteDocument]]]:
    """Yield each person or laboratory that needs a document, with the documents of this type.

    A document without a name counts for a laboratory that has none. For a person it counts only if
    it is on file and nobody else lacks one, because a document must not be assigned by a guess.
    """
    own = [
        document
        for document in documents
        if is_accepted_as(document.document_type, expected.document_type)
    ]
    people = list_named(documents, expected.required_for)
    if not people:
        yield "", own
        return
    unnamed = [document for document in own if not document.names]
    assigned = {
        whose: [
            document
            for document in own
            if document.names and _is_same(expected.required_for, document.names, whose)
        ]
        for whose in people
    }
    if expected.required_for.is_person:
        is_clear = sum(not found for found in assigned.values()) == 1
        unnamed = [
            document
            for document in unnamed
            if is_clear and document.state == DocumentState.ARCHIVED
        ]
    for whose, found in assigned.items():
        yield whose, found or unnamed[:1]
        if not found:
            unnamed = unnamed[1:]


def find_unassigned(
    expected: ExpectedDocument, documents: Sequence[SiteDocument]
) -> list[SiteDocument]:
    """Return the live documents of a type whose person or laboratory no other document names."""
    known = list_named(documents, expected.required_for)
    if expected.required_for.is_person:
        known += list_named(documents, RequiredFor.TEAM)
    return [
        document
        for document in documents
        if is_accepted_as(document.document_type, expected.document_type)
        and document.is_live
        and known
        and document.names
        and not any(_may_be_same(expected.required_for, document.names, name) for name in known)
    ]


def find_naming_document(
    documents: Sequence[SiteDocument], expected: ExpectedDocument, whose: str
) -> SiteDocument | None:
    """Return the form or log that shows that a person or laboratory needs a document.

    It is None for the site and for the principal investigator.
    """
    required_for = expected.required_for
    if not whose or (required_for.is_person and whose == find_investigator(documents)):
        return None
    is_on_form = required_for is not RequiredFor.DELEGATED or whose in list_named(
        documents, RequiredFor.TEAM
    )
    return find_newest(documents, FORM_1572 if is_on_form else DELEGATION_LOG)


def _determine_status(
    documents: Sequence[SiteDocument], today: date
) -> tuple[RequirementStatus, SiteDocument | None]:
    """Return the status of a requirement, and the document that decides it.

    A valid document on file has priority. Otherwise the document that was sent last decides.
    """
    last = max(documents, key=lambda document: document.key, default=None)
    filed = max(
        (document for document in documents if document.state == DocumentState.ARCHIVED),
        key=lambda document: document.key,
        default=None,
    )
    if filed:
        is_past = filed.expires is not None and filed.expires < today
        if not is_past or filed.is_accepted_after_expiry:
            expiring = filed.expires_soon
            return (RequirementStatus.EXPIRING if expiring else RequirementStatus.CURRENT), filed
    if last is None:
        return RequirementStatus.MISSING, None
    if last is filed:
        return RequirementStatus.EXPIRED, filed
    if last.state in _SENT_BACK:
        return RequirementStatus.RETURNED, last
    return RequirementStatus.PENDING, last


def _distinct(names: Iterable[str], required_for: RequiredFor) -> list[str]:
    distinct: list[str] = []
    for name in names:
        if not any(_may_be_same(required_for, name, other) for other in distinct):
            distinct.append(name)
    return distinct


def _is_same(required_for: RequiredFor, one: str, other: str) -> bool:
    return is_same_person(one, other) if required_for.is_person else is_same_institution(one, other)


def _may_be_same(required_for: RequiredFor, one: str, other: str) -> bool:
    """Return whether nothing shows that two people or laboratories are different."""
    return (
        may_be_same_person(one, other)
        if required_for.is_person
        else is_same_institution(one, other)
    )
