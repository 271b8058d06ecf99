"""Checks for details of a study participant, which do not belong in a regulatory file.

The check avoids false alarms: a consent form has lines for the name of a participant, and a CV has
the date of birth of its person. It counts captions with a value, and needs two of them on a page,
one of which occurs only in the record of a participant. A social security number is enough by
itself.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingestion.reading.results import DocumentReading, PageReading, Word
from ingestion.rules.fields import dates, geometry
from ingestion.rules.findings import RuleFinding

_MAX_CAPTION_GAP = 8  # characters after a caption within which its value begins
_GAP = r"[\s:#._-]{0,8}"
_CAPTION = (
    r"(?i:date|birth|dob|mrn|id|number|no|record|signature|initials|name|printed|address|phone|age"
    r"|sex|gender|study|protocol|site|subject|patient|participant|visit|of|and|or|the|to)\b"
)
_WORD = rf"(?!{_CAPTION})[^\W\d_a-z][\w'\u2019-]+"
_NAME = rf"{_WORD},? (?:[A-Z]\.? )?{_WORD}"


@dataclass(frozen=True, slots=True)
class ParticipantDetail:
    """A detail, with the captions that ask for it."""

    captions: tuple[str, ...]
    value: str  # a regular expression; "" for a date
    is_specific: bool = True  # only the record of a participant asks for it


_DETAILS = (
    ParticipantDetail(
        ("patient name", "name of patient", "subject name", "name of subject"), _NAME
    ),
    # The participant may be a participant of a course.
    ParticipantDetail(("participant name", "name of participant"), _NAME, is_specific=False),
    ParticipantDetail(
        ("medical record number", "medical record no", "MRN", "hospital number", "patient ID"),
        r"(?=[\w-]*\d{4})[A-Z0-9-]{5,15}\b",
    ),
    ParticipantDetail(
        ("subject initials", "patient initials", "participant initials"),
        rf"(?!{_CAPTION})(?:[A-Z][.-]?){{2,3}}(?!\w)",
    ),
    ParticipantDetail(("date of birth", "birth date", "birthdate", "DOB"), "", is_specific=False),
)
_SOCIAL_SECURITY_NUMBER = ParticipantDetail(
    ("social security number", "social security no", "SSN"), r"\d{3}[ -]\d{2}[ -]\d{4}\b"
)


def check_participant_details(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield PHI_SUSPECTED for each page with details of a study participant."""
    for page in reading.pages:
        found = [detail for detail in _DETAILS if _is_filled_in(page, detail)]
        is_record = len(found) > 1 and any(detail.is_specific for detail in found)
        if is_record or _is_filled_in(page, _SOCIAL_SECURITY_NUMBER):
            yield RuleFinding("PHI_SUSPECTED", page.number, {"page": page.number})


def _is_filled_in(page: PageReading, detail: ParticipantDetail) -> bool:
    """Return whether a value stands to the right of a caption of the detail, or below it."""
    for caption in detail.captions:
        for span in geometry.find_phrase(page, caption):
            if _begins_with_value(geometry.words_right_of(page, span), detail):
                return True
            # After a colon, the value would be to the right.
            ends_with_colon = page.words[span.end - 1].text.endswith(":")
            if not ends_with_colon and _begins_with_value(geometry.words_below(page, span), detail):
                return True
    return False


def _begins_with_value(words: Sequence[Word], detail: ParticipantDetail) -> bool:
    text = " ".join(word.text for word in words)
    if detail.value:
        return re.match(_GAP + detail.value, text) is not None
    written = next(dates.find_dates(text), None)
    return written is not None and written.start <= _MAX_CAPTION_GAP


CHECKS_OF_ANY_FILE = (check_participant_details,)
