"""Is what has to be there on it: the required entries, a signature, the signature's date."""

from collections.abc import Iterator
from statistics import median_low

from ingestion.reading.results import DocumentReading, TextSource
from ingestion.rules.checks.check_input import CheckInput
from ingestion.rules.checks.form_boxes import Content, content, has_unread_ink
from ingestion.rules.checks.signatures import Ink
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields.extraction import SCANS, FieldValue
from ingestion.rules.findings import Facts, RuleFinding

MIN_LEGIBLE_CONFIDENCE = (
    60.0  # of 100, of the words of an entry: below, handwriting was "read" as print
)


def required_entries(case: CheckInput) -> Iterator[RuleFinding]:
    """On a scan an entry that was not found may only not have been read: a person looks.

    So it is with one that a document of this type need not have under a caption of ours. Whether a
    numbered box of a form is empty is seen in its place, on a scan as well.
    """
    specs = {spec.name: spec for spec in case.kind.fields}
    is_scan = any(page.source is not TextSource.NATIVE for page in case.reading.pages)
    for name in (*case.kind.required, *case.kind.expected):
        spec, value = specs[name], case.fields.get(name)
        if spec.box:
            yield from _box(case, spec, value)
        elif value is None and (is_scan or name in case.kind.expected):
            yield RuleFinding("OCR_LOW_CONFIDENCE", facts={"what": f"the {spec.noun}"})
        elif value is None:
            yield RuleFinding("SCHEMA_MISMATCH", facts={"field": spec.noun})


def _box(case: CheckInput, spec: FieldSpec, value: FieldValue | None) -> Iterator[RuleFinding]:
    if value and _is_legible(case.reading, value, spec):
        return
    found, page = content(case.reading, spec, case.kind)
    if value:
        found, page = Content.UNREAD, value.page
    box = f"box {spec.box}"
    facts: Facts = {"what": f"{box} ({spec.noun})", **_on(page)}
    if found is Content.EMPTY:
        named = {"choice": box} if spec.kind == "choice" else {"box": box}
        yield RuleFinding("SCHEMA_MISMATCH", page, {**named, "field": spec.noun, **_on(page)})
    elif found is not Content.CHOSEN:
        yield RuleFinding("OCR_LOW_CONFIDENCE", page, facts)


def _is_legible(reading: DocumentReading, value: FieldValue, spec: FieldSpec) -> bool:
    """Whether most of its words are, and nothing in its box was passed over.

    One word alone may be a name that no dictionary has. What was typed is legible.
    """
    page = next((page for page in reading.pages if page.number == value.page), None)
    if value.box is None or page is None or page.source not in SCANS:
        return True
    words = [word.confidence for word in page.words if value.box.contains_center_of(word.box)]
    return (not words or median_low(words) >= MIN_LEGIBLE_CONFIDENCE) and not has_unread_ink(
        page, spec
    )


def unsigned(case: CheckInput) -> Iterator[RuleFinding]:
    rule, signature = case.kind.signature, case.signature
    if not rule or not signature or not rule.required:
        return
    if signature.ink is Ink.CLAIMED:
        yield RuleFinding("SIGNATURE_UNVERIFIED", signature.page, {"claimed": signature.page})
    elif signature.ink is Ink.UNSEEN:
        yield RuleFinding("OCR_LOW_CONFIDENCE", facts={"what": "the signature"})
    elif signature.ink is Ink.EMPTY:
        facts = {"role": rule.role, "section": rule.section}
        yield RuleFinding("SIGNATURE_MISSING", signature.page, {**facts, **_on(signature.page)})


def undated(case: CheckInput) -> Iterator[RuleFinding]:
    """A digital signature says itself when it was made, or it is not sound."""
    rule, signature = case.kind.signature, case.signature
    if not rule or not signature or not rule.dated or signature.ink is not Ink.SIGNED:
        return
    if signature.date or signature.digital:
        return
    where = _on(signature.page)
    if signature.may_be_dated:
        facts = {"what": "the date of the signature", **where}
        yield RuleFinding("OCR_LOW_CONFIDENCE", signature.page, facts)
    else:
        yield RuleFinding("SIGNATURE_DATE_MISSING", signature.page, {"role": rule.role, **where})


def _on(page: int) -> Facts:
    return {"page": page} if page else {}
