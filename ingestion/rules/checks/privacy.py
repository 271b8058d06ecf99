"""Does it hold details of a study participant? Those do not belong into a regulatory file.

Precision before everything: a consent form has lines for a participant's name, and a CV the
person's own date of birth. So what counts are captions with something filled in, two of them on a
page, one of which only a participant's record has. A social security number tells by itself.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingestion.reading.results import DocumentReading, PageReading
from ingestion.rules.fields import dates, geometry
from ingestion.rules.findings import RuleFinding

_MAX_CAPTION_GAP = 8  # characters behind a caption within which its value begins
_GAP = r"[\s:#._-]{0,8}"
_CAPTION = (
    r"(?i:date|birth|dob|mrn|id|number|no|record|signature|initials|name|printed|address|phone|age"
    r"|sex|gender|study|protocol|site|subject|patient|participant|visit|of|and|or|the|to)\b"
)
_WORD = rf"(?!{_CAPTION})[^\W\d_a-z][\w'\u2019-]+"
_NAME = rf"{_WORD},? (?:[A-Z]\.? )?{_WORD}"


@dataclass(frozen=True, slots=True)
class Detail:
    """What a caption asks for. `telling`: only a record of a participant asks for it."""

    captions: tuple[str, ...]
    value: str  # as a pattern; "" for a date
    telling: bool = True


_DETAILS = (
    Detail(("patient name", "name of patient", "subject name", "name of subject"), _NAME),
    Detail(("participant name", "name of participant"), _NAME, telling=False),  # of a course?
    Detail(
        ("medical record number", "medical record no", "MRN", "hospital number", "patient ID"),
        r"(?=[\w-]*\d{4})[A-Z0-9-]{5,15}\b",
    ),
    Detail(
        ("subject initials", "patient initials", "participant initials"),
        rf"(?!{_CAPTION})(?:[A-Z][.-]?){{2,3}}(?!\w)",
    ),
    Detail(("date of birth", "birth date", "birthdate", "DOB"), "", telling=False),
)
_SOCIAL_SECURITY = Detail(
    ("social security number", "social security no", "SSN"), r"\d{3}[ -]\d{2}[ -]\d{4}\b"
)


def participant_details(reading: DocumentReading) -> Iterator[RuleFinding]:
    for page in reading.pages:
        found = [detail for detail in _DETAILS if _is_filled_in(page, detail)]
        is_record = len(found) > 1 and any(detail.telling for detail in found)
        if is_record or _is_filled_in(page, _SOCIAL_SECURITY):
            yield RuleFinding("PHI_SUSPECTED", page.number, {"page": page.number})


def _is_filled_in(page: PageReading, detail: Detail) -> bool:
    return any(
        _begins_with(text, detail)
        for caption in detail.captions
        for place in geometry.occurrences(page, caption)
        for text in _beside(page, place)
    )


def _beside(page: PageReading, place: geometry.TextSpan) -> Iterator[str]:
    """What is behind the caption; below it only where no colon says that it would be behind."""
    yield " ".join(word.text for word in geometry.behind(page, place))
    if not page.words[place.end - 1].text.endswith(":"):
        yield " ".join(word.text for word in geometry.below(page, place))


def _begins_with(text: str, detail: Detail) -> bool:
    if detail.value:
        return re.match(_GAP + detail.value, text) is not None
    written = next(dates.find(text), None)
    return written is not None and written.start <= _MAX_CAPTION_GAP
