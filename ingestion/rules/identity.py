"""Is it about this site and this study? A mismatch goes to a person: the register may be wrong."""

import re
from collections.abc import Iterator

from ingestion.rules import names, wording
from ingestion.rules.case import Case, sure
from ingestion.rules.findings import Facts, Finding

_TITLES = {"dr", "prof", "mr", "mrs", "ms", "md", "phd"}


def site_mismatch(case: Case) -> Iterator[Finding]:
    value, known = case.fields.get("site_number"), case.site.site_id
    if value and case.kind.names_site and not same_number(value.value, known):
        yield Finding("SITE_MISMATCH", value.page, {"named": value.value, "expected": known})


def protocol_mismatch(case: Case) -> Iterator[Finding]:
    """Only where another protocol is named, and the study's own is named nowhere."""
    value, known = case.fields.get("protocol_number"), case.site.protocol_number
    if not value or not known or not case.kind.names_protocol or same_number(value.value, known):
        return
    if not wording.holds(case.reading.text, known):
        yield Finding("PROTOCOL_MISMATCH", value.page, {"named": value.value, "expected": known})


def protocol_version_mismatch(case: Case) -> Iterator[Finding]:
    """Not for another protocol's version: that one is told already."""
    value, known = case.fields.get("protocol_version"), case.site.protocol_version
    if not value or not known or not case.kind.names_version or any(protocol_mismatch(case)):
        return
    if not names.same_version(value.value, known):
        facts: Facts = {"named": value.value, "expected": known}
        yield sure(value, "the protocol version", "PROTOCOL_VERSION_MISMATCH", facts)


def person_mismatch(case: Case) -> Iterator[Finding]:
    """Only where somebody else is named, and the person of whom it was said to be nowhere.

    One common name suffices: people are called Meg, marry, and write their names in any order.
    """
    value = case.fields.get("person") or case.fields.get("investigator")
    said = _names(case.person)
    if not value or not said or not case.kind.per_person or said & _names(value.value):
        return
    typed = "\n".join(case.reading.fields.values())
    if not said <= _names(f"{case.reading.text}\n{typed}"):
        facts: Facts = {"named": value.value, "expected": case.person.title()}
        yield sure(value, "the name", "PERSON_MISMATCH", facts)


def same_number(written: str, known: str) -> bool:
    """Whatever the case, separators, leading zeros and misread digits: 0203 is 203 and O2O3.

    A bare number also means the site whose id has a word before it: 203 is BER-203.
    """
    digits = re.sub(r"\D", "", known).lstrip("0")
    return _plain(written) in {_plain(known), digits or _plain(known)}


def _names(text: str) -> set[str]:
    """Its words in plain letters, without titles and initials."""
    words = re.findall(r"[^\W\d_]+", wording.unaccented(text))
    return {word for word in words if len(word) > 1} - _TITLES


def _plain(number: str) -> str:
    parts = re.findall(r"[^\W_]+", number)
    mended = (wording.digits(part) if re.search(r"\d", part) else part for part in parts)
    return "".join(part.casefold().lstrip("0") for part in mended)
