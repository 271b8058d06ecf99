"""Checks for documents that nobody filled in: blank forms, and templates with placeholders."""

import re
from collections.abc import Iterator, Mapping, Sequence

from ingestion.reading.results import DocumentReading
from ingestion.rules.document_types import DocumentType
from ingestion.rules.fields.values import FieldValue
from ingestion.rules.findings import Facts, RuleFinding

MAX_PLACEHOLDER_CHARACTERS = 60  # that a sentence quotes
# Values that are printed on a blank form.
_PRINTED_FIELDS = frozenset({"omb_expiry", "form_edition"})
_ASKED_FOR = (
    r"(?:your|full|project|study|principal|participant|recipient|employee)?\s*"
    r"(?:name|title|date|address|e-?mail|phone|telephone|number|institution|department|university"
    r"|company|organi[sz]ation|researcher|investigator|research group|state|signature)"
)
# "[insert the name of the site]", "<Your Name>", "{{ date }}" and the text of Word's fields.
# Round brackets are not searched: "(name)" also explains a line that is to be filled in by hand.
_PLACEHOLDER = re.compile(
    r"[\[<{]{1,2}\s*(?:(?:please\s+)?(?:insert|enter|type in|fill in|specify|describe|list)\b"
    rf"[^\]>}}]{{0,200}}|{_ASKED_FOR}(?:\s+of\b[^\]>}}]{{0,60}}|\s+here)?)\s*[\]>}}]{{1,2}}"
    r"|\bclick (?:or tap )?(?:here )?to enter (?:text|a date)\b",
    re.IGNORECASE,
)
# Codes of findings that say that something is not filled in or not signed.
_UNFILLED_CODES = frozenset({"SCHEMA_MISMATCH", "SIGNATURE_MISSING"})
MIN_UNFILLED_FINDINGS = 2  # of a blank form: at least an entry and the signature


def check_placeholders(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield UNFILLED_TEMPLATE for each page with a placeholder, with the first one of the page."""
    for page in reading.pages:
        if not any(sign in page.text for sign in ("[", "<", "{", "lick")):
            continue
        if found := _PLACEHOLDER.search(page.text):
            placeholder = " ".join(found[0].split())
            if len(placeholder) > MAX_PLACEHOLDER_CHARACTERS:
                placeholder = f"{placeholder[:MAX_PLACEHOLDER_CHARACTERS].rstrip()}…"
            facts: Facts = {"placeholder": placeholder, "page": page.number}
            yield RuleFinding("UNFILLED_TEMPLATE", page.number, facts)


def summarise_blank_form(
    findings: Sequence[RuleFinding], kind: DocumentType, fields: Mapping[str, FieldValue]
) -> list[RuleFinding]:
    """Return the findings with BLANK_FORM in place of those about single entries of a blank form.

    A form is blank if no value was read from it, every required entry is certainly missing, and so
    is the signature. Each of these findings rejects the document by itself.
    """
    unfilled = [
        finding
        for finding in findings
        if finding.code in _UNFILLED_CODES and "schema_version" not in finding.facts
    ]
    missing = {finding.facts.get("field") for finding in unfilled}
    nouns = {spec.name: spec.noun for spec in kind.fields}
    is_letter = kind.signature is not None and kind.signature.is_letter
    is_blank = (
        len(unfilled) >= MIN_UNFILLED_FINDINGS
        and not is_letter
        and not fields.keys() - _PRINTED_FIELDS
        and all(nouns[name] in missing for name in kind.required)
        and any(finding.code == "SIGNATURE_MISSING" for finding in unfilled)
    )
    if not is_blank:
        return list(findings)
    return [RuleFinding("BLANK_FORM"), *(each for each in findings if each not in unfilled)]


CHECKS_OF_ANY_FILE = (check_placeholders,)
