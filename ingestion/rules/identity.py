"""Is it about this site and this study? A mismatch goes to a person: the register may be wrong."""

import re
from collections.abc import Iterator

from ingestion.rules import wording
from ingestion.rules.case import Case
from ingestion.rules.findings import Finding


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


def same_number(written: str, known: str) -> bool:
    """Whatever the case, separators, leading zeros and misread digits: 0203 is 203 and O2O3.

    A bare number also means the site whose id has a word before it: 203 is BER-203.
    """
    digits = re.sub(r"\D", "", known).lstrip("0")
    return _plain(written) in {_plain(known), digits or _plain(known)}


def _plain(number: str) -> str:
    parts = re.findall(r"[^\W_]+", number)
    mended = (wording.digits(part) if re.search(r"\d", part) else part for part in parts)
    return "".join(part.casefold().lstrip("0") for part in mended)
