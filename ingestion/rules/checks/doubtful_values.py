"""The check that the values on which a decision depends are without doubt.

A value is in doubt if it can be read in two ways, such as the date 02/06/2011, if another value is
about as good, or if nothing confirms it. A person decides then, and the finding has both readings.
"""

from collections.abc import Iterator

from audit.translation import gettext_noop as _
from ingestion.rules.checks.check_input import CheckInput
from ingestion.rules.document_types import DocumentType
from ingestion.rules.fields.values import FieldValue
from ingestion.rules.findings import Facts, RuleFinding


def check_doubtful_values(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield VALUE_IN_DOUBT for each value in doubt that matters.

    Two readings of a date matter for each date of the type; other doubts only for the values that
    the document has to have, or from which its validity follows.
    """
    nouns = {spec.name: spec.noun for spec in case.kind.fields if not spec.is_informative}
    needed = _needed(case.kind)
    for name, noun in {**nouns, "signature_date": _("date of the signature")}.items():
        value = case.fields.get(name)
        if value is None:
            continue
        is_date = name == "signature_date" or _is_date(case.kind, name)
        if is_ambiguous_date(value) or (value.readings and name in needed):
            yield _two_readings(value, noun, is_date=is_date)
        elif value.is_unconfirmed and name in needed:
            facts: Facts = {"field": noun, "read": value.value, **_page_facts(value)}
            yield RuleFinding("VALUE_IN_DOUBT", value.page, facts)


def is_ambiguous_date(value: FieldValue) -> bool:
    """Return whether a date can be read as two days."""
    return value.day is None and len(value.readings) > 1


def _two_readings(value: FieldValue, noun: str, *, is_date: bool) -> RuleFinding:
    first, second = value.readings
    names = ("first_date", "second_date") if is_date else ("first", "second")
    facts: Facts = {
        "field": noun,
        **dict(zip(names, (first, second), strict=True)),
        **_page_facts(value),
    }
    return RuleFinding("VALUE_IN_DOUBT", value.page, facts)


def _needed(kind: DocumentType) -> frozenset[str]:
    """Return the fields without which a decision about a document of the type is not possible."""
    validity = kind.validity
    names = {*kind.required, *kind.expected, validity.expires, validity.from_}
    return frozenset(names)


def _is_date(kind: DocumentType, name: str) -> bool:
    return any(spec.name == name and spec.kind == "date" for spec in kind.fields)


def _page_facts(value: FieldValue) -> Facts:
    return {"page": value.page} if value.page else {}


CHECKS = (check_doubtful_values,)
CHECKS_OF_ALL_PAGES = CHECKS
