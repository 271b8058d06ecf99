"""Finds the date of a letter by its place above the salutation.

A value found only by its place is never without doubt.
"""

import re
from collections.abc import Iterator, Sequence

from ingestion.reading.results import PageReading
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import dates
from ingestion.rules.fields.heads.layout import HEAD_SHARE, SALUTATION
from ingestion.rules.fields.text_lines import TextLine
from ingestion.rules.fields.values import SCAN_SOURCES, FieldValue, parse_date, value_of_words

_DATE_LINE = re.compile(
    r"(?i)^(?:(?:[^\W\d_]|[ .-]){1,30},\s*"
    r"|(?:our )?ref(?:erence)?\b(?:\.|\s?no\.?)?\s?:\s*\S*\d\S*\s+)?"
    r"(?:date|dated|dt\.?|on|the)?\s*:?\s*$"
)
_AFTER_DATE = re.compile(r"(?i)^\W*(?:at\W*)?(?:\d{1,2}:\d\d.*)?$")
_DATE_CAPTION = re.compile(
    r"(?i)(?:^|[-|;,\u2013]\s*)(?:date|dated|sent)\s*:\s*"
    r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,?\s*)?$"
)


def find_letter_dates(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec, *, month_first: bool | None
) -> Iterator[FieldValue]:
    """Yield the dates that stand alone on a line above the salutation, or after "Date:" there."""
    is_scan = page.source in SCAN_SOURCES
    for line in lines:
        if line.box.top > HEAD_SHARE * page.height or SALUTATION.match(line.text):
            return
        for written in dates.find_dates(line.text, month_first=month_first):
            before, after = line.text[: written.start], line.text[written.end :]
            if not _DATE_CAPTION.search(before) and not (
                _DATE_LINE.match(before) and _AFTER_DATE.match(after)
            ):
                continue
            parsed = parse_date(
                line.text[written.start :], month_first=month_first, is_scan=is_scan, max_gap=0
            )
            if parsed:
                words = [word for word in line.words if word.text in line.text[written.start :]]
                yield value_of_words(spec.name, page, words or line.words, parsed)
                break
