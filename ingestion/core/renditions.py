"""Defines renditions: files that were derived from an original, so that it can be read or shown.

The original is always the record. A rendition is stored in the archive under its own SHA-256, and
its row and the ledger say from which document it was made, by which tool and when. It is never made
a second time where it exists: the numbers of its pages and what a person saw on them must not
change with the version of a tool.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class RenditionKind(StrEnum):
    """Says what a rendition is for. The values are stored."""

    OFFICE_PDF = "office_pdf"  #: The pages of a word processor's document, as PDF. It is read.
    MESSAGE_PDF = "message_pdf"  #: The text of an email message, as PDF. It is read.
    INERT = "inert"  #: Pictures of the pages, for people who may not open the original.
    REDACTED = "redacted"  #: Pictures of the pages with places blackened, for the same people.


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A rendition that was just made: a local file that is not in the archive yet."""

    kind: RenditionKind
    path: Path
    sha256: str
    size: int  # bytes
    media_type: str
    tool: str  # name and version of the program that made it

    def as_json(self) -> dict[str, Any]:
        """Return the rendition as the ledger records it. The keys must not change."""
        return describe_rendition(
            self.kind, self.sha256, self.size, media_type=self.media_type, tool=self.tool
        )


def describe_rendition(
    kind: str, sha256: str, size: int, *, media_type: str, tool: str
) -> dict[str, Any]:
    """Return a rendition as the ledger records it. The keys must not change."""
    facts: Mapping[str, Any] = {
        "kind": str(kind),
        "sha256": sha256,
        "size": size,
        "media_type": media_type,
        "tool": tool,
    }
    return dict(facts)
