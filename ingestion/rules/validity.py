"""Until when a document counts, and whether its dates can be true."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta

from ingestion.rules.case import Case, sure, unlikely
from ingestion.rules.dates import months_later
from ingestion.rules.fields import FieldValue
from ingestion.rules.findings import Facts, Finding
from ingestion.rules.types import Validity

# A paper signed today on the other side of the date line carries our tomorrow.
_DATE_LINE = timedelta(days=1)


def last_day(rule: Validity, fields: Mapping[str, FieldValue]) -> date | None:
    """The last day on which the document counts; None when nothing on it says so."""
    days = (_printed(rule, fields), _of_age(rule, fields))
    return min((day for day in days if day), default=None)


def expired(case: Case) -> Iterator[Finding]:
    value = case.fields.get(case.kind.validity.expires)
    if value and value.day and value.day < case.today:
        yield sure(value, "the expiry date", "EXPIRED_DOCUMENT", {"expires": value.value})


def stale(case: Case) -> Iterator[Finding]:
    rule = case.kind.validity
    if any(expired(case)):
        return
    value, last = case.fields.get(rule.from_), _of_age(rule, case.fields)
    if value and last and last < case.today:
        facts: Facts = {"dated": value.value, "months": rule.max_age_months}
        yield sure(value, "its date", "STALE_DOCUMENT", facts)


def expires_soon(case: Case) -> Iterator[Finding]:
    rule = case.kind.validity
    last = last_day(rule, case.fields)
    days = (last - case.today).days if last else -1
    if last and 0 <= days <= max(rule.warn_days, default=0):
        yield Finding("EXPIRES_SOON", facts={"expires": last.isoformat(), "days": days})


def in_future(case: Case) -> Iterator[Finding]:
    nouns = {spec.name: spec.noun for spec in case.kind.fields if spec.past}
    for name, noun in {**nouns, "signature_date": "date of the signature"}.items():
        value = case.fields.get(name)
        if value and value.day and value.day > case.today + _DATE_LINE:
            yield unlikely(
                value, f"the {noun}", "DATE_IN_FUTURE", {"field": noun, "date": value.value}
            )


def impossible(case: Case) -> Iterator[Finding]:
    """A day that does not exist; or one that may mean two, which a person has to look at."""
    nouns = {spec.name: spec.noun for spec in case.kind.fields if spec.kind == "date"}
    for name, noun in {**nouns, "signature_date": "date of the signature"}.items():
        value = case.fields.get(name)
        if value and not value.day:
            facts = {"field": noun, "written": value.value}
            yield unlikely(value, f"the {noun}", "DATE_INVALID", facts)


def out_of_sequence(case: Case) -> Iterator[Finding]:
    """A document that ran out before it began to count."""
    rule = case.kind.validity
    begins = case.fields.get(rule.from_) or case.fields.get("effective_date")
    ends = case.fields.get(rule.expires)
    if not begins or not begins.day or not ends or not ends.day or begins.day <= ends.day:
        return
    facts = {
        "later": "expiry date",
        "later_date": ends.value,
        "earlier": "date from which it counts",
        "earlier_date": begins.value,
    }
    doubtful = min(begins, ends, key=lambda value: value.confidence)
    yield unlikely(doubtful, "its dates", "DATE_OUT_OF_SEQUENCE", facts)


def outdated_form(case: Case) -> Iterator[Finding]:
    """A remark at most. The OMB date is a clearance of paperwork and no expiry of the form.

    FDA's Division of Drug Information: a form with a passed date may be used as intended.
    """
    value = case.fields.get("omb_expiry")
    if value and value.day and value.day < case.today:
        yield Finding("FORM_EDITION_OUTDATED", value.page, {"printed": value.value})


def _printed(rule: Validity, fields: Mapping[str, FieldValue]) -> date | None:
    value = fields.get(rule.expires)
    return value.day if value else None


def _of_age(rule: Validity, fields: Mapping[str, FieldValue]) -> date | None:
    value = fields.get(rule.from_)
    if rule.printed_wins and _printed(rule, fields):
        return None
    if not rule.max_age_months or not value or not value.day:
        return None
    return months_later(value.day, rule.max_age_months) - timedelta(days=rule.less_a_day)
