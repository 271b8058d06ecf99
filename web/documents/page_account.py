"""Accounts for a divided file's pages: to which document each belongs, or why to none."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.core.file_parts import FilePart, PageUse
from ingestion.core.states import DocumentState
from ingestion.documents import division
from ingestion.models import Document

USE_LABELS: Mapping[PageUse, Promise] = MappingProxyType(
    {
        PageUse.BLANK: _("Blank page"),
        PageUse.SEPARATOR: _("Separator sheet"),
        PageUse.SET_ASIDE: _("Set aside"),
    }
)


@dataclass(frozen=True, slots=True)
class AccountLine:
    """Some pages of a file, with their document or with the reason why they belong to none."""

    pages: str  # "Pages 3 to 5"
    document: Document | None
    label: str | Promise = ""  # of pages without document
    reason: str = ""  # of a person who set the page aside


@dataclass(frozen=True, slots=True)
class PageAccount:
    """The account of the pages of one file."""

    lines: tuple[AccountLine, ...]
    sentence: str


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
    lines = [
        (part, AccountLine(name_pages(part), row))
        for row in document.parts.all()
        if (part := row.file_part)
    ]
    for each in document.excluded_pages.all():
        part = FilePart.parse(each.page, each.page, each.region)
        label = USE_LABELS[PageUse(each.use)]
        lines.append((part, AccountLine(name_pages(part), None, label, each.reason)))
    lines.sort(key=lambda line: (line[0].first, line[0].region or ()))
    sentence = (
        gettext("Every page is accounted for. The file is finished.")
        if division.is_finished(document)
        else gettext(
            "Every page is accounted for. The file is finished when all its documents are finished."
        )
    )
    return PageAccount(tuple(line for _part, line in lines), sentence)
