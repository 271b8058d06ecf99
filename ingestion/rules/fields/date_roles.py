"""Finds the meaning of the dates of a document by the words around them.

Institutions word the same date in many ways: "approved on", "the committee considered this at its
meeting of", "lapses on", "good until". A date has the role of the nearest word of such a group, in
its own clause: the text after the previous date and within the same sentence. No wording of an
institution is needed.

This module is pure. It knows neither document types nor pages.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from ingestion.rules.fields.dates import WrittenDate, find_dates


class DateRole(StrEnum):
    """Lists the events that a date may be the date of."""

    APPROVAL = "approval"  #: by a committee or authority
    DECISION = "decision"  #: of a committee or authority, whatever it decided
    EARLIER = "earlier"  #: of a decision before the one that the document is about
    REVIEW = "review"  #: on which a committee met or reviewed, whether it decided then or not
    BEGINNING = "beginning"  #: of a validity
    END = "end"  #: of a validity
    COMPLETION = "completion"  #: of a course
    ISSUE = "issue"  #: of the document
    VERSION = "version"  #: of a document that the text names
    SUBMISSION = "submission"  #: of an application, or of a letter that is answered
    SIGNATURE = "signature"  #: of a signature, beside which it stands
    OTHER = "other"  #: a birth, a visit, a printout


# The words between "initial" and "approval", as in "initial full board approval".
_WORDS_OF_EARLIER = (
    r"(?:(?:irb|iec|e?rec|reb|erb|hrec|board|committee|ethics?|ethical|study|full|project|protocol"
    r"|continuing|annual|date|of|the|given|a|its)\s)"
)
# What is due on a day on which no approval ends, as "a progress report is due by".
_OTHER_DEADLINE = (
    r"(?:(?:(?:progress|annual|final|interim|status|closure|safety)\s(?:\w+\s){0,2})?reports?"
    r"|respon(?:d|se)|repl(?:y|ies)|resubmi(?:t|ssion))\b"
    r"[^.;:\d]{0,60}?\b(?:due|no later than|before|until|deadline)\b"
)
# The blank form or the document that the document was made from, up to its own edition. A consent
# form is no blank form.
_OTHER_EDITION = (
    r"based\son\b[^\n;]{0,30}?\b(?:master|template|version|v\.?\s?\d)[^\n;]{0,40}"
    r"|(?<!in line with )templates?\b[^\n;]{0,40}"
    r"|(?:short|standard|blank)\sform\b[^\n;]{0,20}"
    r"|(?<!consent\s)(?<!information\s)form\s(?:no\.?\s)?(?!v\.?\d)[\w.-]*\d[\w.-]*\b[^\n;]{0,40}"
    r"\b(?:effectiv\w*|eff|rev|revised|version|ver|v\.?\s?\d+)\b"
)
_OTHER_EDITION_BEFORE = re.compile(rf"(?i)(?<!\w)(?:{_OTHER_EDITION})[^\n;.]{{0,20}}$")
# The numbered permission of an authority.
_OTHER_PERMISSION = (
    r"(?:permission|registration|licen[cs]e|notification)\s(?:letter\s)?(?:no|nr|number|ref)\b\.?"
    r"\s?:?\s?\S*\d\S*,?\s(?:dated|dt|of)\b"
)
# The beginnings of the words that show a role. In one caption, an earlier role is decisive.
_WORDS: dict[DateRole, str] = {
    DateRole.SIGNATURE: r"sign(?:ed|ature)(?!\s(?:the|this)\b)|certified by",
    DateRole.OTHER: r"born|birth|dob|printed|print date|generated|visit|accessed"
    r"|(?:results?|status|information|verified|verification|search)\s(?:\w+\s)?as of"
    r"|retrieved|enrol|omb\b"
    r"|(?<!consent )(?<!information )form (?:date|approved|version)|copyright|original version"
    r"|(?:previous|prior(?! to\b))(?:ly)?"
    r"(?:\s(?:approv\w*|expir\w*|renew\w*|review\w*|period|dates?|of|irb|study)\b){0,4}"
    r"|(?:would|should|could|might)(?:\sotherwise)?\shave(?:\s\w+){0,2}"
    r"|was\s(?:due|set|scheduled)\sto(?:\s\w+){0,2}"
    r"|(?:next|ratifying|subsequent|forthcoming|upcoming)\s(?:\w+\s){0,3}meeting"
    rf"|{_OTHER_DEADLINE}|{_OTHER_EDITION}|{_OTHER_PERMISSION}",
    DateRole.EARLIER: r"(?:first\s|(?:original|initial|last|earlier|most recent)(?:ly)?\s"
    rf"{_WORDS_OF_EARLIER}{{0,4}})"
    r"(?:approv|clear(?:ed|ance)|grant|favou?rabl|determin|decision|decided|exempt|renew|review"
    r"|opinion|accept|permission|authori[sz]|issu|register|registration|licen[cs])"
    r"|(?:study|project|trial)(?:,?\s(?:which|that)\s(?:\w+\s){0,3}|\sitself\s(?:was\s)?"
    r"|\s(?:was|had\sbeen)\s)approved",
    DateRole.END: r"end date (?:given )?(?:in|of) (?:your|the) (?:application|proposal|form)"
    r"|expir|exp\.|until|till\b|through\b|thru\b|valid to|valid up|up ?to\b"
    r"|end(?:s|ing|ed)?\b|laps"
    r"|no later than|due\b"
    r"|(?:before|prior to)\b(?! (?:the|our|this) (?:\w+ ){0,3}(?:committee|board|irb|iec)\b)"
    r"|ceas(?:e|ing)|runs?\sout|beyond\b"
    r"|continue\s(?:\w+\s){0,4}(?:after|past)\b|deadline|renew by|next\b|closure|clos(?:e|ing)"
    r"|good for|void (?:after|from)\b|still\s(?:\w+\s){1,4}(?:on|after)\b"
    r"|renewal(?!\s(?:was\s)?(?:approv|grant))"
    r"|terminat|not (?:\w+ )?after|latest",
    DateRole.SUBMISSION: r"submi|recei(?:ved|pt)|response|respond|applied"
    r"|request(?:ed)?\b(?!\s(?:(?:was|is|has been)\s)?(?:approv|grant|accept))"
    r"|your (?:letter|email|e-mail|application|request)|(?:letter|email) (?:of|dated)",
    DateRole.VERSION: r"version|v\.?\s?\d[\d.]*(?![^\W_])|ver\b|rev\b|revis|draft|sheet|edition"
    r"|(?:protocol|form) dated"
    r"|amendment \d+ dated|updated|modified|prepared|compiled|current as of",
    DateRole.COMPLETION: r"complet|pass(?:ed|ing)\b|earned|attend|finish|(?<!meeting )held"
    r"|took place|taken place|takes place"
    r"|examination"
    r"|tak(?:en|ing) part|took part|participat|achiev|trained|graduat"
    r"|dates?(?:\(s\))? of (?:the )?(?:training|course|workshop|seminar|webinar|session|exam)"
    r"|date of (?:the )?assessment"
    r"|(?:training|course|workshop|seminar|webinar|session|assessment|exam) date"
    r"|(?:semester|term|course|training|workshop|session),? end(?:ing|ed)\b",
    DateRole.APPROVAL: r"approv|clear(?:ed|ance)|grant|favou?rabl|exempt"
    r"|unobjectionable|no objections?\b|harmless"
    r"|certif(?!icate\b)|endors|permission|permitted|authori[sz]|renewed"
    r"|opinion|positive (?:advice|decision|vote)|ratif|sanction",
    DateRole.DECISION: r"(?:event|status)\sdate|determin|decision|decided|outcome|accept"
    r"|resol(?:ution|ved)|agreed|action\b|acknowledg|noted\b|deferr|declin|reject|refus|disapprov|voted\b"
    r"|vote (?:of|dated|(?:was|has been) (?:given|issued|passed|taken))\b",
    DateRole.REVIEW: r"review(?! (?:board|committee)\b)|consider|meeting|met on|discuss|tabled"
    r"|examined by|(?:placed|presented|brought) before",
    DateRole.BEGINNING: r"accreditation date|date of accreditation|accredited (?:on|from|since)\b"
    r"|effective|tak(?:e|es|ing)\seffect|commenc|start|begin|from\b(?!:)|as of\b"
    r"|with effect|in force|valid(?:ity)?\b|(?:period|term) of|period(?=\W*$)"
    r"|(?:insurance|cover|coverage|policy) period"
    r"|entered into|made (?:on|as of|this|effective)|agreement made|continu|initiat",
    DateRole.ISSUE: r"date of (?:this |the )?certificate|letter date|date of (?:this |the )?letter"
    r"|issu|award|present(?:ed)?\b|given\b|confer|dated\b|released",
}
_ROLE_WORD = re.compile(
    r"(?i)(?<!\w)(?:" + "|".join(f"(?P<{role}>{words})" for role, words in _WORDS.items()) + ")"
)
_WHOLE_ROLE_WORD = re.compile(rf"{_ROLE_WORD.pattern}\w*")
_CLAUSE_LENGTH = 140  # characters before a date in which its words are searched
_AFTER_LENGTH = 80  # characters after a date at the beginning of its sentence
_LONG_AFTER_LENGTH = 130  # the same if "on" stands before the date
_MAX_CAPTION_WORDS = 7
_MAX_SLASHED_CAPTION = 60  # characters
# A sentence ends, or a paragraph does. An abbreviation such as "No." ends none.
_SENTENCE_END = re.compile(r"(?<!\b[Nn]o)(?<!\bDr)(?<!\bSt)[.;?!](?=\s+[^\W\d_a-z])|\n\s*\n")
_RANGE = re.compile(r"(?i)^\s*(?:to|until|till|through|thru|and|[-\u2013\u2014~\u301c\uff5e])\s*$")
_UP_TO = re.compile(r"(?i)\bto\s*:?\s*$")
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
_CODE = re.compile(r"\S*\d\S*")  # the value of another caption in the line
_STAMP_LENGTH = 40  # characters before the date of a stamp
_ON_LENGTH = 18  # characters before a date in which a line with only "on" is searched
_TIME_LENGTH = 12  # characters after a date in which its time of day begins
_ONLY_ON = re.compile(
    r"(?i)\n\W*(?:on|dated?)\W*(?:\d{1,2}(?:st|nd|rd|th)?\s*(?:to|and|&|[-\u2013])\s*)?$"
)
_GOES_ON = re.compile(
    r"(?i)(?:\b(?:on|of|the|from|until|till|to|by|dated?|and|is|was|at|in|for)|[:,-])\s*$"
)
# The other words of captions of dates.
_FILLER = re.compile(
    r"(?i)dates?|of|the|this|on|at|by|and|or|an?|in|for|from|to|as|is|was|has|been|your|our|irb|iec|reb|rec"
    r"|erb|hrec|ethics?|ethical|committee|board|institutional|research|study|project|protocol"
    r"|initial|final|original|current|full|last|period|course|training|certificate|learning|module"
    r"|stage|application|human|day|month|year|\d+"
)
_BETWEEN = re.compile(r"(?i)^[\W_]*(?:on|at|as of|date|dated|in|the|this|by|of|day)?[\W_]*$")
# A line whose last words change the role of the words that follow in the next line.
_OPEN_LINE = re.compile(
    r"(?i)\b(?:would|should|could|might|otherwise|have|was|were|due|set|scheduled|to|been|will|be"
    r"|(?:original|initial|first|last|recent|previous|prior|next|ratifying)(?:ly)?)\s*$"
)
# What ends other than the approval of a study, in the sentence of a date.
_OTHER_VALIDITY = re.compile(
    r"(?i)\b(?:training|insurance|polic(?:y|ies)|indemnity|licen[cs]e|contract|agreement|password"
    r"|credentials?|registration|accredit(?:ed|ation)|clock|grant|funding|recordings?"
    r"|(?<!collect )(?<!collecting )data|link)\b"
    r"(?:\b[Nn]o\.|[^.;:\n]){0,50}$"
)
_MIN_WRAPPED_LINE = 60  # characters; a shorter line ends because the text does
_MAX_QUALIFIERS = 5  # words before a caption that may change its role
# What a committee did on the date before these words.
_DECIDES_THERE = re.compile(
    r"(?i)^[^.;:?!\d]{0,60}?\b(?:decided|voted|resolved|agreed|approved|renewed|determined|deferred"
    r"|rejected|declined|(?:gave|granted|did not (?:give|grant))\b[^.;:?!]{0,20}"
    r"\b(?:approval|opinion|permission|clearance)|did not approve)\b"
)
_AGAIN = re.compile(r"(?i)^,?\s*and\s+(?:again|finally|then)\s+on\s*$")
_ATTENDANCE = re.compile(r"(?i)\b(?:who\swere\spresent|present\sat\sthe|minutes)\b")
_IN_COMMAS = re.compile(r"(?i),\s+on\s+(?:the\s+)?$")
_ON = re.compile(r"\bOn\s+(?:the\s+)?$")
_PLACE = re.compile(r"[^\W\d_][\w .'-]{1,30},\s*")
_STAMP = re.compile(r"(?<!NOT )(?<!DIS)\bAPPROVED\W*\n\W*(?i:date|dated|on)\W*$")
_FUTURE = re.compile(
    r"(?i)\b(?:will|shall|must|should|is to|are to|has to|have to|can)\b(?:\s+\w+){0,2}?\s+"
    r"(?:\w+ed|review|consider|discuss|meet|ratify|decide)\b(?:\W+\w+){0,7}\W*$"
)
_PERIOD_FROM = re.compile(
    r"(?i)\b(?:valid(?:ity)?|period|term|in force|dates|runs)(?: of validity)? from\W*$"
)
_APPLICATION_ON = re.compile(r"(?i)your (?:application|request)\b[^,;]*\bon\W*$")


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
        elif previous and _RANGE.match(clause) and previous.role in _OPEN_ROLES:
            found = DatedRole(written, DateRole.END, previous.is_caption)
        elif previous and previous.role in _OF_COMMITTEE and _AGAIN.match(clause):
            following = text[written.end : written.end + _AFTER_LENGTH]
            role = _role_of_event(previous.role, clause, following)
            found = DatedRole(written, role, is_caption=False)
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
    has_time = _TIME_OF_DAY.match(text[written.end : written.end + _TIME_LENGTH]) is not None
    is_after_colon = own_line.rstrip().endswith(":")
    if is_after_colon or has_time:
        own = clause if is_after_colon and _is_open(text, written.start) else own_line
        clause = _CODE.split(own)[-1]  # with a time of day, it is that of an e-mail
    elif _ROLE_WORD.search(own_line) and not _is_open(text, written.start):
        clause = own_line
    ends_line = not text[written.end :].partition("\n")[0].strip()
    # A line to write on before a date leads to nothing.
    is_alone = ends_line and not own_line.strip(" _.\u2026") and not _GOES_ON.search(above)
    is_caption = len(clause.split()) <= _MAX_CAPTION_WORDS
    clause = _without_first_day(clause, is_caption=is_caption)
    role = _role_of_clause(clause, is_caption=is_caption)
    if role in _OPEN_ROLES and _UP_TO.search(clause):
        role = DateRole.END  # "approval continues to 30 June"
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
    is_caption = is_caption and not _has_other_words(clause)
    return DatedRole(written, role, is_caption, is_alone and not is_caption)


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
    is_of_course = _role_of_clause(before, is_caption=is_caption) in _OF_COURSE
    return before if is_of_course else clause


def _role_of_event(role: DateRole, clause: str, following: str) -> DateRole:
    """Return what a committee did on a date, by the words before and after it."""
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


_OPEN_ROLES = frozenset(
    {DateRole.APPROVAL, DateRole.DECISION, DateRole.REVIEW, DateRole.BEGINNING, DateRole.ISSUE}
)
_DECIDING = frozenset({DateRole.APPROVAL, DateRole.DECISION})
_OF_COURSE = frozenset({DateRole.COMPLETION, DateRole.ISSUE})
_OF_COMMITTEE = frozenset({DateRole.APPROVAL, DateRole.DECISION, DateRole.REVIEW})
_OTHER_EVENTS = frozenset({DateRole.EARLIER, DateRole.OTHER})


def role_of_caption(caption: str) -> DateRole | None:
    """Return the role that the words of a caption show, as in "REB approval date"."""
    role = _role_of_clause(caption, is_caption=True)
    return DateRole.END if role in _OPEN_ROLES and _UP_TO.search(caption) else role


def is_of_other_event(before: str, caption: str) -> bool:
    """Return whether the words before a caption change its role, as in "Original approval date"."""
    words = " ".join(_CODE.split(before)[-1].split()[-_MAX_QUALIFIERS:])
    return any(
        match.start() < len(words) < match.end() and DateRole(match.lastgroup) in _OTHER_EVENTS
        for match in _ROLE_WORD.finditer(f"{words} {caption}")
        if match.lastgroup
    )


def is_of_period(before: str) -> bool:
    """Return whether the words before a date say that it begins a period, as "valid from"."""
    return _PERIOD_FROM.search(before) is not None


def is_of_other_edition(before: str) -> bool:
    """Return whether the words before a date are about a template, or another document."""
    return _OTHER_EDITION_BEFORE.search(before) is not None


def is_of_other_validity(before: str) -> bool:
    """Return whether the words before a date are about the end of a training, or of a policy."""
    return _OTHER_VALIDITY.search(before) is not None


def _role_of_clause(clause: str, *, is_caption: bool) -> DateRole | None:
    if is_of_period(clause):
        return DateRole.BEGINNING
    words = [*_ROLE_WORD.finditer(clause)]
    if len(words) > 1 and _APPLICATION_ON.search(clause, words[-1].start()):
        words.pop()  # "reviewed your application to conduct the trial on 2 June"
    found = [DateRole(match.lastgroup) for match in words if match.lastgroup]
    if DateRole.REVIEW in found and found[-1] is DateRole.COMPLETION:
        found.pop()  # "the meeting was held on", "the review was completed on"
    if not found:
        return None
    if is_caption:
        return min(found, key=list(_WORDS).index)
    # "Dated" says less than the word before it, and "reviewed" less than "approved".
    named = [role for role in found if role is not DateRole.ISSUE]
    if named and named[-1] in {DateRole.REVIEW, DateRole.BEGINNING}:  # "approval commences on"
        return next((role for role in reversed(named) if role in _DECIDING), named[-1])
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
    found = [DateRole(each.lastgroup) for each in _ROLE_WORD.finditer(sentence) if each.lastgroup]
    if found and found[0] is DateRole.REVIEW:  # "the IRB reviewed and approved"
        return next((role for role in found[1:2] if role in _DECIDING), found[0])
    return found[0] if found else None
