"""Checks that the values on which a decision depends are without doubt.

A value is in doubt if it can be read in two ways, such as the date 02/06/2011, if another value is
about as good, or if nothing confirms it. A person decides then, and the finding has both readings.
"""

from collections.abc import Iterator

from audit.translation import gettext_noop as _
from ingestion.rules.checks.check_input import CheckInput
from ingestion.rules.fields.values import FieldValue
from ingestion.rules.findings import Facts, RuleFinding, make_page_facts


def check_doubtful_values(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield VALUE_IN_DOUBT for each value in doubt that matters.

    Two readings of a date matter for each date of the type; other doubts only for the values that
    the document has to have, or from which its validity follows.
    """
    kind = case.kind
    needed = {*kind.required, *kind.expected, kind.validity.expires, kind.validity.from_}
    specs = [spec for spec in kind.fields if not spec.is_informative]
    nouns = {spec.name: spec.noun for spec in specs}
    dates = {"signature_date", *(spec.name for spec in specs if spec.kind == "date")}
    for name, noun in {**nouns, "signature_date": _("date of the signature")}.items():
        value = case.fields.get(name)
        if value is None:
            continue
        if is_ambiguous_date(value) or (value.readings and name in needed):
            yield _two_readings(value, noun, is_date=name in dates)
        elif value.is_unconfirmed and name in needed:
            facts: Facts = {"field": noun, "read": value.value, **make_page_facts(value.page)}
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
        **make_page_facts(value.page),
    }
    return RuleFinding("VALUE_IN_DOUBT", value.page, facts)


CHECKS = (check_doubtful_values,)
CHECKS_OF_ALL_PAGES = CHECKS
