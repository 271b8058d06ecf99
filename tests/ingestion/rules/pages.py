"""Pages as reading would give them, set from lines of text: a test names only what it is about."""

import re
from datetime import date

from ingestion.reading.results import (
    Box,
    DocumentReading,
    MediaType,
    PageReading,
    TextSource,
    Word,
)
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.verdict import check

TODAY = date(2026, 11, 20)
SITE = SiteFacts(site_id="0203", protocol_number="SLX-301", name="Cedar Ridge Medical Center")

LINE, LETTER, LEFT, TOP = 14.0, 5.0, 54.0, 60.0  # points


def make_page(*lines, number=1, source=TextSource.NATIVE, confidence=100.0, signed="", **rest):
    """Return a page with these lines, in letters of one width. `signed`: ink above these words."""
    words = tuple(
        Word(match[0], _box(row, match.start(), match.end()), confidence)
        for row, line in enumerate(lines)
        for match in re.finditer(r"\S+", line)
    )
    marks = tuple(
        _ink_above(_box(row, line.index(signed), line.index(signed) + 20))
        for row, line in enumerate(lines)
        if signed and signed in line
    )
    text = "\n".join(line for line in lines if line.strip())
    dpi = 300 if source is TextSource.OCR else 0
    page = {"words": words, "marks": marks, "confidence": confidence, "dpi": dpi, **rest}
    return PageReading(number, 612.0, 792.0, text, source, **page)


def make_reading(*pages, fields=None, flags=(), signatures=()):
    return DocumentReading(
        MediaType.PDF,
        pages,
        fields=fields or {},
        flags=frozenset(flags),
        signatures=tuple(signatures),
    )


def checked(reading, *, site=SITE, today=TODAY, schema_version="v2.1", **declared_facts):
    return check(reading, SenderFacts(schema_version, **declared_facts), site=site, today=today)


def codes(verdict):
    return [finding.code for finding in verdict.findings]


def _ink_above(caption):
    return Box(caption.left, caption.top - 24, caption.right, caption.top - 2)


def _box(row, start, end):
    top = TOP + row * LINE
    return Box(LEFT + start * LETTER, top, LEFT + end * LETTER, top + 9.0)
