"""Checks that a document is about this site, this study and this person.

QA decides about mismatches, because the data of the site may be wrong. A value that differs from
the registered one by a misread character is a question with both values. It is never corrected
without a person.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rapidfuzz.distance import Levenshtein

from audit.translation import gettext_noop as _
from ingestion.rules import fuzzy_phrases
from ingestion.rules.checks.check_input import CheckInput, SiteFacts, make_finding_if_sure
from ingestion.rules.fields.persons import names
from ingestion.rules.fields.values import MIN_SURE_CONFIDENCE, SCAN_SOURCES, FieldValue
from ingestion.rules.findings import Facts, RuleFinding, make_page_facts

_OWN_VERSION_FIELDS = ("version", "brochure_edition")  # of the document, and not of the protocol
_MIN_NEARLY_SAME = 5  # characters of a number
_MAX_WRONG_LETTERS = 2  # of a name
_MAX_NAME_LINE_LENGTH = 60  # characters of a line that is only a name, with titles and degrees


def confirm_protocol_number(
    fields: Mapping[str, FieldValue], site: SiteFacts
) -> dict[str, FieldValue]:
    """Return the values of a document, its protocol number without doubt if it is the study's own.

    One of which there are two readings stays in doubt.
    """
    confirmed, known = dict(fields), fuzzy_phrases.strip_punctuation(site.protocol_number)
    value = fields.get("protocol_number")
    number = fuzzy_phrases.strip_punctuation(value.value) if value else ""
    if value and number and number == known and not value.readings:
        confidence = max(value.confidence, MIN_SURE_CONFIDENCE)
        confirmed[value.name] = replace(value, confidence=confidence, is_unconfirmed=False)
    return confirmed


def check_site(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield SITE_MISMATCH if the document names another site than the known one."""
    value, known = case.fields.get("site_number"), case.site.site_id
    if value and known and case.kind.names_site and not is_same_number(value.value, known):
        if is_nearly_same_number(value.value, known) and _may_be_misread(value):
            yield _nearly(value, _("site number"), known)
        else:
            facts: Facts = {"named": value.value, "expected": known}
            yield RuleFinding("SITE_MISMATCH", value.page, facts)


def check_protocol(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield PROTOCOL_MISMATCH if the document names another protocol and never the study's own.

    A number that only the model suggests is a question: it may be the committee's own number.
    """
    value, known = case.fields.get("protocol_number"), case.site.protocol_number
    if not value or not known or not case.kind.names_protocol or is_same_number(value.value, known):
        return
    if value.is_own_reference:
        return  # the committee's own number is no other protocol
    if fuzzy_phrases.contains_phrase(case.reading.text, known):
        return
    if is_nearly_same_number(value.value, known) and _may_be_misread(value):
        yield _nearly(value, _("protocol number"), known)
    elif value.is_suggested:
        what = {"what": _("the protocol number")}
        yield make_finding_if_sure(value, what, "PROTOCOL_MISMATCH", {}, noun=case.noun_of(value))
    else:
        yield RuleFinding(
            "PROTOCOL_MISMATCH", value.page, {"named": value.value, "expected": known}
        )


def check_protocol_version(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield PROTOCOL_VERSION_MISMATCH if the document names another version of the protocol.

    The version of another protocol gives no finding, because PROTOCOL_MISMATCH is enough.
    """
    value, known = case.fields.get("protocol_version"), case.site.protocol_version
    if not value or not known or not case.kind.names_version or any(check_protocol(case)):
        return
    if not names.is_same_version(value.value, known):
        facts: Facts = {"named": value.value, "expected": known}
        yield make_finding_if_sure(
            value,
            {"what": _("the protocol version")},
            "PROTOCOL_VERSION_MISMATCH",
            facts,
            noun=_("protocol version"),
        )


def check_declared_version(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield VERSION_MISMATCH if the document is another version than its sender declared."""
    value = next((case.fields[name] for name in _OWN_VERSION_FIELDS if name in case.fields), None)
    if value and case.version and not names.is_same_version(value.value, case.version):
        facts: Facts = {"named": value.value, "expected": case.version}
        yield make_finding_if_sure(
            value, {"what": _("the version")}, "VERSION_MISMATCH", facts, noun=_("version")
        )


def check_person(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield PERSON_NOT_READ or PERSON_MISMATCH for a document that belongs to one person.

    The name that was read must agree with the declared one: surname and first name, or its initial.
    If no person is declared, as in a manifest, the name must be read with certainty, because the
    document is filed under it.
    """
    if not case.kind.per_person:
        return
    value = case.fields.get("person") or case.fields.get("investigator")
    declared = case.person.strip()
    if declared and (value is None or "person" not in case.fields) and _names(case, declared):
        return
    expected: Facts = {"expected": declared.title()} if declared else {}
    if value is None:
        yield RuleFinding("PERSON_NOT_READ", facts=expected)
    elif declared and names.is_same_person(value.value, declared):
        return
    elif is_other_spelling(value.value, known := declared.title() or case.site.investigator):
        yield _nearly(value, _("name"), known)
    elif not value.is_sure:
        facts = {**expected, "read": value.value, **make_page_facts(value.page)}
        yield RuleFinding("PERSON_NOT_READ", value.page, facts)
    elif declared:
        yield RuleFinding("PERSON_MISMATCH", value.page, {"named": value.value, **expected})


def check_investigator(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield VALUE_NEARLY_MATCHES if the investigator or the licence is nearly the registered one.

    Another investigator is no finding: documents of a site also name other people.
    """
    known, licence = case.site.investigator, case.site.investigator_licence
    value = case.fields.get("investigator")
    if value and is_other_spelling(value.value, known):
        yield _nearly(value, _("investigator's name"), known)
    person, number = case.fields.get("person"), case.fields.get("licence_number")
    if not known or person is None or number is None or not licence:
        return
    is_holder = names.is_same_person(person.value, known) or is_nearly_same_name(
        person.value, known
    )
    if is_holder and is_nearly_same_number(number.value, licence):
        yield _nearly(number, _("licence number"), licence)


def is_other_spelling(written: str, known: str) -> bool:
    """Return whether a name is nearly the known one, and not the same person's."""
    return (
        bool(known)
        and not names.is_same_person(written, known)
        and is_nearly_same_name(written, known)
    )


def _may_be_misread(value: FieldValue) -> bool:
    """Return whether single characters of a value may be misread: on a scan, or in doubt."""
    return value.source in SCAN_SOURCES or not value.is_sure


def _nearly(value: FieldValue, noun: str, registered: str) -> RuleFinding:
    facts: Facts = {"field": noun, "read": value.value, "registered": registered}
    return RuleFinding("VALUE_NEARLY_MATCHES", value.page, {**facts, **make_page_facts(value.page)})


def _names(case: CheckInput, declared: str) -> bool:
    """Return whether a document without a caption for the person contains the declared name.

    The name must be a line of its own, or in a form field. A form that has no entry for the person,
    but also names the principal investigator, may contain the name within a line.
    """
    words = [word for word in fuzzy_phrases.remove_accents(declared).split() if len(word) > 1]
    lines = [*case.reading.text.splitlines(), *case.reading.fields.values()]
    plain = {line: fuzzy_phrases.remove_accents(line) for line in lines}
    candidates = [
        line
        for line in lines
        if any(fuzzy_phrases.may_contain_phrase(plain[line], word) for word in words)
    ]
    if any(
        names.is_same_person(line, declared)
        for line in candidates
        if len(line) <= _MAX_NAME_LINE_LENGTH
    ):
        return True
    if any(spec.name == "person" for spec in case.kind.fields) or len(declared.split()) < 2:
        return False
    *first, last = fuzzy_phrases.remove_accents(declared).split()
    orders = (" ".join([*first, last]), " ".join([last, *first]))
    return any(
        fuzzy_phrases.contains_phrase(plain[line], name) for line in candidates for name in orders
    )


def is_same_number(written: str, known: str) -> bool:
    """Return whether two site or protocol numbers are equal.

    Case, separators, leading zeros and misread digits do not matter: 0203 is 203 and O2O3. A number
    without letters also means the site whose id has letters before it: 203 is BER-203.
    """
    digits = re.sub(r"\D", "", known).lstrip("0")
    return _normalise_number(written) in {
        _normalise_number(known),
        digits or _normalise_number(known),
    }


def is_nearly_same_number(written: str, known: str) -> bool:
    """Return whether one character of a number differs, is missing or is too many.

    A number of fewer than five characters is never nearly another one: 1001 and 1002 are two sites.
    """
    one, other = _normalise_number(written), _normalise_number(known)
    return min(len(one), len(other)) >= _MIN_NEARLY_SAME and (
        Levenshtein.distance(one, other, score_cutoff=1) == 1
    )


def is_nearly_same_name(written: str, known: str) -> bool:
    """Return whether two names differ in one or two letters of a word, and agree in the others.

    An initial agrees with its name. Names of people are often alike, so this is only a question.
    """
    one, other = (
        [part for group in names.split_name(text.casefold()) for part in group]
        for text in (written, known)
    )
    if min(len(one), len(other)) < 2:
        return False
    fewer, more = sorted((one, other), key=len)
    nearest = [min(_name_distance(part, each) for each in more) for part in fewer]
    return 0 < sum(nearest) <= _MAX_WRONG_LETTERS


def _name_distance(one: str, other: str) -> int:
    """Return the number of letters that differ; many if the words are too short to compare."""
    if one == other or (1 in {len(one), len(other)} and one[0] == other[0]):
        return 0
    if min(len(one), len(other)) < _MIN_NEARLY_SAME - 1:
        return _MAX_WRONG_LETTERS + 1
    return Levenshtein.distance(one, other)


def _normalise_number(number: str) -> str:
    parts = re.findall(r"[^\W_]+", number)
    corrected = (
        fuzzy_phrases.replace_by_digits(part) if re.search(r"\d", part) else part for part in parts
    )
    return "".join(part.casefold().lstrip("0") for part in corrected)


CHECKS = (
    check_site,
    check_protocol,
    check_protocol_version,
    check_declared_version,
    check_person,
    check_investigator,
)
CHECKS_OF_ALL_PAGES = (
    check_protocol,
    check_protocol_version,
    check_declared_version,
    check_person,
)
