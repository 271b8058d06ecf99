"""Checks what does not depend on a document type: active content, missing pages, legibility."""

import re
from collections.abc import Iterator

from audit.translation import gettext_noop as _
from ingestion.reading.reading_stages import Stage
from ingestion.reading.results import DocumentReading, PageReading, TextSource
from ingestion.rules.findings import Facts, RuleFinding
from ingestion.rules.messages import ACTIVE_CONTENT_NOUNS

MIN_PAGE_CONFIDENCE = 70.0  # percent, the mean of a page; below it, words are missing or wrong
MIN_SCAN_DPI = 150  # dpi; below it, letters run together and only a better scan helps
# Share of the letters of a page in areas from which OCR read no word. Good scans have 0.06.
MAX_UNREAD_LETTER_SHARE = 0.10

# The most frequent words of English, which OCR finds even where it finds little else.
_FREQUENT_ENGLISH_WORDS = frozenset({"the", "of", "and", "with", "this", "that", "for"})
# What a stage of reading searches, as the object of "We could not read ...".
_SEARCHED = {
    Stage.PLACES: _("the text"),
    Stage.MARKS: _("the signatures and stamps"),
    Stage.STAMPS: _("the signatures and stamps"),
    Stage.STRIKE_OUTS: _("what is struck out"),
    Stage.OMITTED_WORDS: _("all of the text"),
    Stage.CHECK_BOXES: _("the check boxes"),
    Stage.FORM: _("the boxes of the form"),
    Stage.CODES: _("the separator code"),
}
_PAGE_NUMBER = re.compile(r"\bpage\s*(\d{1,3})\s*(?:of|/)\s*(\d{1,3})\b", re.IGNORECASE)


def check_active_content(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield ACTIVE_CONTENT with the kinds of active content in the file."""
    kinds = [flag for flag in ACTIVE_CONTENT_NOUNS if flag in reading.flags]
    if kinds:
        yield RuleFinding("ACTIVE_CONTENT", facts={"kinds": " ".join(kinds)})


def check_blank_pages(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield BLANK_OR_MISSING_PAGE for each blank page."""
    for page in reading.pages:
        if page.is_blank:
            yield RuleFinding("BLANK_OR_MISSING_PAGE", page.number, {"page": page.number})


def check_missing_pages(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield BLANK_OR_MISSING_PAGE for numbers that are missing from "Page 2 of 3".

    A page without a number may be the one that seems to be missing.
    """
    numbered = [match for page in reading.pages if (match := _PAGE_NUMBER.search(page.text))]
    unnumbered = len(reading.pages) - len(numbered)
    totals = {int(match[2]) for match in numbered}
    if len(totals) != 1:
        return  # the file contains several documents, or its pages are not numbered
    total = totals.pop()
    present = {int(match[1]) for match in numbered}
    missing = sorted(set(range(1, total + 1)) - present)
    if missing and len(missing) > unnumbered:
        facts: Facts = {
            "missing": ", ".join(map(str, missing)),
            "present": total - len(missing),
            "total": total,
        }
        yield RuleFinding("BLANK_OR_MISSING_PAGE", facts=facts)


def check_illegible_pages(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield ILLEGIBLE_SCAN for pages that must be scanned again.

    Only coarse scans of English text count. OCR may read another page badly because it is in a
    language that is not installed.
    """
    illegible = [page for page in reading.pages if _is_illegible(page)]
    if illegible:
        facts: Facts = {
            "count": len(illegible),
            "total": len(reading.pages),
            "dpi": min(page.dpi for page in illegible),
        }
        yield RuleFinding("ILLEGIBLE_SCAN", illegible[0].number, facts)


def check_doubtful_pages(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield OCR_LOW_CONFIDENCE for forms and pages that were not read with certainty."""
    if "unread-form" in reading.flags:
        yield RuleFinding("OCR_LOW_CONFIDENCE", facts={"what": _("the entries of its form")})
    for page in reading.pages:
        if page.error or (_is_poor(page) and not _is_illegible(page)):
            what = _("the text")
        elif page.uncovered > MAX_UNREAD_LETTER_SHARE and not _is_illegible(page):
            what = _("all of the text")
        else:
            continue
        facts: Facts = {"what": what, "page": page.number}
        yield RuleFinding("OCR_LOW_CONFIDENCE", page.number, facts)


def check_unfinished_pages(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield OCR_LOW_CONFIDENCE for what was not searched, because the page took too long."""
    for page in reading.pages:
        for what in dict.fromkeys(_SEARCHED[stage] for stage in page.unfinished):
            facts: Facts = {"what": what, "page": page.number}
            yield RuleFinding("OCR_LOW_CONFIDENCE", page.number, facts)


def _is_illegible(page: PageReading) -> bool:
    """Return whether a page is poor because of its scan, and not its language."""
    if not _is_poor(page) or not 0 < page.dpi < MIN_SCAN_DPI:
        return False
    # One frequent word may be a misreading; two show that the page is in English.
    return len(_FREQUENT_ENGLISH_WORDS.intersection(page.text.casefold().split())) >= 2


def _is_poor(page: PageReading) -> bool:
    if page.source is not TextSource.OCR or page.is_blank or page.error:
        return False
    return page.confidence < MIN_PAGE_CONFIDENCE or not page.text.strip()


CHECKS_OF_ANY_FILE = (
    check_active_content,
    check_blank_pages,
    check_missing_pages,
    check_illegible_pages,
    check_doubtful_pages,
    check_unfinished_pages,
)
