"""Separator sheets: the text of their QR codes, which says which document follows.

The text is `siteledger:sep:v1:SITE:TYPE:PERSON:CHECK`. SITE is the number of the site, TYPE the
slug of the expected document type, and PERSON the name of the person whose document it is, or
empty. Characters other than letters, digits and "_.-~" are percent-encoded in UTF-8 (RFC 3986).
CHECK is the beginning of the SHA-256, in hexadecimal digits, of the text before its colon. It shows
a misread text. It is no protection against a forged sheet, which can only name a type and a person,
and both are checked.
"""

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from ingestion.reading.results import PageReading

PREFIX = "siteledger:sep:v1:"
CHECK_LENGTH = 6  # hexadecimal digits
MAX_SEPARATOR_WORDS = 120  # a page with more text is a document that shows such a code

_PAYLOAD = re.compile(
    rf"{PREFIX}(?P<site>[\w.~%-]+):(?P<type>[a-z0-9-]+):(?P<person>[\w.~%-]*)"
    rf":(?P<check>[0-9a-f]{{{CHECK_LENGTH}}})"
)


@dataclass(frozen=True, slots=True)
class Separator:
    """What a separator sheet announces: the document that follows it."""

    site_id: str
    type: str  # the slug of the document type
    person: str = ""

    @property
    def payload(self) -> str:
        """The text of the QR code."""
        parts = (quote(part, safe="") for part in (self.site_id, self.type, self.person))
        content = PREFIX + ":".join(parts)
        return f"{content}:{_check(content)}"


def parse_separator(text: str) -> Separator | None:
    """Return what a text announces, or None if it is no text of a separator sheet or is misread."""
    match = _PAYLOAD.fullmatch(text.strip())
    if match is None or match["check"] != _check(text.strip().rpartition(":")[0]):
        return None
    return Separator(unquote(match["site"]), match["type"], unquote(match["person"]))


def find_separator(page: PageReading) -> Separator | None:
    """Return what a separator sheet announces, or None if the page is none.

    The sheet prints the text below its code. Of a scan, the reading decodes the code and adds it to
    the text of the page.
    """
    if len(page.text.split()) > MAX_SEPARATOR_WORDS:
        return None
    texts = (match[0] for match in _PAYLOAD.finditer(page.text))
    return next((found for text in texts if (found := parse_separator(text))), None)


def _check(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:CHECK_LENGTH]
