"""Is it about this site and this study? A mismatch goes to a person: the register may be wrong."""

import re
from collections.abc import Iterator

from ingestion.rules import fuzzy_phrases
from ingestion.rules.checks.check_input import CheckInput, sure
from ingestion.rules.fields import names
from ingestion.rules.findings import Facts, RuleFinding

_MAX_NAME_LINE_LENGTH = (
    60  # characters of a line that is nothing but a name, with titles and degrees
)


def site_mismatch(case: CheckInput) -> Iterator[RuleFinding]:
    value, known = case.fields.get("site_number"), case.site.site_id
    if value and case.kind.names_site and not same_number(value.value, known):
        yield RuleFinding("SITE_MISMATCH", value.page, {"named": value.value, "expected": known})


def protocol_mismatch(case: CheckInput) -> Iterator[RuleFinding]:
    """Only where another protocol is named, and the study's own is named nowhere."""
    value, known = case.fields.get("protocol_number"), case.site.protocol_number
    if not value or not known or not case.kind.names_protocol or same_number(value.value, known):
        return
    if not fuzzy_phrases.holds(case.reading.text, known):
        yield RuleFinding(
            "PROTOCOL_MISMATCH", value.page, {"named": value.value, "expected": known}
        )


def protocol_version_mismatch(case: CheckInput) -> Iterator[RuleFinding]:
    """Not for another protocol's version: that one is told already."""
    value, known = case.fields.get("protocol_version"), case.site.protocol_version
    if not value or not known or not case.kind.names_version or any(protocol_mismatch(case)):
        return
    if not names.same_version(value.value, known):
        facts: Facts = {"named": value.value, "expected": known}
        yield sure(value, "the protocol version", "PROTOCOL_VERSION_MISMATCH", facts)


def whose(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield PERSON_NOT_READ or PERSON_MISMATCH for a document that each person has of their own.

    The name that was read has to be the declared one in full: surname and first name, or its
    initial. A manifest declares nobody; then the name has to be read for certain, because the
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
        where: Facts = {"page": value.page} if value.page else {}
        yield RuleFinding("PERSON_NOT_READ", value.page, {**expected, "read": value.value, **where})
    elif declared:
        yield RuleFinding("PERSON_MISMATCH", value.page, {"named": value.value, **expected})


def _names(case: CheckInput, declared: str) -> bool:
    """Whether the declared name stands on the document, where no caption says whose it is.

    As a line of its own, or in a form field. A form that has no entry for the person, and names the
    principal investigator too, may have the name within a line.
    """
    words = [word for word in fuzzy_phrases.unaccented(declared).split() if len(word) > 1]
    lines = [*case.reading.text.splitlines(), *case.reading.fields.values()]
    plain = {line: fuzzy_phrases.unaccented(line) for line in lines}
    near = [
        line for line in lines if any(fuzzy_phrases.may_hold(plain[line], word) for word in words)
    ]
    if any(
        names.is_same_person(line, declared) for line in near if len(line) <= _MAX_NAME_LINE_LENGTH
    ):
        return True
    if any(spec.name == "person" for spec in case.kind.fields) or len(declared.split()) < 2:
        return False
    *first, last = fuzzy_phrases.unaccented(declared).split()
    orders = (" ".join([*first, last]), " ".join([last, *first]))
    return any(fuzzy_phrases.holds(plain[line], name) for line in near for name in orders)


def same_number(written: str, known: str) -> bool:
    """Whatever the case, separators, leading zeros and misread digits: 0203 is 203 and O2O3.

    A bare number also means the site whose id has a word before it: 203 is BER-203.
    """
    digits = re.sub(r"\D", "", known).lstrip("0")
    return _plain(written) in {_plain(known), digits or _plain(known)}


def _plain(number: str) -> str:
    parts = re.findall(r"[^\W_]+", number)
    mended = (fuzzy_phrases.digits(part) if re.search(r"\d", part) else part for part in parts)
    return "".join(part.casefold().lstrip("0") for part in mended)
