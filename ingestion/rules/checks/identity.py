"""The checks that a document is about this site, this study and this person.

QA decides about mismatches, because the data of the site may be wrong.
"""

import re
from collections.abc import Iterator

from ingestion.rules import fuzzy_phrases
from ingestion.rules.checks.check_input import CheckInput, finding_if_sure
from ingestion.rules.fields import names
from ingestion.rules.findings import Facts, RuleFinding

_MAX_NAME_LINE_LENGTH = 60  # characters of a line that is only a name, with titles and degrees


def check_site(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield SITE_MISMATCH if the document names another site than the known one."""
    value, known = case.fields.get("site_number"), case.site.site_id
    if value and known and case.kind.names_site and not is_same_number(value.value, known):
        yield RuleFinding("SITE_MISMATCH", value.page, {"named": value.value, "expected": known})


def check_protocol(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield PROTOCOL_MISMATCH if the document names another protocol and never the study's own."""
    value, known = case.fields.get("protocol_number"), case.site.protocol_number
    if not value or not known or not case.kind.names_protocol or is_same_number(value.value, known):
        return
    if not fuzzy_phrases.contains_phrase(case.reading.text, known):
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
        yield finding_if_sure(value, "the protocol version", "PROTOCOL_VERSION_MISMATCH", facts)


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
    elif not value.is_sure:
        page_facts: Facts = {"page": value.page} if value.page else {}
        facts = {**expected, "read": value.value, **page_facts}
        yield RuleFinding("PERSON_NOT_READ", value.page, facts)
    elif declared:
        yield RuleFinding("PERSON_MISMATCH", value.page, {"named": value.value, **expected})


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


def _normalise_number(number: str) -> str:
    parts = re.findall(r"[^\W_]+", number)
    corrected = (
        fuzzy_phrases.to_digits(part) if re.search(r"\d", part) else part for part in parts
    )
    return "".join(part.casefold().lstrip("0") for part in corrected)


CHECKS = (
    check_site,
    check_protocol,
    check_protocol_version,
    check_person,
)
