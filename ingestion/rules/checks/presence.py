"""Checks what a document must contain: entries, a signature and its date."""

from collections.abc import Iterator
from statistics import median_low

from audit.translation import gettext_noop as _
from ingestion.reading.languages import ENGLISH
from ingestion.reading.results import DocumentReading, TextSource
from ingestion.rules.checks.check_input import CheckInput, make_entry_facts
from ingestion.rules.checks.form_boxes import (
    BoxContent,
    find_box_content,
    find_registered_content,
    has_unread_ink,
)
from ingestion.rules.checks.signatures import SignatureState
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields.dates import find_dates
from ingestion.rules.fields.values import SCAN_SOURCES, FieldValue
from ingestion.rules.findings import Facts, RuleFinding, make_page_facts

# Percent, the median of the words of an entry. Below it, handwriting was read as print.
MIN_LEGIBLE_CONFIDENCE = 60.0


def check_required_entries(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield a finding for each required or expected entry that was not found.

    The document is reviewed, and not rejected, if the entry may only not have been found: on a
    scan; in another language than English, of which fewer captions are known; if it is expected and
    may have another caption; and if it is a date and the text contains a date that no field has.
    The numbered boxes of a form are examined in their place, on scans as well.
    """
    specs = {spec.name: spec for spec in case.kind.fields}
    is_scan = any(page.source is not TextSource.NATIVE for page in case.reading.pages)
    may_be_omitted = is_scan or case.kind.language != ENGLISH
    for name in (*case.kind.required, *case.kind.expected):
        spec, value = specs[name], case.fields.get(name)
        if spec.box:
            yield from _check_box(case, spec, value)
        elif value is None and (
            may_be_omitted
            or name in case.kind.expected
            or (spec.kind == "date" and _has_other_date(case))
        ):
            yield RuleFinding("OCR_LOW_CONFIDENCE", facts=make_entry_facts(spec.noun))
        elif value is None:
            yield RuleFinding("SCHEMA_MISMATCH", facts={"field": spec.noun})


def _has_other_date(case: CheckInput) -> bool:
    """Return whether the text contains a date that is not the value of a field."""
    known = {value.day for value in case.fields.values() if value.day}
    written = (each for page in case.reading.pages for each in find_dates(page.text))
    return any(each.day not in known for each in written)


def _check_box(
    case: CheckInput, spec: FieldSpec, value: FieldValue | None
) -> Iterator[RuleFinding]:
    """Yield a finding for a numbered box that is empty or was not read."""
    registered = find_registered_content(case.reading, spec, case.kind, value)
    if registered:
        content, page = registered
    elif value and _is_legible(case.reading, value, spec):
        return
    elif value:
        content, page = BoxContent.UNREAD, value.page
    else:
        content, page = find_box_content(case.reading, spec, case.kind)
    if content is BoxContent.EMPTY:
        place = "choice" if spec.kind == "choice" else "box"
        box: Facts = {place: _("box {number}"), "number": spec.box}
        facts: Facts = {**box, "field": spec.noun, **make_page_facts(page)}
        yield RuleFinding("SCHEMA_MISMATCH", page, facts)
    elif content not in {BoxContent.CHOSEN, BoxContent.READ}:
        is_struck_out = content is BoxContent.STRUCK_OUT
        entry = make_entry_facts(spec.noun, spec.box, is_struck_out=is_struck_out)
        yield RuleFinding("OCR_LOW_CONFIDENCE", page, {**entry, **make_page_facts(page)})


def _is_legible(reading: DocumentReading, value: FieldValue, spec: FieldSpec) -> bool:
    """Return whether most words of an entry are legible, and its box contains no unread ink.

    A single word of low confidence may be a name that no dictionary has. Typed text is legible.
    """
    page = next((page for page in reading.pages if page.number == value.page), None)
    if value.box is None or page is None or page.source not in SCAN_SOURCES:
        return True
    words = [word.confidence for word in page.words if value.box.contains_centre_of(word.box)]
    return (not words or median_low(words) >= MIN_LEGIBLE_CONFIDENCE) and not has_unread_ink(
        page, spec
    )


def check_signature(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield a finding for a required signature that is missing, unreadable or only claimed."""
    rule, signature = case.kind.signature, case.signature
    if not rule or not signature or not rule.required:
        return
    if signature.state is SignatureState.CLAIMED:
        yield RuleFinding("SIGNATURE_UNVERIFIED", signature.page, {"claimed": signature.page})
    elif signature.state is SignatureState.UNSEEN or (
        # A letter or an email printout may have its signature anywhere, or none.
        signature.state is SignatureState.EMPTY
        and ((signature.area is None and rule.is_letter) or case.kind.language != ENGLISH)
    ):
        unseen = _("the signature")
        yield RuleFinding("OCR_LOW_CONFIDENCE", facts={"what": unseen, "unseen": unseen})
    elif signature.state is SignatureState.EMPTY:
        facts = {"role": rule.role, "section": rule.section, **make_page_facts(signature.page)}
        yield RuleFinding("SIGNATURE_MISSING", signature.page, facts)


def check_signature_date(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield a finding for a handwritten signature without a date.

    A digital signature contains its own time, or has a finding of its own.
    """
    rule, signature = case.kind.signature, case.signature
    if not rule or not signature or not rule.dated:
        return
    if signature.state is not SignatureState.SIGNED or signature.date or signature.digital:
        return
    if signature.may_be_dated or case.kind.language != ENGLISH:
        facts = {"what": _("the date of the signature"), **make_page_facts(signature.page)}
        yield RuleFinding("OCR_LOW_CONFIDENCE", signature.page, facts)
    else:
        facts = {"role": rule.role, **make_page_facts(signature.page)}
        yield RuleFinding("SIGNATURE_DATE_MISSING", signature.page, facts)


CHECKS = (
    check_required_entries,
    check_signature,
    check_signature_date,
)
CHECKS_OF_ALL_PAGES = CHECKS
