"""Names the renditions of a document for its page, with the tool that made each."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ingestion.core.renditions import RenditionKind
from ingestion.documents import downloads
from ingestion.models import Document, DocumentRendition

KIND_LABELS: Mapping[str, Promise] = MappingProxyType(
    {
        RenditionKind.OFFICE_PDF: _("PDF of the original, from which it was read"),
        RenditionKind.MESSAGE_PDF: _("Text of the email message as PDF"),
        RenditionKind.INERT: _("Inert rendition: pictures of the pages"),
        RenditionKind.REDACTED: _("Redacted rendition: pictures of the pages with black places"),
    }
)


@dataclass(frozen=True, slots=True)
class RenditionLine:
    """A rendition with its name and its kind in words."""

    rendition: DocumentRendition
    filename: str
    kind: str | Promise
    is_of_pictures: bool  # the page names these separately


def list_renditions(document: Document) -> list[RenditionLine]:
    """Return the renditions of a document, the newest last."""
    return [
        RenditionLine(
            each,
            downloads.get_rendition_filename(each),
            KIND_LABELS.get(each.kind, each.kind),
            each.kind in {RenditionKind.INERT, RenditionKind.REDACTED},
        )
        for each in document.renditions.select_related("document")
    ]
