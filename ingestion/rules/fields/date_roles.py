"""What the dates of a document mean, by the words around them.

Institutions word the same date in many ways: "approved on", "the committee considered this at its
meeting of", "lapses on", "good until". A date has the role of the nearest word of such a group, in
its own clause: the text after the previous date and within the same sentence. No wording of an
institution is needed.

This module is pure. It knows neither document types nor pages.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ingestion.rules.fields.dates import WrittenDate, find_dates


class DateRole(StrEnum):
    """What a date is the date of."""

    DECISION = "decision"  #: of a committee or authority
    BEGINNING = "beginning"  #: of a validity
    END = "end"  #: of a validity
    COMPLETION = "completion"  #: of a course
    ISSUE = "issue"  #: of the document
    VERSION = "version"  #: of a document that the text names
    SUBMISSION = "submission"  #: of an application, or of a letter that is answered
    OTHER = "other"  #: a birth, a signature, a visit, a printout


# The beginnings of the words that show a role. In one caption, an earlier role is decisive.
_WORDS: dict[DateRole, str] = {
    DateRole.OTHER: r"born|birth|dob|sign(?:ed|ature)|printed|print date|generated|visit|accessed"
    r"|retrieved|enrol|omb\b|form (?:date|approved|version)|copyright|previous|prior"
    r"|original version",
    DateRole.END: r"expir|until|till\b|through\b|thru\b|valid to|valid up|end(?:s|ing|ed)?\b|laps"
    r"|no later than|due\b|before\b|deadline|renewal|renew by|next\b|clos(?:e|ing)|good for"
    r"|terminat|not (?:valid )?after|latest",
    DateRole.SUBMISSION: r"submi|recei(?:v|pt)|response|respond|request(?:ed)?\b|applied"
    r"|your (?:letter|email|e-mail|application|request)|(?:letter|email) (?:of|dated)",
    DateRole.VERSION: r"version|revis|draft|sheet|edition|(?:protocol|form) dated"
    r"|amendment \d+ dated|updated|modified|prepared|compiled|current as of",
    DateRole.COMPLETION: r"complet|pass(?:ed|ing)\b|earned|attend|finish|(?<!meeting )held"
    r"|tak(?:en|ing) part|took part|participat|achiev|trained|graduat",
    DateRole.DECISION: r"approv|clear(?:ed|ance)|grant|favou?rabl|determin|decision|decided|exempt"
    r"|certif|endors|accept|permission|permitted|authori[sz]|review|consider|meeting|met on|renewed"
    r"|opinion|ratif|sanction|agreed",
    DateRole.BEGINNING: r"effective|commenc|start|begin|from\b(?!:)|as of\b|with effect|in force"
    r"|valid\b|entered into|made (?:on|as of|this|effective)|agreement made|continu|initiat",
    DateRole.ISSUE: r"issu|award|present(?:ed)?\b|given\b|confer|dated\b|released",
}
_ROLE_WORD = re.compile(
    r"(?i)(?<!\w)(?:" + "|".join(f"(?P<{role}>{words})" for role, words in _WORDS.items()) + ")"
)
_WHOLE_ROLE_WORD = re.compile(rf"{_ROLE_WORD.pattern}\w*")
_CLAUSE_LENGTH = 140  # characters before a date in which its words are searched
_AFTER_LENGTH = 80  # characters after a date at the beginning of its sentence
_MAX_CAPTION_WORDS = 7
# A sentence ends, or a paragraph does. An abbreviation such as "No." ends none.
_SENTENCE_END = re.compile(r"(?<!\b[Nn]o)(?<!\bDr)(?<!\bSt)[.;?!](?=\s+[^\W\d_a-z])|\n\s*\n")
_RANGE = re.compile(r"(?i)^\s*(?:to|until|till|through|thru|and|[-\u2013\u2014])\s*$")
_UP_TO = re.compile(r"(?i)\bto\s*$")
# The other words of captions of dates.
_FILLER = re.compile(
    r"(?i)dates?|of|the|this|on|at|by|and|or|an?|in|for|to|as|is|was|has|been|your|our|irb|iec|reb|rec"
    r"|erb|hrec|ethics?|ethical|committee|board|institutional|research|study|project|protocol"
    r"|initial|final|original|current|full|last|period|course|training|certificate|learning|module"
    r"|stage|application|human|day|month|year|\d+"
)
_BETWEEN = re.compile(r"(?i)^[\W_]*(?:on|at|as of|date|dated|in|the|this|by|of|day)?[\W_]*$")
_IS_RANGE_OPEN = re.compile(r"(?i)(?:period|approv|valid|effective|from|duration|between)")


@dataclass(frozen=True, slots=True)
class DatedRole:
    """A date of a text with its role.

    `is_caption` if its clause is short and has no other words than captions of dates have.
    """

    written: WrittenDate
    role: DateRole | None
    is_caption: bool


def find_roles(text: str, *, month_first: bool | None) -> Iterator[DatedRole]:
    """Yield the dates of a text in order, each with its role, or None if no word shows one.

    `month_first` is the order of day and month in dates of numbers; see `dates.find_dates`.
    """
    previous: DatedRole | None = None
    for written in find_dates(text, month_first=month_first, short_years=True):
        start = max(previous.written.end if previous else 0, written.start - _CLAUSE_LENGTH)
        clause = text[start : written.start]
        if previous and _RANGE.match(clause) and previous.role in _OPEN_ROLES:
            found = DatedRole(written, DateRole.END, previous.is_caption)
        else:
            clause = _SENTENCE_END.split(clause)[-1]
            own_line = clause.rpartition("\n")[2]
            if own_line.rstrip().endswith(":"):
                clause = own_line
            is_caption = len(clause.split()) <= _MAX_CAPTION_WORDS
            role = _role_of_clause(clause, is_caption=is_caption)
            if role in _OPEN_ROLES and _UP_TO.search(clause):
                role = DateRole.END  # "approval continues to 30 June"
            if role in {None, DateRole.ISSUE} and _BETWEEN.match(clause):
                role = _role_after(text[written.end : written.end + _AFTER_LENGTH]) or role
            found = DatedRole(written, role, is_caption and not _has_other_words(clause))
        yield found
        previous = found


_OPEN_ROLES = frozenset({DateRole.DECISION, DateRole.BEGINNING, DateRole.ISSUE})


def role_of_caption(caption: str) -> DateRole | None:
    """Return the role that the words of a caption show, as in "REB approval date"."""
    return _role_of_clause(caption, is_caption=True)


def _role_of_clause(clause: str, *, is_caption: bool) -> DateRole | None:
    found = [DateRole(match.lastgroup) for match in _ROLE_WORD.finditer(clause) if match.lastgroup]
    if not found:
        return None
    if is_caption:
        return min(found, key=list(_WORDS).index)
    # "Dated" says less than the word before it.
    named = [role for role in found if role is not DateRole.ISSUE]
    if named and named[-1] is DateRole.BEGINNING and DateRole.DECISION in named:
        return DateRole.DECISION  # "approval commences on"
    return named[-1] if named else found[-1]


def _has_other_words(clause: str) -> bool:
    """Return whether a clause has words that captions of dates do not have."""
    return any(
        not _FILLER.fullmatch(word)
        for word in re.findall(r"\w+", _WHOLE_ROLE_WORD.sub(" ", clause))
    )


def _role_after(following: str) -> DateRole | None:
    """Return the role that the rest of a sentence shows, as in "On 2 June, the IRB approved"."""
    sentence = _SENTENCE_END.split(following)[0].partition("\n\n")[0]
    match = _ROLE_WORD.search(sentence)
    return DateRole(match.lastgroup) if match and match.lastgroup else None
