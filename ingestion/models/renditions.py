"""Defines the table of renditions, which are files derived from originals."""

from typing import Any, Self

from django.db import models
from django.utils import timezone

from ingestion.core.renditions import RenderedFile, describe_rendition
from ingestion.models.added_only import AddedOnlyRow
from ingestion.models.documents import Document


class DocumentRendition(AddedOnlyRow):
    """Stores a file that was derived from a document, for reading it or for showing it to people.

    The original of the document is the record. The file is in the archive, like an original, so
    archive verification, backups, object locks and retention include it. A rendition of a whole
    file belongs to the row of the file, also if the file is divided later
    (`ingestion.documents.renditions`). A document may have several of the same kind; the newest
    counts.
    """

    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="renditions")
    kind = models.CharField(max_length=20)  # a value of `core.renditions.RenditionKind`
    sha256 = models.CharField(max_length=64, db_index=True)
    size = models.PositiveBigIntegerField()  # bytes
    media_type = models.CharField(max_length=100)
    tool = models.CharField(max_length=120)  # name and version of the program that made it
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["document", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["document", "kind", "sha256"], name="a_rendition_is_stored_once"
            ),
            models.CheckConstraint(
                condition=~models.Q(sha256=""), name="a_rendition_has_its_fingerprint"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.document_id}"

    @classmethod
    def of(cls, document: Document, rendered: RenderedFile) -> Self:
        """Return an unsaved row for a rendition whose bytes are in the archive."""
        return cls(
            document=document,
            kind=rendered.kind,
            sha256=rendered.sha256,
            size=rendered.size,
            media_type=rendered.media_type,
            tool=rendered.tool[:120],
        )

    def as_json(self) -> dict[str, Any]:
        """Return the rendition as the ledger records it."""
        return describe_rendition(
            self.kind, self.sha256, self.size, media_type=self.media_type, tool=self.tool
        )
