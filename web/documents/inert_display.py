"""Explains to people that they see pictures of a file whose original is under lock."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ingestion.documents import downloads, inert_renditions, renditions
from ingestion.documents.downloads import FileAccess
from ingestion.models import Document, DocumentRendition
from ingestion.rules.finding_texts import format_sentences
from sites.models import User

# What each kind of active content may do, by the flag of the file.
KIND_EXPLANATIONS: Mapping[str, Promise] = MappingProxyType(
    {
        "javascript": _("a script, which runs when the file is opened or used"),
        "launch": _("a command that starts a program on the computer of the reader"),
        "embedded-file": _("an attached file, which may be a program"),
        "macros": _("macros, which are programs of the word processor"),
        "file-link": _("a link that opens a file on another computer"),
        "remote": _("a command that sends data to another computer, or loads data from one"),
        "unsearched": _("parts that cannot be searched for scripts and attached files"),
    }
)


@dataclass(frozen=True, slots=True)
class LockNotice:
    """Describes why an original is under lock, for the person who looks at its document."""

    explanations: tuple[str | Promise, ...]  # the kinds of active content in the file
    sentence: str  # what the finding says, if the kinds are not known
    has_original: bool  # whether the person may download the original
    rendition: DocumentRendition | None  # None: it has not been made yet

    @property
    def undisplayed(self) -> str:
        """Return the numbers of the pages that the rendition cannot show, or ""."""
        return inert_renditions.find_undisplayed(self.rendition) if self.rendition else ""


def describe_lock(person: User, document: Document) -> LockNotice | None:
    """Return why the original is under lock, or None if it is not.

    None too for a person who may see nothing of the file. The rendition of a document of an earlier
    release is requested here.
    """
    finding = downloads.find_lock(document)
    access = downloads.find_access(document, person)
    if finding is None or access is FileAccess.NOTHING:
        return None
    rendition = renditions.find_inert_rendition(document)
    if rendition is None:
        inert_renditions.request_rendition(document)
    kinds = str(finding.facts.get("kinds", "")).split()
    is_known = bool(kinds) and KIND_EXPLANATIONS.keys() >= set(kinds)
    return LockNotice(
        tuple(KIND_EXPLANATIONS[kind] for kind in kinds) if is_known else (),
        format_sentences(finding.code, finding.facts).what,
        access is FileAccess.ORIGINAL,
        rendition,
    )
