"""Do the documents of a site agree with one another? Each gap names both, and what they say.

Only what was read with certainty is compared, on what is on file or in review: a value that may
be misread makes no gap, and neither does one that was not found.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ingestion.core.states import DocumentState
from ingestion.rules.checks.identity import same_number
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.names import may_be_same_person, same_body, same_version
from ingestion.rules.findings import Facts
from ingestion.rules.site_file.requirements import (
    FORM_1572,
    LOG,
    DocumentRequirement,
    ExpectedDocument,
    Paper,
    RequiredFor,
    RequirementStatus,
    named,
    newest,
    strays,
)

_PAGE, _LETTER = "protocol-signature-page", "irb-approval"
_CERTIFICATE, _RANGES = "lab-certification", "lab-normal-ranges"
_CONSENT = "informed-consent-form"
_MAX_NAMES_IN_SENTENCE = 6  # names of a log that a sentence repeats
_CONSENTS = re.compile(r"(?i)\b(?:consent|icf)\b")
# Not the numbers of a date, and not those of a protocol or a site with letters in it.
_VERSIONS = re.compile(
    r"(?<![\w./-])[vV]?\d{1,2}(?:\.\d+)*(?![\w/-]|\.\d| [A-Za-z]{3,9}\.?,? \d{4})"
)


@dataclass(frozen=True, slots=True)
class Gap:
    code: str  # of the registry; its copy says what would resolve it
    one: Paper
    other: Paper | None  # None: it is not there
    facts: Facts


@dataclass(frozen=True, slots=True)
class Shared:
    """Something that has to be the same on several documents; the first kind leads in a tie."""

    code: str
    fields: tuple[str, ...]  # one of them holds it
    kinds: tuple[str, ...]
    same: Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class _Shown:
    paper: Paper
    value: str  # as a sentence shows it
    whole: str  # as it is compared: with an address, or a registration number


def _same_protocol(one: str, other: str) -> bool:
    return same_number(one, other) or same_number(other, one)


_NAME_PROTOCOL = tuple(slug for slug, kind in TYPES.items() if kind.names_protocol)
_VERSION, _NUMBER = "protocol_version", "protocol_number"
_SHARED = (
    Shared(
        "PERSON_MISMATCH", ("investigator",), (FORM_1572, _PAGE, LOG, _LETTER), may_be_same_person
    ),
    Shared("PROTOCOL_VERSION_MISMATCH", (_VERSION,), (_PAGE, _LETTER), same_version),
    Shared("IRB_MISMATCH", ("irb_name", "irb"), (_LETTER, FORM_1572), same_body),
    Shared("PROTOCOL_MISMATCH", (_NUMBER,), _NAME_PROTOCOL, _same_protocol),
)


def gaps(
    wanted: Sequence[ExpectedDocument],
    papers: Sequence[Paper],
    required: Iterable[DocumentRequirement],
    *,
    protocol: str = "",
) -> list[Gap]:
    """In a fixed order, whatever the order of the papers. `protocol`: the study's own number."""
    live = sorted((paper for paper in papers if paper.is_live), key=lambda paper: paper.key)
    missing = [each for each in required if each.standing is RequirementStatus.MISSING]
    of_others = list(_of_somebody_else(wanted, live, missing))
    explained = {gap.other.kind for gap in of_others if gap.other}
    return [
        *(gap for shared in _SHARED for gap in _differing(shared, live, protocol)),
        *of_others,
        *_laboratories(live),
        *_not_on_the_log(live),
        *_not_approved(live),
        *_named_and_missing(each for each in missing if each.kind not in explained),
    ]


def _differing(shared: Shared, papers: Sequence[Paper], protocol: str) -> Iterator[Gap]:
    """Each paper that differs from the one with which most agree."""
    last = (paper for kind in shared.kinds for paper in _newest_of_each(papers, kind))
    shown = [seen for paper in last if (seen := _shown(shared, paper, protocol))]
    if not shown:
        return
    agreeing = [sum(shared.same(one.whole, other.whole) for other in shown) for one in shown]
    most = shown[agreeing.index(max(agreeing))]
    for each in shown:
        if not shared.same(most.whole, each.whole):
            yield _mismatch(shared.code, most.paper, most.value, each.paper, each.value)


def _newest_of_each(papers: Sequence[Paper], kind: str) -> list[Paper]:
    """The newest of the type; of one that people have of their own, the newest of each person."""
    if not TYPES[kind].per_person:
        return [paper] if (paper := newest(papers, kind)) else []
    return list({paper.names: paper for paper in papers if paper.kind == kind}.values())


def _shown(shared: Shared, paper: Paper, protocol: str) -> _Shown | None:
    values = [value for field in shared.fields for value in paper.sure(field)]
    if not values:
        return None
    if _NUMBER in shared.fields and protocol and paper.state is DocumentState.ARCHIVED:
        # It may list several: that the study's own is among them was checked on the whole text.
        return _Shown(paper, protocol, protocol)
    whole = [*values, *paper.sure("irb_registration")] if shared.same is same_body else values[:1]
    return _Shown(paper, values[0], ", ".join(whole))


def _of_somebody_else(
    wanted: Sequence[ExpectedDocument],
    papers: Sequence[Paper],
    missing: Sequence[DocumentRequirement],
) -> Iterator[Gap]:
    """Somebody's paper is missing, and there is one of somebody whom the form does not name."""
    form = newest(papers, FORM_1572)
    for each in wanted:
        lacking = next((one for one in missing if one.kind == each.kind and one.whose), None)
        if form is None or lacking is None:
            continue
        code = "PERSON_MISMATCH" if each.each.is_person else "LAB_MISMATCH"
        for paper in strays(each, papers):
            # That a document names somebody is said of what was read on it, never of the name that
            # it was sent under. Where the two differ, the document has a finding of its own.
            is_read = any(may_be_same_person(name, paper.names) for name in paper.people_read)
            if is_read or not each.each.is_person:
                yield _mismatch(code, form, lacking.whose, paper, paper.names)


def _laboratories(papers: Sequence[Paper]) -> Iterator[Gap]:
    """Certificate against ranges, while no form says which laboratories there are."""
    certificate, ranges = newest(papers, _CERTIFICATE), newest(papers, _RANGES)
    if named(papers, RequiredFor.LABORATORY) or not certificate or not ranges:
        return
    one, other = certificate.names, ranges.names
    if one and other and not same_body(one, other):
        yield _mismatch("LAB_MISMATCH", certificate, one, ranges, other)


def _not_on_the_log(papers: Sequence[Paper]) -> Iterator[Gap]:
    form, log = newest(papers, FORM_1572), newest(papers, LOG)
    listed = log.sure("persons") if log else []
    if form is None or log is None or not listed:
        return
    for person in named(papers, RequiredFor.TEAM):
        if not any(may_be_same_person(person, each) for each in listed):
            facts = {"one": _noun(form), "other": _noun(log), "absent": person}
            yield Gap("PERSON_MISMATCH", form, log, {**facts, "listed": _listed(listed)})


def _not_approved(papers: Sequence[Paper]) -> Iterator[Gap]:
    """The consent form is not in the version that the IRB's letter lists."""
    letter, form = newest(papers, _LETTER), newest(papers, _CONSENT)
    if letter is None or form is None or not (version := form.first("version")):
        return
    listed = [each for each in letter.sure("approved_documents") if _CONSENTS.search(each)]
    approved = [one for each in listed for one in _VERSIONS.findall(each)]
    if approved and not any(same_version(version, one) for one in approved):
        facts = {"one": _noun(letter), "other": _noun(form), "approved": _listed(listed)}
        yield Gap("PROTOCOL_VERSION_MISMATCH", letter, form, {**facts, "named": version})


def _named_and_missing(missing: Iterable[DocumentRequirement]) -> Iterator[Gap]:
    for each in missing:
        if each.named_on:
            facts = {"one": _noun(each.named_on), "absent": each.whose}
            facts["lacking"] = TYPES[each.kind].noun if each.kind in TYPES else "document"
            yield Gap("PACKET_INCOMPLETE", each.named_on, None, facts)


def _mismatch(code: str, one: Paper, expected: str, other: Paper, named: str) -> Gap:
    facts = {"one": _noun(one), "expected": expected, "other": _noun(other), "named": named}
    return Gap(code, one, other, facts)


def _noun(paper: Paper) -> str:
    return TYPES[paper.kind].noun if paper.kind in TYPES else "document"


def _listed(people: Sequence[str]) -> str:
    shown = ", ".join(people[:_MAX_NAMES_IN_SENTENCE])
    return f"{shown} and others" if len(people) > _MAX_NAMES_IN_SENTENCE else shown
