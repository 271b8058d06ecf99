"""What was read from a document, as people see it: each value with where it stands.

What came from a picture is marked: an engine read it, and it says how sure it was.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ingestion.models import Document, Extraction
from ingestion.reading.results import SignatureResult, TextSource
from ingestion.rules.checks.legibility import PASSED_OVER
from ingestion.rules.checks.signatures import SIGNATURE
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.extraction import FORM

_TEXT_LAYERS = {
    TextSource.NATIVE: "text of the file",
    TextSource.FORM: "text of the file, with what was typed into it",
    TextSource.OCR_LAYER: "scan with a text layer of its own",
}
_WORTH = {
    SignatureResult.EMPTY: "holds no signature",
    SignatureResult.UNCHECKED: "not verified",
    SignatureResult.BROKEN: "does not match the file",
    SignatureResult.PARTIAL: "covers only a part of the file",
    SignatureResult.CHANGED: "intact; the file was changed after it",
    SignatureResult.WEAK: "intact; can be forged ({detail})",
    SignatureResult.OUT_OF_DATE: "intact; the certificate was not valid on {signed_on}",
    SignatureResult.UNKNOWN_ISSUER: "intact; the issuer {issuer} is not trusted here",
    SignatureResult.TRUSTED: "verified; certificate issued by {issuer}",
}


@dataclass(frozen=True, slots=True)
class Extracted:
    noun: str
    value: str
    where: str  # "page 2"
    how: str  # "" for text that stands in the file


def extraction_of(document: Document) -> Extraction | None:
    """Of the last attempt that read it."""
    return document.extractions.last()


def extracted(document: Document) -> list[Extracted]:
    """Nothing for a document that was not read, or whose type is in doubt."""
    last = extraction_of(document)
    return list(_values(document, last)) if last else []


def _values(document: Document, last: Extraction) -> Iterator[Extracted]:
    kind = TYPES.get(document.document_type)
    nouns = {spec.name: spec.noun for spec in kind.fields} if kind else {}
    nouns["signature_date"] = "date of the signature"
    for field in last.fields:
        noun = nouns.get(field["name"], field["name"].replace("_", " "))
        page = f"page {field['page']}" if field["page"] else ""
        yield Extracted(noun[:1].upper() + noun[1:], field["value"], page, _how(field))
    signature = last.signature or {}
    if digital := signature.get("digital"):
        page = f"page {signature['page']}" if signature["page"] else ""
        signer = digital["signer"] or "a certificate without a name"
        worth = _WORTH[SignatureResult(digital["result"])].format_map(digital)
        yield Extracted("Digitally signed by", signer, page, worth)


def ways(last: Extraction) -> list[str]:
    """How the pages were read, for whoever reviews: neighbours that were read alike stand together.

    "Pages 1 to 3: text of the file", "Page 4: scan of 200 dpi, 91 % sure".
    """
    runs = groupby(last.pages, key=_way)
    return [f"{_span([page['number'] for page in run])}: {way}" for way, run in runs]


def _way(page: Mapping[str, Any]) -> str:
    if "error" in page:
        return f"could not be read ({page['error']})"
    if "blank" in page:
        return "blank"
    if page["source"] != TextSource.OCR:
        return _TEXT_LAYERS[TextSource(page["source"])]
    parts = [f"scan of {page['dpi']} dpi", f"{page['confidence']:.0f} % sure"]
    if page["uncovered"] > PASSED_OVER:
        parts.append(f"{page['uncovered']:.0%} of its print not read".replace("%", " %"))
    parts += [f"{what} by {page[what]} degrees" for what in ("turned", "askew") if page[what]]
    return ", ".join(parts)


def _span(numbers: list[int]) -> str:
    first, last = numbers[0], numbers[-1]
    return f"Page {first}" if first == last else f"Pages {first} to {last}"


def _how(field: Mapping[str, Any]) -> str:
    if field["source"] == FORM:
        return "a form field"
    if field["source"] == SIGNATURE:
        return "the time of the digital signature"
    if field["source"] == TextSource.OCR:
        return f"read from the scan, {field['confidence']:.0f} % sure"
    if field["source"] == TextSource.OCR_LAYER:
        return "from the scan's own text layer"
    return ""
