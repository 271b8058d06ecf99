"""Is what has to be there on it: the required entries, a signature, the signature's date."""

from collections.abc import Iterator

from ingestion.reading.facts import TextSource
from ingestion.rules.case import Case
from ingestion.rules.findings import Facts, Finding
from ingestion.rules.signatures import Ink


def required_entries(case: Case) -> Iterator[Finding]:
    """On a scan an entry that was not found may only not have been read: a person looks."""
    nouns = {spec.name: spec.noun for spec in case.kind.fields}
    for name in case.kind.required:
        if name in case.fields:
            continue
        if any(page.source is not TextSource.NATIVE for page in case.reading.pages):
            yield Finding("OCR_LOW_CONFIDENCE", facts={"what": f"the {nouns[name]}"})
        else:
            yield Finding("SCHEMA_MISMATCH", facts={"field": nouns[name]})


def unsigned(case: Case) -> Iterator[Finding]:
    rule, signature = case.kind.signature, case.signature
    if not rule or not signature or not rule.required:
        return
    if signature.ink is Ink.CLAIMED:
        yield Finding("SIGNATURE_UNVERIFIED", signature.page, {"claimed": signature.page})
    elif signature.ink is Ink.UNSEEN:
        yield Finding("OCR_LOW_CONFIDENCE", facts={"what": "the signature"})
    elif signature.ink is Ink.EMPTY:
        facts = {"role": rule.role, "section": rule.section}
        yield Finding("SIGNATURE_MISSING", signature.page, {**facts, **_on(signature.page)})


def undated(case: Case) -> Iterator[Finding]:
    """A digital signature says itself when it was made, or it is not sound."""
    rule, signature = case.kind.signature, case.signature
    if not rule or not signature or not rule.dated or signature.ink is not Ink.SIGNED:
        return
    if signature.date or signature.digital:
        return
    where = _on(signature.page)
    if signature.may_be_dated:
        facts = {"what": "the date of the signature", **where}
        yield Finding("OCR_LOW_CONFIDENCE", signature.page, facts)
    else:
        yield Finding("SIGNATURE_DATE_MISSING", signature.page, {"role": rule.role, **where})


def _on(page: int) -> Facts:
    return {"page": page} if page else {}
