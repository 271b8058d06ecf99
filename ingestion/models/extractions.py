"""Stores what was read from a document, and where on its pages, as evidence for the decision."""

from collections.abc import Mapping
from typing import Any, Self

from django.db import models

from ingestion.models.documents import Document
from ingestion.models.renditions import DocumentRendition
from ingestion.reading.provenance import Provenance, unpack_words
from ingestion.reading.results import Box
from ingestion.rules.checks.signatures import DocumentSignature
from ingestion.rules.checks.verdict import DocumentVerdict
from ingestion.rules.fields.month_dates import find_day
from ingestion.rules.fields.values import FieldValue

_VALUE_NAMES = ("name", "value", "page", "source", "confidence")


class Extraction(models.Model):
    """Stores what one attempt read. Lengths are in points from the top left corner of a page."""

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="extractions")
    attempt = models.PositiveIntegerField()  # the transition of the document that it decided
    rules_version = models.CharField(max_length=100)
    evidence = models.CharField(max_length=400, blank=True)  # for the document type
    dated = models.DateField(null=True, blank=True)  # by the convention of its type
    expires = models.DateField(null=True, blank=True)  # last day of validity
    terms = models.JSONField(default=dict)  # validity terms at that time
    fields = models.JSONField(default=list)  # see `of`; a field of page 0 is from a form
    signature = models.JSONField(null=True, blank=True)  # ink, page, area, digital
    pages = models.JSONField(default=list)  # how each page was read: `reading.provenance`
    flags = models.JSONField(default=list)  # javascript, digital-signature, ...
    # The documents that the pages seem to show (`documents.division`). None: one, or not known.
    cut = models.JSONField(null=True, blank=True)
    engine = models.CharField(max_length=120, blank=True)  # with versions; "" without OCR
    is_repaired = models.BooleanField(default=False)  # for reading; the original is kept
    words = models.BinaryField(default=b"")  # words read by OCR: see `words_by_page`
    # The rendition that was read; None: the original.
    rendition = models.ForeignKey(
        DocumentRendition,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="extractions",
    )

    class Meta:
        ordering = ["document", "attempt"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "attempt"], name="an_attempt_is_extracted_once"
            )
        ]
        indexes = [models.Index(fields=["expires"], name="extractions_by_last_day")]

    def __str__(self) -> str:
        return f"{self.document_id}, attempt {self.attempt}"

    @classmethod
    def of(
        cls,
        document: Document,
        verdict: DocumentVerdict,
        read: Provenance,
        cut: Mapping[str, Any] | None = None,
        rendition: DocumentRendition | None = None,
    ) -> Self:
        """Return an unsaved extraction, after the document made the move of the verdict."""
        return cls(
            document=document,
            attempt=document.revision,
            rules_version=verdict.rules_version,
            evidence=verdict.evidence[:400],
            dated=verdict.dated,
            expires=verdict.expires,
            terms=dict(verdict.terms),
            fields=[
                {
                    "name": value.name,
                    "value": value.value,
                    "page": value.page,
                    "source": value.source,
                    "confidence": round(value.confidence, 1),
                    "box": _sides(value.box),
                    # Two values, between which a person decides.
                    **({"readings": list(value.readings)} if value.readings else {}),
                }
                for value in verdict.fields
            ],
            signature=_signature(verdict.signature) if verdict.signature else None,
            pages=list(read.pages),
            flags=list(read.flags),
            cut=cut,
            engine=read.engine[:120],
            is_repaired=read.repaired,
            words=read.words,
            rendition=rendition,
        )

    @property
    def values(self) -> tuple[FieldValue, ...]:
        """Return the values without their positions. A value that is a date has its `day`."""
        values = []
        for field in self.fields:
            named = {name: field[name] for name in _VALUE_NAMES}
            day, readings = find_day(field["name"], field["value"]), field.get("readings", ())
            values.append(FieldValue(**named, day=day, readings=tuple(readings)))
        return tuple(values)

    @property
    def words_by_page(self) -> Mapping[int, list[tuple[str, list[float], float]]]:
        """Return the words that OCR read, each with its bounding box and confidence, by page."""
        return unpack_words(bytes(self.words))


def _signature(signature: DocumentSignature) -> dict[str, Any]:
    """Return the record of a signature as JSON. Its date is one of the fields."""
    record: dict[str, Any] = {
        "ink": signature.state.value,
        "page": signature.page,
        "area": _sides(signature.area),
    }
    if digital := signature.digital:
        record["digital"] = {
            "result": digital.result.value,
            "signer": digital.signer,
            "issuer": digital.issuer,
            "signed_on": digital.signed_on.isoformat() if digital.signed_on else "",
            "is_timestamped": digital.is_timestamped,
            "detail": digital.detail
            or digital.weakness.format(bits=digital.bits, digest=digital.digest),
        }
    return record


def _sides(box: Box | None) -> list[float] | None:
    """Return left, top, right and bottom of a bounding box, in points."""
    return [round(side, 1) for side in box] if box else None
