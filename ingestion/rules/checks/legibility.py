"""Checks that ask no document type: is everything there, can it be read, is it only paper."""

import re
from collections.abc import Iterator

from ingestion.reading.results import DocumentReading, PageReading, TextSource
from ingestion.rules.findings import Facts, RuleFinding

MIN_PAGE_CONFIDENCE = 70.0  # mean confidence of a page; below it, words are missing or wrong
MIN_SCAN_DPI = 150  # dpi; below it letters run together, and a better scan is the remedy
MAX_UNREAD_LETTER_SHARE = (
    0.10  # share of a page's letters that OCR read no word from; sound scans have 0.06
)

_KINDS = {
    "javascript": "scripts",
    "launch": "a command that starts a program",
    "embedded-file": "attached files",
    "file-link": "links to other files",
    "remote": "commands that reach outside the file",
    "unsearched": "parts that cannot be searched",
}
# The commonest words of English, which OCR finds also where it finds little else.
_ENGLISH = frozenset({"the", "of", "and", "with", "this", "that", "for"})
_PAGE_OF = re.compile(r"\bpage\s*(\d{1,3})\s*(?:of|/)\s*(\d{1,3})\b", re.IGNORECASE)


def active_content(reading: DocumentReading) -> Iterator[RuleFinding]:
    kinds = [words for flag, words in _KINDS.items() if flag in reading.flags]
    if kinds:
        yield RuleFinding("ACTIVE_CONTENT", facts={"kinds": " and ".join(kinds)})


def blank_pages(reading: DocumentReading) -> Iterator[RuleFinding]:
    for page in reading.pages:
        if page.is_blank:
            yield RuleFinding("BLANK_OR_MISSING_PAGE", page.number, {"page": page.number})


def missing_pages(reading: DocumentReading) -> Iterator[RuleFinding]:
    """A gap in "Page 2 of 3". A page whose number was not found may be the one that is missing."""
    numbered = [match for page in reading.pages if (match := _PAGE_OF.search(page.text))]
    unnumbered = len(reading.pages) - len(numbered)
    totals = {int(match[2]) for match in numbered}
    if len(totals) != 1:
        return  # several documents in one file, or none that counts its pages
    total = totals.pop()
    present = {int(match[1]) for match in numbered}
    missing = sorted(set(range(1, total + 1)) - present)
    if missing and len(missing) > unnumbered:
        facts: Facts = {
            "missing": _listed(missing),
            "present": total - len(missing),
            "total": total,
        }
        yield RuleFinding("BLANK_OR_MISSING_PAGE", facts=facts)


def illegible_pages(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Coarse scans of English only: any other may be in a language that is not installed."""
    poor = [page for page in reading.pages if _is_illegible(page)]
    if poor:
        facts: Facts = {
            "count": len(poor),
            "total": len(reading.pages),
            "dpi": min(p.dpi for p in poor),
        }
        yield RuleFinding("ILLEGIBLE_SCAN", poor[0].number, facts)


def doubtful_pages(reading: DocumentReading) -> Iterator[RuleFinding]:
    if "unread-form" in reading.flags:
        yield RuleFinding("OCR_LOW_CONFIDENCE", facts={"what": "the entries of its form"})
    for page in reading.pages:
        if page.error or (_is_poor(page) and not _is_illegible(page)):
            yield _doubtful("the text", page)
        elif page.uncovered > MAX_UNREAD_LETTER_SHARE and not _is_illegible(page):
            yield _doubtful("all of the text", page)


def _doubtful(what: str, page: PageReading) -> RuleFinding:
    return RuleFinding("OCR_LOW_CONFIDENCE", page.number, {"what": what, "page": page.number})


def _is_illegible(page: PageReading) -> bool:
    """The scan is to blame, and not the language (decision 17)."""
    return _is_poor(page) and 0 < page.dpi < MIN_SCAN_DPI and _is_in_english(page)


def _is_in_english(page: PageReading) -> bool:
    """One such word may be a misreading; two are none."""
    return len(_ENGLISH.intersection(page.text.casefold().split())) >= 2


def _is_poor(page: PageReading) -> bool:
    if page.source is not TextSource.OCR or page.is_blank or page.error:
        return False
    return page.confidence < MIN_PAGE_CONFIDENCE or not page.text.strip()


def _listed(numbers: list[int]) -> str:
    return ", ".join(str(number) for number in numbers)
