"""Accounts for a divided file's pages: to which document each belongs, or why to none."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.core.container_entries import EntryUse
from ingestion.core.file_parts import FilePart, PageUse
from ingestion.core.states import DocumentState
from ingestion.documents import division
from ingestion.models import Document

USE_LABELS: Mapping[PageUse, Promise] = MappingProxyType(
    {
        PageUse.BLANK: _("Blank page"),
        PageUse.SEPARATOR: _("Separator sheet"),
        PageUse.COVER: _("Cover sheet of a portfolio"),
        PageUse.SET_ASIDE: _("Set aside"),
    }
)
ENTRY_USE_LABELS: Mapping[EntryUse, Promise] = MappingProxyType(
    {
        EntryUse.EMPTY: _("Empty"),
        EntryUse.SYSTEM_FILE: _("Technical file of a program"),
        EntryUse.SMALL_PICTURE: _("Small picture in the text, such as a logo"),
        EntryUse.COVERING_NOTE: _("Short text that accompanies the documents"),
    }
)


@dataclass(frozen=True, slots=True)
class AccountLine:
    """Some pages of a file, or an entry of a container, with its document.

    Without a document, it has the reason why it belongs to none.
    """

    pages: str  # "Pages 3 to 5", or the name of an entry
    document: Document | None
    label: str | Promise = ""  # of pages without document
    reason: str = ""  # of a person who set the page aside


@dataclass(frozen=True, slots=True)
class PageAccount:
    """The account of the pages of one file, and of the entries of one container."""

    lines: tuple[AccountLine, ...]
    sentence: str
    has_entries: bool = False


def name_pages(part: FilePart) -> str:
    """Return the pages of a part for people, for example "Pages 3 to 5"."""
    if part.first != part.last:
        return gettext("Pages {first} to {last}").format(first=part.first, last=part.last)
    if part.region:
        return gettext("Page {page}, one of several on the sheet").format(page=part.first)
    return gettext("Page {page}").format(page=part.first)


def account_for_pages(document: Document) -> PageAccount | None:
    """Return the account of a divided file, in the order of its pages, or None if it is whole."""
    if document.state != DocumentState.DIVIDED:
        return None
    rows = list(document.parts.all())
    entries = [(row.entry, AccountLine(row.entry_name, row)) for row in rows if row.is_entry]
    entries += [
        (each.entry, AccountLine(each.name, None, ENTRY_USE_LABELS[EntryUse(each.use)]))
        for each in document.excluded_entries.all()
    ]
    entries.sort(key=lambda entry: entry[0])
    lines = [(part, AccountLine(name_pages(part), row)) for row in rows if (part := row.file_part)]
    for each in document.excluded_pages.all():
        part = FilePart.parse(each.page, each.page, each.region)
        label = USE_LABELS[PageUse(each.use)]
        lines.append((part, AccountLine(name_pages(part), None, label, each.reason)))
    lines.sort(key=lambda line: (line[0].first, line[0].region or ()))
    numbered = (*lines, *entries)
    return PageAccount(
        tuple(line for _position, line in numbered),
        _describe_account(has_entries=bool(entries), is_finished=division.is_finished(document)),
        has_entries=bool(entries),
    )


def _describe_account(*, has_entries: bool, is_finished: bool) -> str:
    """Return the sentence about the account of a file, or of a container with entries."""
    if has_entries:
        if is_finished:
            return gettext("Every file in it is accounted for. It is finished.")
        return gettext(
            "Every file in it is accounted for. It is finished when all its documents are finished."
        )
    if is_finished:
        return gettext("Every page is accounted for. The file is finished.")
    return gettext(
        "Every page is accounted for. The file is finished when all its documents are finished."
    )
