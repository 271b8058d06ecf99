"""What a site needs on file, and how far it is. Pure: nothing is stored, so nothing goes stale.

Some documents are needed once, others of the investigator, of everybody or for every laboratory
that Form FDA 1572 names. While no form is on file that could be read, each counts once.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from itertools import islice

from ingestion.core.states import DocumentState
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.extraction import FieldValue
from ingestion.rules.fields.names import is_same_person, may_be_same_person, same_body

FORM_1572, LOG = "form-fda-1572", "delegation-log"
_NOBODY = re.compile(r"(?i)^\W*(none|not applicable|n/?a|nil)?\W*$")
_LABORATORY = re.compile(r"(?i)\b(?:labs?\b|labor|lab[A-Z]|patholog|diagnosti|quest\b|\d\dD\d{7})")
_WITHIN = re.compile(r"(?i)\W*(?:dep(?:t|artment)|division|unit|attn|c/o|director|room)\b")
_BETWEEN = re.compile(r"\s*[;\n|]\s*")  # what parts the items of a list in one field


class RequiredFor(StrEnum):
    """For whom a document of a type is needed."""

    SITE = "site"
    INVESTIGATOR = "investigator"
    TEAM = "team"  #: the investigator and the sub-investigators of Form FDA 1572
    DELEGATED = "delegated"  #: these, and whomever else the delegation log lists
    LABORATORY = "laboratory"  #: each laboratory of Form FDA 1572

    @property
    def is_person(self) -> bool:
        return self in {RequiredFor.INVESTIGATOR, RequiredFor.TEAM, RequiredFor.DELEGATED}


class RequirementStatus(StrEnum):
    MISSING = "missing"
    PENDING = "pending"  #: sent, and not decided on yet
    RETURNED = "returned"  #: rejected or sent back; the site has to send another
    EXPIRED = "expired"
    EXPIRING = "expiring"
    CURRENT = "current"
    WAIVED = "waived"  #: somebody decided, on record, that it is not needed

    @property
    def is_met(self) -> bool:
        return self in {
            RequirementStatus.EXPIRING,
            RequirementStatus.CURRENT,
            RequirementStatus.WAIVED,
        }


@dataclass(frozen=True, slots=True)
class ExpectedDocument:
    kind: str  # a type's slug
    each: RequiredFor = RequiredFor.SITE


# For a study that has no list of its own: the documents without which no site is activated.
USUAL = (
    ExpectedDocument("protocol-signature-page"),
    ExpectedDocument("irb-approval"),
    ExpectedDocument(FORM_1572),
    ExpectedDocument("cv", RequiredFor.TEAM),
    ExpectedDocument("medical-licence", RequiredFor.INVESTIGATOR),
    ExpectedDocument("gcp-certificate", RequiredFor.TEAM),
    ExpectedDocument("lab-certification", RequiredFor.LABORATORY),
    ExpectedDocument("lab-normal-ranges", RequiredFor.LABORATORY),
    ExpectedDocument("financial-disclosure", RequiredFor.TEAM),
    ExpectedDocument(LOG),
)


@dataclass(frozen=True, slots=True)
class Waived:
    kind: str
    reason: str
    whose: str = ""  # a person or a laboratory; "" for whomever it is needed of


@dataclass(frozen=True, slots=True)
class Paper:
    """A document as the checks of a packet see it."""

    key: int  # the row's; a later one was sent later
    kind: str
    state: DocumentState
    values: tuple[FieldValue, ...] = ()
    person: str = ""  # whose it was sent as
    expires: date | None = None  # its last day under the terms of today
    is_due: bool = False  # that day is near enough for a warning
    may_run_out: bool = False  # the study takes it even after its last day

    def sure(self, name: str) -> list[str]:
        """What was read with certainty under this name, one item of a list after the other.

        Without what an earlier version of the rules took from the text of the blank form.
        """
        read = (value.value for value in self.values if value.name == name and value.is_sure)
        items = (item for text in read for item in _BETWEEN.split(text) if not _NOBODY.match(item))
        kind, is_name = TYPES.get(self.kind), name in _NAMES_OF_PEOPLE
        return [item for item in items if not (kind and kind.prints(item, is_name=is_name))]

    def first(self, *names: str) -> str:
        return next((item for name in names for item in self.sure(name)), "")

    @property
    def is_live(self) -> bool:
        """On file, or about to be: its content counts."""
        return self.state in {DocumentState.ARCHIVED, DocumentState.IN_REVIEW}

    @property
    def people_read(self) -> list[str]:
        """The people whom the document itself names, whoever it was sent for."""
        return [name for name in (self.first("person"), self.first("investigator")) if name]

    @property
    def names(self) -> str:
        """Whom or what it is about, as far as is known."""
        if self.kind in _OF_A_LABORATORY:
            number = self.first("clia_number")
            return self.first("lab_name") + (f", CLIA {number}" if number else "")
        if not self.person:
            return next(iter(self.people_read), "")
        # Whose it was sent as was checked, or somebody decided so, on record. A disclosure names
        # the principal investigator too.
        fitting = (name for name in self.people_read if may_be_same_person(name, self.person))
        return max((*islice(fitting, 1), self.person), key=len)


@dataclass(frozen=True, slots=True)
class DocumentRequirement:
    kind: str
    standing: RequirementStatus
    whose: str = ""  # "" for the site, or while nobody is known
    paper: Paper | None = None  # the one that decided its standing
    named_on: Paper | None = None  # the one that says that it is needed of this person
    reason: str = ""  # of a waiver


_NAMES_OF_PEOPLE = frozenset({"person", "investigator", "persons", "subinvestigators"})
_OF_A_LABORATORY = frozenset({"lab-certification", "lab-normal-ranges"})
_GONE = {DocumentState.WITHDRAWN, DocumentState.CANCELLED, DocumentState.DEDUPED}
_SENT_BACK = {DocumentState.REJECTED, DocumentState.RETURNED}


def requirements(
    wanted: Sequence[ExpectedDocument],
    papers: Iterable[Paper],
    waived: Sequence[Waived],
    today: date,
) -> list[DocumentRequirement]:
    """In the order of `wanted`, the investigator before the others."""
    there = [paper for paper in papers if paper.state not in _GONE]
    return [
        _requirement(each, whose, own, waived, today, named_on(there, each, whose))
        for each in wanted
        for whose, own in sorted_out(each, there)
    ]


def newest(papers: Iterable[Paper], kind: str) -> Paper | None:
    """Of those whose content counts."""
    own = (paper for paper in papers if paper.kind == kind and paper.is_live)
    return max(own, key=lambda paper: paper.key, default=None)


def investigator(papers: Sequence[Paper]) -> str:
    """As the first of these names them that could be read."""
    kinds = (FORM_1572, "protocol-signature-page", LOG, "irb-approval")
    found = (paper.first("investigator") for kind in kinds if (paper := newest(papers, kind)))
    return next((name for name in found if name), "")


def named(papers: Sequence[Paper], each: RequiredFor) -> list[str]:
    """Of whom, or for which laboratories, it is needed as far as is known; the first one leads."""
    form = newest(papers, FORM_1572)
    if each is RequiredFor.LABORATORY:
        return _different(_laboratories(form.sure("labs")) if form else [], each)
    if each is RequiredFor.SITE:
        return []
    first = [name] if (name := investigator(papers)) else []
    others = form.sure("subinvestigators") if form and each is not RequiredFor.INVESTIGATOR else []
    log = newest(papers, LOG) if each is RequiredFor.DELEGATED else None
    return _different([*first, *others, *(log.sure("persons") if log else [])], each)


def sorted_out(
    wanted: ExpectedDocument, papers: Sequence[Paper]
) -> Iterator[tuple[str, list[Paper]]]:
    """Each for whom it is needed, with the papers of this type that are theirs.

    One that does not say whose it is counts for a laboratory that has none. For a person it counts
    only once it is on file and nobody else lacks one: it is listed under nobody by a guess.
    """
    own = [paper for paper in papers if paper.kind == wanted.kind]
    people = named(papers, wanted.each)
    if not people:
        yield "", own
        return
    unnamed = [paper for paper in own if not paper.names]
    theirs = {
        whose: [paper for paper in own if paper.names and _same(wanted.each, paper.names, whose)]
        for whose in people
    }
    if wanted.each.is_person:
        is_clear = sum(not papers for papers in theirs.values()) == 1
        unnamed = _in(unnamed, {DocumentState.ARCHIVED}) if is_clear else []
    for whose, papers_of in theirs.items():
        yield whose, papers_of or unnamed[:1]
        if not papers_of:
            unnamed = unnamed[1:]


def strays(wanted: ExpectedDocument, papers: Sequence[Paper]) -> list[Paper]:
    """Live papers of this type that say they are of somebody whom nobody names."""
    people = named(papers, wanted.each)
    own = [paper for paper in papers if paper.kind == wanted.kind and paper.is_live]
    known = [*people, *named(papers, RequiredFor.TEAM)] if wanted.each.is_person else people
    return [
        paper
        for paper in own
        if known and paper.names and not any(_may_be(wanted.each, paper.names, n) for n in known)
    ]


def named_on(papers: Sequence[Paper], wanted: ExpectedDocument, whose: str) -> Paper | None:
    """The form that names a further person or a laboratory, or the log that lists the person."""
    if not whose or (wanted.each.is_person and whose == investigator(papers)):
        return None
    is_on_form = wanted.each is not RequiredFor.DELEGATED or whose in named(
        papers, RequiredFor.TEAM
    )
    return newest(papers, FORM_1572 if is_on_form else LOG)


def _requirement(
    wanted: ExpectedDocument,
    whose: str,
    papers: Sequence[Paper],
    waived: Sequence[Waived],
    today: date,
    named_on: Paper | None,
) -> DocumentRequirement:
    filed = max(_in(papers, {DocumentState.ARCHIVED}), key=_key, default=None)
    last = max(papers, key=_key, default=None)
    standing, paper = _standing(filed, last, today)
    reason = _reason(wanted, whose, waived)
    if reason and not standing.is_met:
        standing = RequirementStatus.WAIVED
    else:
        reason = ""
    return DocumentRequirement(wanted.kind, standing, whose, paper, named_on, reason)


def _standing(
    filed: Paper | None, last: Paper | None, today: date
) -> tuple[RequirementStatus, Paper | None]:
    """What is on file and still counts wins; else it depends on what was sent last."""
    is_over = bool(filed and filed.expires and filed.expires < today and not filed.may_run_out)
    if filed and not is_over:
        return (RequirementStatus.EXPIRING if filed.is_due else RequirementStatus.CURRENT), filed
    if last is None:
        return RequirementStatus.MISSING, None
    if last is filed:
        return RequirementStatus.EXPIRED, filed
    return (
        RequirementStatus.RETURNED if last.state in _SENT_BACK else RequirementStatus.PENDING
    ), last


def _reason(wanted: ExpectedDocument, whose: str, waived: Iterable[Waived]) -> str:
    fitting = (
        each.reason
        for each in waived
        if each.kind == wanted.kind
        and (not each.whose or (whose and _same(wanted.each, each.whose, whose)))
    )
    return next(fitting, "")


def _laboratories(lines: Iterable[str]) -> list[str]:
    """The box holds names and addresses: a line that names no laboratory goes on with the last."""
    found: list[str] = []
    for line in lines:
        if not found or (_LABORATORY.search(line.split(",")[0]) and not _WITHIN.match(line)):
            found.append(line)
    return found


def _different(names: Iterable[str], each: RequiredFor) -> list[str]:
    different: list[str] = []
    for name in names:
        if not any(_may_be(each, name, other) for other in different):
            different.append(name)
    return different


def _same(each: RequiredFor, one: str, other: str) -> bool:
    return is_same_person(one, other) if each.is_person else same_body(one, other)


def _may_be(each: RequiredFor, one: str, other: str) -> bool:
    """Whether nothing says that they are two."""
    return may_be_same_person(one, other) if each.is_person else same_body(one, other)


def _in(papers: Iterable[Paper], states: Iterable[DocumentState]) -> list[Paper]:
    return [paper for paper in papers if paper.state in states]


def _key(paper: Paper) -> int:
    return paper.key
