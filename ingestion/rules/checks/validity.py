"""Until when a document counts, and whether its dates can be true."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta

from ingestion.rules.checks.check_input import CheckInput, sure, unlikely
from ingestion.rules.checks.validity_terms import Terms
from ingestion.rules.fields.extraction import FieldValue
from ingestion.rules.findings import Facts, RuleFinding

# A paper signed today on the other side of the date line carries our tomorrow.
_DATE_LINE = timedelta(days=1)


def last_day(terms: Terms, fields: Mapping[str, FieldValue]) -> date | None:
    """The last day on which the document counts; None when there is none."""
    return terms.last_day(_day(fields, terms.printed), _day(fields, terms.counted_from))


def runs_out(terms: Terms, fields: Mapping[str, FieldValue]) -> date | None:
    """The same for the record: whether its site is live is looked up again each time."""
    return terms.runs_out(_day(fields, terms.printed), _day(fields, terms.counted_from))


def expired(case: CheckInput) -> Iterator[RuleFinding]:
    value = case.fields.get(case.terms.printed)
    if value and value.day and _is_past(value.day, case):
        facts = {"expires": value.value}
        yield _ran_out(case, value, "the expiry date", "EXPIRED_DOCUMENT", facts)


def stale(case: CheckInput) -> Iterator[RuleFinding]:
    if any(expired(case)):
        return
    terms, value = case.terms, case.fields.get(case.terms.counted_from)
    last = terms.last_day_of_age(_day(case.fields, terms.printed), value.day if value else None)
    if value and last and _is_past(last, case):
        facts: Facts = {"dated": value.value, "months": terms.max_age_months}
        yield _ran_out(case, value, "its date", "STALE_DOCUMENT", facts)


def expires_soon(case: CheckInput) -> Iterator[RuleFinding]:
    last = last_day(case.terms, case.fields)
    if last and case.terms.step((last - case.today).days):
        days = (last - case.today).days
        yield RuleFinding("EXPIRES_SOON", facts={"expires": last.isoformat(), "days": days})


def in_future(case: CheckInput) -> Iterator[RuleFinding]:
    nouns = {spec.name: spec.noun for spec in case.kind.fields if spec.past}
    for name, noun in {**nouns, "signature_date": "date of the signature"}.items():
        value = case.fields.get(name)
        if value and value.day and value.day > case.today + _DATE_LINE:
            yield unlikely(
                value, f"the {noun}", "DATE_IN_FUTURE", {"field": noun, "date": value.value}
            )


def impossible(case: CheckInput) -> Iterator[RuleFinding]:
    """A day that does not exist; or one that may mean two, which a person has to look at."""
    nouns = {spec.name: spec.noun for spec in case.kind.fields if spec.kind == "date"}
    for name, noun in {**nouns, "signature_date": "date of the signature"}.items():
        value = case.fields.get(name)
        if value and not value.day:
            facts = {"field": noun, "written": value.value}
            yield unlikely(value, f"the {noun}", "DATE_INVALID", facts)


def out_of_sequence(case: CheckInput) -> Iterator[RuleFinding]:
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


def outdated_form(case: CheckInput) -> Iterator[RuleFinding]:
    """A remark at most. The OMB date is a clearance of paperwork and no expiry of the form.

    FDA's Division of Drug Information: a form with a passed date may be used as intended.
    """
    value = case.fields.get("omb_expiry")
    if value and value.day and value.day < case.today:
        yield RuleFinding("FORM_EDITION_OUTDATED", value.page, {"printed": value.value})


def _day(fields: Mapping[str, FieldValue], name: str) -> date | None:
    value = fields.get(name)
    return value.day if value else None


def _is_past(last: date, case: CheckInput) -> bool:
    return last < case.today and not case.terms.is_settled_by_activation(last)


def _ran_out(
    case: CheckInput, value: FieldValue, what: str, code: str, facts: Facts
) -> RuleFinding:
    """What rejects it; or a remark, where the study files such documents all the same."""
    if not case.terms.warns_only:
        return sure(value, what, code, facts)
    accepted = {**facts, "study": case.site.protocol_number or "of this site"}
    return RuleFinding(code, value.page, accepted, is_remark=True)
