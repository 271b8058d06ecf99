"""Describes the documents that an uploaded file seems to hold, for the upload form."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ingestion.core.file_parts import FilePart
from ingestion.models import DraftFile
from ingestion.models.requirements import get_type_name
from web.documents.page_account import name_pages


@dataclass(frozen=True, slots=True)
class FileContents:
    """A proposed division in words."""

    summary: str  # how many documents there are
    documents: Sequence[str]  # their pages and types
    advice: str  # what happens with the file, and what to do

    def as_json(self) -> dict[str, Any]:
        """Return the proposal as a dict for the script of the form."""
        return asdict(self)


def describe_contents(file: DraftFile) -> FileContents | None:
    """Return the documents that a file seems to hold, or None if it seems to be one document."""
    cut = file.cut
    if not cut:
        return None
    parts = cut["parts"]
    is_exact = cut["is_certain"] and all(part.get("is_declared") for part in parts)
    if is_exact:
        summary = ngettext(
            "According to its separator sheets, this file contains {n} document:",
            "According to its separator sheets, this file contains {n} documents:",
            len(parts),
        )
        advice = _("Send the packet. SiteLedger checks and files each document separately.")
    else:
        summary = ngettext(
            "This file seems to contain {n} document:",
            "This file seems to contain {n} documents:",
            len(parts),
        )
        advice = _(
            "You can send the packet as it is. QA confirms where each document begins. Each "
            "document is then checked and filed separately."
        )
    lines = [_describe_part(part) for part in parts]
    return FileContents(summary.format(n=len(parts)), lines, advice)


def _describe_part(part: Mapping[str, Any]) -> str:
    """Return the pages and the type of one document, for example "Pages 1 to 2: CV"."""
    first, last = part["pages"]
    pages = name_pages(FilePart.parse(first, last, part.get("region", "")))
    kind = get_type_name(part["type"]) if part["type"] else _("type not detected")
    return _("{pages}: {type}").format(pages=pages, type=kind)
