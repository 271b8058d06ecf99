"""Finds the people whom certificates name, as in "We confirm that Ann Smith has attended".

This module is pure. It knows neither document types nor pages.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ingestion.rules.fields.persons import person_names

_MAX_PEOPLE = 20  # of a page; the limit bounds the time
_CERTIFIES = re.compile(
    r"(?i)\b(?:(?:certif(?:y|ies|ied)|confirm(?:s|ed)?|attest(?:s|ed)?|acknowledges?|verif(?:y|ies)"
    r"|declares?|records?|be it known|stat(?:e|es)|witness(?:es)?|shows?)\s+that"
    r"|(?:awarded|presented|granted|given|issued|conferred)\s+(?:to|on|upon))\b[\s:,]*"
    r"(?:(?:(?:Dr|Mr|Mrs|Ms|Miss|Prof|Shri|Smt)\.?\s*/\s*)+(?:Dr|Mr|Mrs|Ms|Miss|Prof|Shri|Smt)\b\.?\s*)?"
    r"(?:the name of )?(?:the (?:learner|student|participant|employee|doctor|physician),?\s+)?"
)
# What a sentence that begins with the name of a person says.
_DID_FIRST = re.compile(
    r"(?i)^[\s,]*(?:born\s[^;:\n]{3,30}?,\s*|\([^()]{0,40}\)\s*"
    r"|(?<=,)\s(?:[^.;:]|\bno\.){3,90}?,\s*)?(?:ha(?:s|ve|ving)\s+)?(?:successfully\s+)?"
    r"(?:taken part|took part|participated|completed|attended|passed|fulfilled)\b"
)
_ONLY_TITLE = re.compile(r"(?:Dr|Mr|Mrs|Ms|Miss|Prof)\.?\s+")
_NAME = re.compile(person_names.PATTERN_AT_CAPTION)
_NAME_AT_START = re.compile(rf"(?m)^{person_names.PATTERN}")
_DID = re.compile(
    r"(?i)^[\s,]*(?:\([^()]{0,60}\)|,?\s*(?:of|from|born)\s[^.;:\n]{3,80}?[\s,]"
    r"|[^.;:,\n]{3,60},)?[\s,]*"
    r"(?:ha(?:s|ve|d|ving)|is|was|did|complet(?:ed|ing)|attended|participated|passed|took|fulfilled"
    r"|achieved|satisfied|successfully|satisfactorily|possess(?:es|ing)|holds|met"
    r"|for|in recognition)\b"
)


@dataclass(frozen=True, slots=True)
class CertifiedPerson:
    """A name behind the words of a certificate. `has_deed` if the sentence says what was done."""

    name: str
    has_deed: bool


def find_certified_persons(text: str) -> Iterator[CertifiedPerson]:
    """Yield the names of the people whom a text certifies something about."""
    for match in islice(_CERTIFIES.finditer(text), _MAX_PEOPLE):
        found = _NAME.match(text, match.end())
        if found is None:
            continue
        name = person_names.trim(found[0])
        if person_names.names_place(found[0], name):
            continue
        if person_names.is_full_name(name) and person_names.may_be_name(name):
            following = text[found.start() + len(name) :][:140]
            yield CertifiedPerson(name, _DID.match(following) is not None)
    for match in islice(_NAME_AT_START.finditer(text), _MAX_PEOPLE):
        name = person_names.trim(match[0])
        is_name = person_names.is_full_name(name) and person_names.may_be_name(name)
        if is_name and _DID_FIRST.match(text[match.start() + len(name) :][:140]):
            yield CertifiedPerson(name, has_deed=True)
