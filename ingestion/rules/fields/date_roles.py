"""Finds the meaning of the dates of a document by the words around them.

A date has the role of the nearest word that shows one (`date_words`), in its own clause: the text
after the previous date and within the same sentence.

This module is pure. It knows neither document types nor pages.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ingestion.rules.fields.date_words import (
    CODE,
    OPEN_ROLES,
    ROLE_WORD,
    UP_TO,
    DateRole,
    has_other_words,
    role_of_caption,
    role_of_clause,
    role_of_sentence,
)
from ingestion.rules.fields.dates import WrittenDate, find_dates

_CLAUSE_LENGTH = 140  # characters before a date in which its words are searched
_AFTER_LENGTH = 80  # characters after a date at the beginning of its sentence
_LONG_AFTER_LENGTH = 130  # the same if "on" stands before the date
_MAX_CAPTION_WORDS = 7
_MAX_SLASHED_CAPTION = 60  # characters
# A sentence ends, or a paragraph does. An abbreviation such as "No." ends none.
_SENTENCE_END = re.compile(r"(?<!\b[Nn]o)(?<!\bDr)(?<!\bSt)[.;?!](?=\s+[^\W\d_a-z])|\n\s*\n")
_RANGE = re.compile(
    r"(?i)^\s*(?:to|until|till|through|thru|and|[-\u2013\u2014~\u301c\uff5e])\s*:?\s*$"
)
_DAYS_BEFORE = re.compile(
    r"(?i)(?:\bfrom\s+)?\b\d{1,2}(?:st|nd|rd|th)?\s*(?:to|and|&|till|[-\u2013])\s*$"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
# The first day of several, with its month and without a year.
_FIRST_DAY_BEFORE = re.compile(
    rf"(?i)\b(?:from\s+)?(?:\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}"
    rf"|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?)\s*(?:to|and|&|till|until|[-\u2013])\s*$"
)
_TIME_OF_DAY = re.compile(r"(?i)^,?\s*(?:at\s+)?\d{1,2}[:.]\d\d")
_STAMP_LENGTH = 40  # characters before the date of a stamp
_ON_LENGTH = 18  # characters before a date in which a line with only "on" is searched
_TIME_LENGTH = 12  # characters after a date in which its time of day begins
_ONLY_ON = re.compile(
    r"(?i)\n\W*(?:on|dated?)\W*(?:\d{1,2}(?:st|nd|rd|th)?\s*(?:to|and|&|[-\u2013])\s*)?$"
)
_ONLY_FROM = re.compile(r"(?i)\W*from\W*")  # below "APPROVED" in a stamp
_HEAD_OF_DATE = re.compile(r"(?i)\W*dates?\s\D{4,40}$")  # the line above
_GOES_ON = re.compile(
    r"(?i)(?:\b(?:on|of|the|from|until|till|to|by|dated?|and|is|was|at|in|for)|[:,-])\s*$"
)
_BETWEEN = re.compile(r"(?i)^[\W_]*(?:on|at|as of|date|dated|in|the|this|by|of|day)?[\W_]*$")
# A line whose last words change the role of the words that follow in the next line.
_OPEN_LINE = re.compile(
    r"(?i)\b(?:would|should|could|might|otherwise|have|was|were|due|set|scheduled|to|been|will|be"
    r"|(?:original|initial|first|last|recent|previous|prior|next|ratifying)(?:ly)?)\s*$"
)
_MIN_WRAPPED_LINE = 60  # characters; a shorter line ends because the text does
# What a committee did on the date before these words.
_DECIDES_THERE = re.compile(
    r"(?i)^(?:\.\s(?:the|it|they)\b)?[^.;:?!\d]{0,60}?\b(?:decided|voted|resolved|agreed|approved|renewed|determined|deferred"
    r"|rejected|declined|express(?:es|ed)\b[^.;:?!]{0,25}\bopinion"
    r"|(?:gives|gave|granted|did not (?:give|grant))\b[^.;:?!]{0,20}"
    r"\b(?:approval|opinion|permission|clearance)|did not approve)\b"
)
_AGAIN = re.compile(r"(?i)^,?\s*and\s+(?:again|finally|then)\s+on\s*$")
# The rest of the name of a file that has a date, as "consent_2024-04-22_clean.docx".
_FILE_NAME = re.compile(
    r"(?i)[\w().-]{0,40}\.(?:docx?|pdf|xlsx?|pptx?|rtf|odt|txt|zip|jpe?g|png)\b"
)
_ATTENDANCE = re.compile(r"(?i)\b(?:who\swere\spresent|present\sat\sthe|minutes)\b")
_EXTRACT = re.compile(r"(?i)\bextracts?\s(?:from|of)\b[^.;:\d]{0,30}\bminutes\b")
# A course that was given on the date behind these words, which say nothing else about it.
_COURSE_ON = re.compile(
    r"(?i)\b(?:course|training|workshop|seminar|webinar|lecture|tutorial|session)\b"
    r"[^.;:\n]{0,40}?,?\s(?:on|dated)\W*$"
)
_IN_COMMAS = re.compile(r"(?i),\s+on\s+(?:the\s+)?$")
_ON = re.compile(r"\bOn\s+(?:the\s+)?$")
_PLACE = re.compile(r"[^\W\d_][\w .'-]{1,30},\s*")
_STAMP = re.compile(
    r"(?<!NOT )(?<!DIS)\bAPPROVED(?:\W*\n\W*(?i:date|dated|on)"
    r"|(?: BY(?: [A-Z&.]+){1,5})?\s+AS (?:MODIFIED|SUBMITTED)"
    r"(?: ON)?)\W*$"
)
_FUTURE = re.compile(
    r"(?i)\b(?:will|shall|must|should|is to|are to|has to|have to|can)\b(?:\s+\w+){0,2}?\s+"
    r"(?:\w+ed|brought|put|review|consider|discuss|meet|ratify|decide)\b(?:\W+\w+){0,7}\W*$"
)
_NEXT_IN_LIST = re.compile(r"(?i)\s*(?:[,;&]|,?\s*and)\s*")  # between dates of one caption
_OF_OTHER_EVENT = frozenset(
    {DateRole.EARLIER, DateRole.OTHER, DateRole.SUBMISSION, DateRole.VERSION}
)
_OF_COURSE = frozenset({DateRole.COMPLETION, DateRole.ISSUE})
_OF_COMMITTEE = frozenset({DateRole.APPROVAL, DateRole.DECISION, DateRole.REVIEW})


class DatedRole(NamedTuple):
    """A date of a text with its role.

    `is_caption` if its clause is short and has no other words than captions of dates have.
    `is_alone` if it is all of its line, and nothing above leads to it.
    """

    written: WrittenDate
    role: DateRole | None
    is_caption: bool
    is_alone: bool = False


def find_roles(text: str, *, month_first: bool | None) -> Iterator[DatedRole]:
    """Yield the dates of a text in order, each with its role, or None if no word shows one.

    `month_first` is the order of day and month in dates of numbers; see `dates.find_dates`.
    """
    previous: DatedRole | None = None
    captions: list[str] = []
    for written in find_dates(text, month_first=month_first, short_years=True):
        clause = _text_before(text, written, previous)
        if (captions and clause.strip() == "/") or len(captions := split_caption(clause)) > 1:
            found = DatedRole(written, role_of_caption(captions.pop(0)), is_caption=True)
        elif previous and _RANGE.match(clause) and previous.role in OPEN_ROLES:
            found = DatedRole(written, DateRole.END, previous.is_caption)
        elif previous and previous.role in _OF_COMMITTEE and _AGAIN.match(clause):
            following = text[written.end : written.end + _AFTER_LENGTH]
            role = _role_of_event(previous.role, clause, following)
            found = DatedRole(written, role, is_caption=False)
        elif previous and previous.role in _OF_OTHER_EVENT and _NEXT_IN_LIST.fullmatch(clause):
            found = DatedRole(written, previous.role, previous.is_caption)
        elif _FILE_NAME.match(text, written.end):
            found = DatedRole(written, DateRole.VERSION, is_caption=False)
        else:
            found = _read_role(text, written, _SENTENCE_END.split(clause)[-1])
        yield found
        previous = found


def split_caption(clause: str) -> list[str]:
    """Return the captions that slashes separate, as "Approval / Expiry:"; none without a slash."""
    caption = clause.rpartition("\n")[2]
    is_caption = "/" in caption and caption.rstrip().endswith(":")
    return caption.split("/") if is_caption and len(caption) <= _MAX_SLASHED_CAPTION else []


def _text_before(text: str, written: WrittenDate, previous: DatedRole | None) -> str:
    """Return the text before a date, back to the previous date."""
    length = _CLAUSE_LENGTH
    if _ONLY_ON.search(text[max(0, written.start - _ON_LENGTH) : written.start]):
        length = 2 * length  # the clause is broken into several lines, as on a certificate
    start = max(previous.written.end if previous else 0, written.start - length)
    return text[start : written.start]


def _read_role(text: str, written: WrittenDate, clause: str) -> DatedRole:
    """Return the role of a date. `clause` is the text before it, within its sentence."""
    above, _, own_line = clause.rpartition("\n")
    goes_on = _GOES_ON.search(above) is not None
    has_time = _TIME_OF_DAY.match(text[written.end : written.end + _TIME_LENGTH]) is not None
    is_after_colon = own_line.rstrip().endswith(":")
    if is_after_colon or has_time:
        is_open = is_after_colon and _is_open(text, written.start)
        whole = clause if is_open or (goes_on and not own_line.strip()) else own_line
        clause = CODE.split(whole)[-1]  # with a time of day, it is that of an e-mail
    elif _is_own_clause(text, written, above, own_line):
        clause = own_line
    ends_line = not text[written.end :].partition("\n")[0].strip()
    # A line to write on before a date leads to nothing.
    is_alone = (
        ends_line
        and not own_line.strip(" _.\u2026")
        and not goes_on
        and not _HEAD_OF_DATE.match(above.rpartition("\n")[2])
    )
    is_caption = len(clause.split()) <= _MAX_CAPTION_WORDS
    clause = _without_first_day(clause, is_caption=is_caption)
    role = _role_before(clause, is_caption=is_caption)
    following = _text_behind(text, written)
    if role in _OF_COMMITTEE:
        role = _role_of_event(role, clause, following)
    # The date of a printout stands at the very beginning of a page.
    is_stamp = has_time or is_alone or (ends_line and is_after_colon) or not written.start
    is_at_start = _BETWEEN.match(own_line if own_line.strip() else clause) is not None
    if not is_stamp and role in {None, DateRole.ISSUE} and is_at_start:
        role = _role_after(following) or role
    role = (
        _role_in_commas(text, written, following)
        or _role_behind_place(role, own_line)
        or _role_in_stamp(text, written)
    )
    is_caption = is_caption and not has_other_words(clause)
    return DatedRole(written, role, is_caption, is_alone and not is_caption)


def _role_before(clause: str, *, is_caption: bool) -> DateRole | None:
    """Return the role that the words before a date show; "approval continues to" is an end."""
    role = role_of_clause(clause, is_caption=is_caption)
    if role is None and _COURSE_ON.search(clause):
        return DateRole.COMPLETION
    return DateRole.END if role in OPEN_ROLES and UP_TO.search(clause) else role


def _is_own_clause(text: str, written: WrittenDate, above: str, own_line: str) -> bool:
    """Return whether the lines above that of a date say nothing about it."""
    if not own_line.strip():
        return above.rstrip().endswith((".", "!", ")"))  # the sentence of the line above has ended
    has_role = ROLE_WORD.search(own_line) is not None and not _ONLY_FROM.fullmatch(own_line)
    return has_role and not _is_open(text, written.start)


def _text_behind(text: str, written: WrittenDate) -> str:
    """Return the text behind a date that may show its role."""
    is_on = _ON.search(text, max(0, written.start - _ON_LENGTH), written.start) is not None
    return text[written.end : written.end + (_LONG_AFTER_LENGTH if is_on else _AFTER_LENGTH)]


def _role_in_commas(text: str, written: WrittenDate, following: str) -> DateRole | None:
    """Return what a committee did on a date within a sentence, or None.

    As in "The Board has, on 3 May, approved the study".
    """
    before = text[max(0, written.start - _ON_LENGTH) : written.start]
    if not following.startswith(",") or not _IN_COMMAS.search(before):
        return None
    role = _role_after(following)
    return role if role in _OF_COMMITTEE else None


def _role_behind_place(role: DateRole | None, own_line: str) -> DateRole | None:
    """Return a role, but that of an issue for a course behind a place, as in "Oslo, 3 May"."""
    return DateRole.ISSUE if role is DateRole.COMPLETION and _PLACE.fullmatch(own_line) else role


def _role_in_stamp(text: str, written: WrittenDate) -> DateRole | None:
    """Return the role of a date below the word "APPROVED" of a stamp, or None."""
    before = text[max(0, written.start - _STAMP_LENGTH) : written.start]
    return DateRole.APPROVAL if _STAMP.search(before) else None


def _without_first_day(clause: str, *, is_caption: bool) -> str:
    """Return the text before the last day of several without the first one.

    "Held from 6th to 8th June" is about the course, and not about an end.
    """
    clause = _DAYS_BEFORE.sub(" ", clause)
    first_day = _FIRST_DAY_BEFORE.search(clause)
    before = clause[: first_day.start()] if first_day else ""
    is_of_course = role_of_clause(before, is_caption=is_caption) in _OF_COURSE
    return before if is_of_course else clause


def _role_of_event(role: DateRole, clause: str, following: str) -> DateRole:
    """Return what a committee did on a date, by the words before and after it."""
    if _EXTRACT.search(clause):
        return DateRole.DECISION  # of the meeting whose minutes have it
    if _FUTURE.search(clause) or (role is DateRole.REVIEW and _ATTENDANCE.search(clause)):
        return DateRole.OTHER
    if role is DateRole.REVIEW and _DECIDES_THERE.match(following):
        return DateRole.DECISION  # "at its meeting of 21 October the Board decided"
    return role


def _is_open(text: str, at: int) -> bool:
    """Return whether the line of a place continues the sentence of the line above it."""
    start = text.rfind("\n", 0, at) + 1
    above = text[text.rfind("\n", 0, max(start - 1, 0)) + 1 : max(start - 1, 0)]
    is_wrapped = len(above) >= _MIN_WRAPPED_LINE and text[start : start + 1].islower()
    return is_wrapped or _OPEN_LINE.search(above) is not None


def _role_after(following: str) -> DateRole | None:
    """Return the role that the rest of the sentence behind a date shows, or None."""
    return role_of_sentence(_SENTENCE_END.split(following)[0].partition("\n\n")[0])
