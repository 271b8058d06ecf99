"""Lists the values that were read from a document, each with its page and how it was read.

Values that an OCR engine read from an image are marked with the engine's confidence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.documents import downloads, redactions
from ingestion.models import Document, Extraction
from ingestion.reading.results import CorrectionKind, SignatureResult, TextSource
from ingestion.rules.checks.legibility import MAX_UNREAD_LETTER_SHARE
from ingestion.rules.checks.signatures import DIGITAL_SIGNATURE_SOURCE
from ingestion.rules.document_types import TYPES
from ingestion.rules.fields.values import FORM_SOURCE, MIN_SURE_CONFIDENCE
from sites.models import User

_TEXT_LAYERS = {
    TextSource.NATIVE: _("text layer of the file"),
    TextSource.FORM: _("text layer and form fields of the file"),
    TextSource.OCR_LAYER: _("scan with its own text layer"),
}
# Corrections of a page image, apart from those that are shown with their amount.
_CORRECTIONS = {
    CorrectionKind.REDUCED: _("read at a low resolution"),
    CorrectionKind.INVERTED: _("light and dark exchanged"),
    CorrectionKind.CONTRAST: _("faint ink darkened"),
    CorrectionKind.LIGHT: _("shadows removed"),
    CorrectionKind.STRAIGHTENED: _("bent lines straightened"),
    CorrectionKind.DOTTED_LINES: _("dotted lines removed"),
    CorrectionKind.SMOOTHED: _("noise smoothed"),
    CorrectionKind.COLOURED_INK: _("read without the stamp across the print"),
    CorrectionKind.SHARPENED: _("sharpened"),
    CorrectionKind.ENLARGED: _("enlarged"),
}
_SIGNATURE_RESULTS = {
    SignatureResult.EMPTY: _("the signature field is empty"),
    SignatureResult.UNCHECKED: _("not verified"),
    SignatureResult.BROKEN: _("does not match the file"),
    SignatureResult.PARTIAL: _("covers only a part of the file"),
    SignatureResult.CHANGED: _("intact; the file was changed after signing"),
    SignatureResult.WEAK: _("intact; the algorithm is not secure ({detail})"),
    SignatureResult.OUT_OF_DATE: _("intact; the certificate was not valid on {signed_on}"),
    SignatureResult.UNKNOWN_ISSUER: _("intact; the issuer {issuer} is not trusted"),
    SignatureResult.TRUSTED: _("verified; certificate issued by {issuer}"),
}


@dataclass(frozen=True, slots=True)
class ExtractedValue:
    """One value with its label, for example "Licence number"."""

    label: str
    value: str
    page: str  # for example "page 2"; "" if it is unknown
    # How it was read; "" for the text layer of the file, if the value is without doubt.
    source: str


def get_last_extraction(document: Document) -> Extraction | None:
    """Return the extraction of the last attempt that read the document, or None."""
    return document.extractions.last()


def list_extracted_values(document: Document, person: User | None = None) -> list[ExtractedValue]:
    """Return the values of a document; none if it was not read or its type is uncertain.

    Others than QA, and everyone without a person, see no value of a document that is withheld
    because it may name a participant, and none whose place is redacted.
    """
    extraction = get_last_extraction(document)
    is_for_qa = person is not None and downloads.is_reviewer(person)
    if extraction is None or (not is_for_qa and redactions.is_withheld(document)):
        return []
    hidden = redactions.list_decisions(document) if not is_for_qa else []
    document_type = TYPES.get(document.document_type)
    nouns = {spec.name: spec.noun for spec in document_type.fields} if document_type else {}
    nouns["signature_date"] = gettext("date of the signature")
    values = []
    for field in extraction.fields:
        if hidden and redactions.is_place_redacted(document, field["page"], field["box"]):
            continue
        noun = nouns.get(field["name"], field["name"].replace("_", " "))
        label, page = noun[:1].upper() + noun[1:], _format_page(field["page"])
        # A value in doubt is shown with both readings.
        text = field["value"]
        if len(readings := field.get("readings", ())) > 1:
            text = gettext("{first} or {second}").format(first=readings[0], second=readings[1])
        values.append(ExtractedValue(label, text, page, _describe_source(field)))
    signature = extraction.signature or {}
    if digital := signature.get("digital"):
        result = _SIGNATURE_RESULTS[SignatureResult(digital["result"])]
        values.append(
            ExtractedValue(
                gettext("Digitally signed by"),
                digital["signer"] or gettext("A certificate without a name"),
                _format_page(signature["page"]),
                str(result).format_map(digital),
            )
        )
    return values


def _format_page(number: int | None) -> str:
    return gettext("page {n}").format(n=number) if number else ""


def describe_reading(extraction: Extraction) -> list[str]:
    """Return how the pages were read, for reviewers. Equal neighbouring pages share a line.

    Examples: "Pages 1 to 3: text layer of the file", "Page 4: scan at 200 dpi, confidence 91%".
    """
    lines = []
    for method, pages in groupby(extraction.pages, key=_describe_method):
        numbers = [page["number"] for page in pages]
        span = gettext("Pages {first} to {last}").format(first=numbers[0], last=numbers[-1])
        if len(numbers) == 1:
            span = gettext("Page {n}").format(n=numbers[0])
        lines.append(f"{span}: {method}")
    return lines


def _describe_method(page: Mapping[str, Any]) -> str:
    if "error" in page:
        return gettext("could not be read ({error})").format(error=page["error"])
    if "blank" in page:
        return gettext("blank")
    if page["source"] != TextSource.OCR:
        return str(_TEXT_LAYERS[TextSource(page["source"])])
    parts = [
        gettext("scan at {dpi} dpi").format(dpi=page["dpi"]),
        gettext("confidence {percent}").format(percent=f"{page['confidence']:.0f}%"),
    ]
    if page["uncovered"] > MAX_UNREAD_LETTER_SHARE:
        parts.append(gettext("{percent} not read").format(percent=f"{page['uncovered']:.0%}"))
    if page["turned"]:
        parts.append(gettext("rotated by {degrees} degrees").format(degrees=page["turned"]))
    if page["askew"]:
        parts.append(gettext("skewed by {degrees} degrees").format(degrees=page["askew"]))
    kinds = {CorrectionKind(kind) for kind, amount in page.get("corrections", ())}
    parts += [str(text) for kind, text in _CORRECTIONS.items() if kind in kinds]
    return ", ".join(parts)


def _describe_source(field: Mapping[str, Any]) -> str:
    """Return how a value was read; "" for the text layer of the file, if it is without doubt."""
    if field["source"] == FORM_SOURCE:
        return gettext("form field")
    if field["source"] == DIGITAL_SIGNATURE_SOURCE:
        return gettext("time of the digital signature")
    if field["source"] == TextSource.OCR:
        confidence = f"{field['confidence']:.0f}%"
        return gettext("read from the scan, confidence {percent}").format(percent=confidence)
    if field["source"] == TextSource.OCR_LAYER:
        return gettext("text layer of the scan")
    if field["confidence"] < MIN_SURE_CONFIDENCE and not field.get("readings"):
        return gettext("in doubt; compare it with the page")
    return ""
