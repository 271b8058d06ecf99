"""Reads separator sheets: pages with a QR code that says which document follows.

A site prints one sheet for each expected document, and scans each document after its sheet. The
text of a code is `siteledger:sep:v1:SITE:TYPE:PERSON:CHECK`. SITE is the number of the site, TYPE
the slug of the document type, and PERSON the name of the person whose document it is, or empty.
Characters other than ASCII letters, digits and "_.-~" are percent-encoded in UTF-8 (RFC 3986).
CHECK is the beginning of the SHA-256, in hexadecimal digits, of the text before its colon. It shows
a damaged text. It is no protection against a forged sheet: a sheet only declares a type and a
person, and the checks compare both with the document.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from ingestion.reading.results import PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import TYPES

PREFIX = "siteledger:sep:v1:"
CHECK_LENGTH = 6  # hexadecimal digits
MARKER = "SiteLedger separator sheet"  # printed on each sheet, in English whatever the language
MAX_SHEET_WORDS = 120  # A page with more words is a document. A sheet has about 60.

_PAYLOAD = re.compile(
    rf"{PREFIX}(?P<site>[\w.~%-]+):(?P<type>[a-z0-9-]+):(?P<person>[\w.~%-]*)"
    rf":(?P<check>[0-9a-f]{{{CHECK_LENGTH}}})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Separator:
    """The document that a separator sheet announces."""

    site_id: str
    type: str  # the slug of the document type
    person: str = ""

    @property
    def payload(self) -> str:
        """Return the text of the QR code."""
        parts = (quote(part, safe="") for part in (self.site_id, self.type, self.person))
        content = PREFIX + ":".join(parts)
        return f"{content}:{_check(content)}"


def parse_separator(payload: str) -> Separator | None:
    """Return what the text of a code announces, or None if it is damaged or of another kind."""
    match = _PAYLOAD.fullmatch(payload)
    if match is None or match["check"] != _check(payload.rpartition(":")[0]):
        return None
    return Separator(unquote(match["site"]), match["type"], unquote(match["person"]))


def _check(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:CHECK_LENGTH]


@dataclass(frozen=True, slots=True)
class SeparatedPages:
    """Neighbouring pages of a file between two separator sheets, and the sheet before them."""

    pages: tuple[PageReading, ...]
    sheet_page: int = 0  # the number of the sheet's page; 0 before the first sheet
    separator: Separator | None = None  # None before the first sheet, or if it was not read


def split_at_sheets(pages: Sequence[PageReading]) -> list[SeparatedPages]:
    """Return the pages of a file between its separator sheets.

    Pages before the first sheet come first. A file without sheets has one element.
    """
    split: list[SeparatedPages] = []
    gathered: list[PageReading] = []
    sheet_page, separator = 0, None
    for page in pages:
        if not is_sheet(page):
            gathered.append(page)
            continue
        if gathered or sheet_page:
            split.append(SeparatedPages(tuple(gathered), sheet_page, separator))
        gathered, sheet_page, separator = [], page.number, read_sheet(page)
    return [*split, SeparatedPages(tuple(gathered), sheet_page, separator)]


def is_sheet(page: PageReading) -> bool:
    """Return whether a page is a separator sheet, even if its code cannot be read.

    A page with much text is a document that shows such a code, for example a guide.
    """
    if len(page.text.split()) > MAX_SHEET_WORDS:
        return False
    return bool(page.separator_codes) or fuzzy_phrases.contains_phrase(page.text, MARKER)


def read_sheet(page: PageReading) -> Separator | None:
    """Return what a sheet announces, or None if it shows no readable code, or several."""
    codes = page.separator_codes
    return parse_separator(codes[0]) if len(codes) == 1 else None


def find_doubts(split: Sequence[SeparatedPages], site_id: str) -> Iterator[str]:
    """Yield the keys of `cut_reasons.REASONS` for which a person has to confirm the sheets.

    `site_id` is the number of the site that sent the file; "" if it is not known.
    """
    found = [each.separator for each in split if each.sheet_page]
    separators = [each for each in found if each is not None]
    if len(separators) < len(found):
        yield "unread-separator"
    if len(set(separators)) < len(separators):
        yield "repeated-separator"
    if site_id and any(each.site_id != site_id for each in separators):
        yield "other-site"
    if any(each.type not in TYPES for each in separators):
        yield "unknown-type"
