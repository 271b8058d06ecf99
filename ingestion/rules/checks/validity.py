"""Checks the validity of a document, and whether its dates are plausible."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta

from audit.translation import gettext_noop as _
from ingestion.rules.checks.check_input import (
    CheckInput,
    make_entry_facts,
    make_finding_if_sure,
    make_implausible_value_finding,
)
from ingestion.rules.checks.validity_terms import ValidityTerms
from ingestion.rules.fields.values import FieldValue
from ingestion.rules.findings import Facts, RuleFinding
from ingestion.rules.forms.boxes import find_editions

# A document that is signed today on the other side of the date line has the date of our tomorrow.
_DATE_LINE_TOLERANCE = timedelta(days=1)


def get_last_valid_day(terms: ValidityTerms, fields: Mapping[str, FieldValue]) -> date | None:
    """Return the last day on which a document is valid, or None if there is none."""
    return terms.last_valid_day(_day(fields, terms.printed), _day(fields, terms.counted_from))


def get_expiry_date(terms: ValidityTerms, fields: Mapping[str, FieldValue]) -> date | None:
    """Return the last valid day to store with a document.

    It does not depend on the activation of its site, which is looked up again each time.
    """
    return terms.expiry_date(_day(fields, terms.printed), _day(fields, terms.counted_from))


def check_expiry(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield EXPIRED_DOCUMENT if the printed expiry date has passed."""
    value = case.fields.get(case.terms.printed)
    if value and value.day and _is_past(value.day, case):
        facts = {"expires": value.value}
        yield _expiry_finding(case, value, _("the expiry date"), "EXPIRED_DOCUMENT", facts)


def check_age(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield STALE_DOCUMENT if the document is older than its maximum age, but not expired."""
    if any(check_expiry(case)):
        return
    terms, value = case.terms, case.fields.get(case.terms.counted_from)
    last = terms.last_day_of_age(_day(case.fields, terms.printed), value.day if value else None)
    if value and last and _is_past(last, case):
        facts: Facts = {"dated": value.value, "months": terms.max_age_months}
        yield _expiry_finding(case, value, _("its date"), "STALE_DOCUMENT", facts)


def check_upcoming_expiry(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield EXPIRES_SOON if a warning before the last valid day is due."""
    last = get_last_valid_day(case.terms, case.fields)
    if last and case.terms.due_warning((last - case.today).days):
        days = (last - case.today).days
        yield RuleFinding("EXPIRES_SOON", facts={"expires": last.isoformat(), "days": days})


def check_future_dates(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield DATE_IN_FUTURE for dates after tomorrow that must be in the past."""
    nouns = {spec.name: spec.noun for spec in case.kind.fields if spec.past}
    for noun, value in _list_dates(case, nouns):
        if value.day and value.day > case.today + _DATE_LINE_TOLERANCE:
            facts = {"field": noun, "date": value.value}
            yield make_implausible_value_finding(
                value, make_entry_facts(noun), "DATE_IN_FUTURE", facts
            )


def check_impossible_dates(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield DATE_INVALID for dates that do not exist."""
    nouns = {
        spec.name: spec.noun
        for spec in case.kind.fields
        if spec.kind == "date" and not spec.is_informative
    }
    for noun, value in _list_dates(case, nouns):
        if not value.day and not value.readings:
            facts = {"field": noun, "written": value.value}
            yield make_implausible_value_finding(
                value, make_entry_facts(noun), "DATE_INVALID", facts
            )


def check_date_order(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield DATE_OUT_OF_SEQUENCE for a document that expired before it became valid."""
    rule = case.kind.validity
    begins = case.fields.get(rule.from_) or case.fields.get("effective_date")
    ends = case.fields.get(rule.expires)
    if not begins or not begins.day or not ends or not ends.day or begins.day <= ends.day:
        return
    facts = {
        "later": _("expiry date"),
        "later_date": ends.value,
        "earlier": _("date from which it counts"),
        "earlier_date": begins.value,
    }
    doubtful = min(begins, ends, key=lambda value: value.confidence)
    yield make_implausible_value_finding(
        doubtful,
        {"what": _("the dates")},
        "DATE_OUT_OF_SEQUENCE",
        facts,
        noun=case.noun_of(doubtful),
    )


def check_form_edition(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield FORM_EDITION_OUTDATED, a remark, for an old edition or a passed OMB date.

    The OMB date is the end of a clearance under the Paperwork Reduction Act and not the expiry date
    of the form. FDA's Division of Drug Information: a form with a passed date may be used as
    intended. The edition of a registered form says more than its OMB date.
    """
    for page, form in find_editions(case.reading):
        if form.is_superseded:
            facts = {"edition": form.edition_name, "form": form.name}
            yield RuleFinding("FORM_EDITION_OUTDATED", page.number, facts)
            return
    value = case.fields.get("omb_expiry")
    if value and value.day and value.day < case.today:
        yield RuleFinding("FORM_EDITION_OUTDATED", value.page, {"printed": value.value})


def _list_dates(case: CheckInput, nouns: Mapping[str, str]) -> Iterator[tuple[str, FieldValue]]:
    """Yield the values of these fields and of the date of the signature, with their nouns.

    The date beside the signature may also be that of the document, as in a CV. It is listed once.
    """
    listed = set()
    for name, noun in {**nouns, "signature_date": _("date of the signature")}.items():
        value = case.fields.get(name)
        if value and (value.page, value.value) not in listed:
            listed.add((value.page, value.value))
            yield noun, value


def _day(fields: Mapping[str, FieldValue], name: str) -> date | None:
    value = fields.get(name)
    return value.day if value else None


def _is_past(last: date, case: CheckInput) -> bool:
    return last < case.today and not case.terms.is_settled_by_activation(last)


def _expiry_finding(
    case: CheckInput, value: FieldValue, what: str, code: str, facts: Facts
) -> RuleFinding:
    """Return the finding that rejects a document, or a remark if the study files it anyway."""
    if not case.terms.warns_only:
        noun = case.noun_of(value)
        return make_finding_if_sure(value, {"what": what}, code, facts, noun=noun)
    accepted = {**facts, "study": case.site.protocol_number}
    return RuleFinding(code, value.page, accepted, is_remark=True)


CHECKS = (
    check_impossible_dates,
    check_future_dates,
    check_date_order,
    check_expiry,
    check_age,
    check_upcoming_expiry,
    check_form_edition,
)
