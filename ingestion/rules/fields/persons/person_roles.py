"""Finds the people whom a text names as investigators, by the words around a name.

"Conducted by Ann Smith", "Ann Smith, PhD (principal investigator)", "my name is Ann Smith and I am
a doctoral student" and "Researcher: Ann Smith" name the same person. A name counts if a word of the
role stands directly before or after it; a fixed wording is not needed.

This module is pure. It knows neither document types nor pages.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from ingestion.rules.fields.persons import person_names

_BEFORE_LENGTH = 70  # characters before a name in which its role is searched
_AFTER_LENGTH = 110  # characters after it
_MAX_NAMES = 80  # of a page; the limit bounds the time
_LEADING = (
    r"(?:principal|lead(?:ing)?|chief|primary|responsible|main|head|qualified|coordinating|overall)"
)
_KIND = r"(?:investigators?|researchers?|experimenters?|applicants?|scientists?)"
_NOT_SUB = (
    r"(?<![\w-])(?<!co-)(?<!co )(?<!sub-)(?<!sub )(?<!other )(?<!assistant )(?<!additional )"
    r"(?<!executive )(?<!executing )"
    r"(?<!further )"
)
_LEAD = (
    rf"{_NOT_SUB}(?:{_LEADING}\s+(?:\w+\s+)?{_KIND}|p\.?i\.?(?!\w)"
    r"|(?:the\s+)?(?:person|researcher|investigator) in charge"
    r"|(?:the\s+)?(?:person|researcher|scientist) responsible"
    r"|(?:study|trial)\s+(?:doctor|physician)"
    r"|(?:study|project|research|trial)\s+(?:lead(?:er)?|director|head|chair)|project\s+manager"
    r"|manager of the project"
    r"|responsible for (?:the|this) (?:study|project|research|trial)(?=\s*(?:[:\n(]|is\b))"
    r"|(?:responsible\s+)?(?:head|leader|lead|director) of (?:the\s+|this\s+)?"
    r"(?:study|project|research|trial|experiment)|under the responsibility of|responsible(?=:))"
)
_PLAIN = rf"{_NOT_SUB}(?:(?:study|site|clinical|project|faculty|named)\s+)?{_KIND}(?!-)"
_STUDENT = (
    r"(?<![\w-])(?:(?:phd|ph\.d\.?|doctoral|graduate|master'?s?|msc|ma|undergraduate"
    r"|postgraduate|research|final[- ]year)\s+)+(?:student|candidate|researcher|fellow|scholar)"
)
_ACTION = (
    r"(?:conduct(?:ing|ed|s)?|carr(?:y|ying|ied|ies)(?:\s+out)?|undertak(?:e|ing|en|es)"
    r"|lead(?:ing|s)?|led|direct(?:ing|ed|s)?|run(?:ning|s)?|perform(?:ing|ed|s)?|doing|done"
    r"|organi[sz](?:ing|ed|es)|investigating|inviting|invites|asking|proposed|designed|overseen)"
)
_LINK = (
    r"(?:'s|\u2019s)?(?:\s*\((?:s|pi|pis)\))?(?:[ \t]+names?)?"
    r"(?:\s+(?:for|of|in|on)\s+(?:this|the|our)\s+(?:current\s+|research\s+)?"
    r"(?:study|project|research|trial|work))?\s*(?:[:.,\u2013-]|\b(?:is|are|will be|was)\b|\n)?"
    r"\s*(?:the\s+|our\s+)?\(?\s*(?:(?:dr|drs|ir|ing|mr|prof|hab|n|med)\b\.?\s+){0,4}"
    r"(?:(?:(?:associate|assistant|full|senior)\s+)?(?:professor|lecturer)\s+)?$"
)
_NO_CAPTION = r"(?![^\n.]{0,25}:)"  # a colon shows that the name comes after the word of the role
RANK_OF_CONTACTS = 4
_RANK_OF_PARTIES = 1
_SIGNED = r"(?:signature of\s+|is\s+)?(?:the\s+)?"
_BEFORE = (
    (0, re.compile(rf"(?i){_LEAD}{_LINK}")),
    (1, re.compile(rf"(?i){_PLAIN}{_LINK}")),
    (1, re.compile(
        rf"(?i)\b{_ACTION}\s+(?:out\s+)?(?:jointly\s+)?by\s+(?:(?:the|a|an|our|us|me|you)\b[,\s]*)?"
        r"(?:(?:[a-z'\u2019-]+\s+){0,4}?(?:researchers?|investigators?|professors?|students?"
        r"|candidate|scientists?|team|group)[,:]?\s+)?$"
    )),
    (1, re.compile(r"(?i)(?:\bmy name is|\bi\s?['\u2019]?a?m|\bi,)\s+$")),
    (1, re.compile(r"[\u201d\"]\s+of\s+$")),
    (1, re.compile(r"[\u201d\"\u2019]\s*,?\s*(?:submitted\s+)?by\s+(?:M(?:rs?|s|iss)\.?\s+)?$")),
    (1, re.compile(
        r"(?i)\b(?:study|project|proposal|protocol|application|research)\s+(?:(?:was\s+)?submitted\s+)?"
        r"(?:by|(?<=proposal )of|(?<=application )of)\s+$"
    )),
    (1, re.compile(
        r"(?i)\bwho (?:runs|leads|(?:is|are) (?:running|leading|doing|conducting|organi[sz]ing))"
        r" (?:the|this) (?:study|research|project)\?\s*$"
    )),
    (1, re.compile(
        r"(?i)\bresponsible for (?:[\w-]+ ){0,4}?(?:study|research|project|trial) (?:is|are) "
        r"(?:[a-z-]+ ){0,4}$"
    )),
    (2, re.compile(rf"(?i){_STUDENT}{_LINK}")),
    (3, re.compile(r"(?i)\b(?:under the (?:direction|supervision|guidance) of|supervis(?:or|ed by))"
                   r"\s*:?\s*$")),
    (RANK_OF_CONTACTS, re.compile(
        r"(?i)\b(?:please\s+)?(?:contact|reach|email|e-mail|call|write to|approach|ask)"
        r"\s*(?:the researcher,?|:)?\s*$"
    )),
)  # fmt: skip
_AFTER = (
    (0, re.compile(
        rf"(?i)^[\s,(\u2013-]*(?:(?:[^.;:()]|(?<=[A-Z])\.){{0,50}}?(?:[,(\n]|\band\b)\s*)?{_SIGNED}"
        rf"(?:as\s+(?:the\s+)?)?{_LEAD}{_NO_CAPTION}"
    )),
    (1, re.compile(
        r"(?i)^,?\s+who\s+(?:(?:is|works)\b[^.;:()]{0,60}?\band\s+(?:who\s+)?)?(?:is\s+(?:in\s+charge\s+of|responsible\s+for|leading|conducting|running)"
        r"|leads|directs|runs|conducts)\s+(?:this|the|our)\s+(?:research|study|project|trial)\b"
    )),
    (1, re.compile(rf"(?i)^[\s,(\u2013-]*{_SIGNED}{_PLAIN}{_NO_CAPTION}")),
    (1, re.compile(
        rf"(?i)^(?:,?\s*\([^)]*\))?(?:,[^.;:?!]{{0,90}}?|\s+(?:and|&)\s[^.;:?!\n]{{3,40}}?)?"
        rf"\s+(?:is|are|am)\s+(?:currently\s+|now\s+)?{_ACTION}\b"
    )),
    (1, re.compile(
        r"(?i)^\s+(?:directs|leads|runs|heads|conducts)\s+(?:the|this|our|it|at)\b"
    )),
    (1, re.compile(
        rf"(?i)^\s+and\s+(?:\w+\s+){{0,3}}(?:team|colleagues|co-?workers)\b[^.;:]{{0,20}}?{_ACTION}"
    )),
    (0, re.compile(
        r"(?i)^[^.;:()]{0,90}\((?:(?:the|here\w*after)\b[^)]{0,20}|\W*(?:principal )?)investigator"
    )),
    (1, re.compile(
        r"(?i)^(?:[^.;:()]|\b(?:St|Ave|Rd|Blvd)\.){0,120}\(\W*(?:(?:the|here\w*after)\b[^)]{0,20})?\W*"
        r"(?:recipient|receiving party|physician|doctor)"
    )),
    (2, re.compile(rf"(?i)^[\s,(\u2013-]*(?:(?:is|am)\s+)?(?:an?\s+)?{_STUDENT}")),
)  # fmt: skip
# The beginning of some word of each pattern above, in a text from `_to_lower_case`. The search is
# fast because each choice begins with a letter, and because it does not ignore the case.
_ANY_ROLE = re.compile(
    r"investigat(?:or|ing)|researcher|experimenter|applicant|scientist|conduct|carr(?:y|ied|ies)"
    r"|undertak(?:e|ing)|lead|led|direct|run|perform|doing|done|organi[sz](?:ing|ed|es)"
    r"|invit(?:ing|es)|asking|proposed|designed|overseen|my name is|submitted|student|supervis"
    r"|contact|write to|e-?mail|reach\b|approach|ask\b|call\b|in charge|responsible"
    r"|doctor|physician|study by\b|project by\b|research by\b|manager"
    r"|head\b|p(?<!\wp)i\b|i(?<!\wi)['\u2019]?\s?a?m\b|[\u201d\"\u2019],? by\b|[\u201d\"] of\b"
    r"|recipient|receiving party"
)
# A party to an agreement, with its address, whom the agreement calls the investigator.
_PARTY = re.compile(
    r"(?i)[\s,]*(?:an?\s[^.;:()]{3,40},\s)?(?:with|having|whose|residing|located|working)\s"
    r"(?:an?\s|his\s|her\s)?(?:[\w-]+\s){0,3}?(?:address|offices?|place|practice|at)\b[^;:()]{0,180}"
    r"\(\W*(?:(?:the|here\w*after|referred to as)\b[^)]{0,20})?\W*"
    r"(?:(?:principal |clinical )?investigator|recipient|receiving party|physician|doctor)"
)
_HOUSE_NUMBER = re.compile(r"(?<![\w.])(?!(?:19|20)\d\d )\d{2,5} $")  # the street follows
# Before words that belong to the name of a place, an institution or a subject.
_IN_PHRASE = re.compile(
    r"(?i)\b(?:(?<!direction )(?<!supervision )(?<!guidance )(?<!proposal )"
    r"(?<!responsibility )(?<!application )(?<![\u201d\"] )of|in|at|for|on|the|into|via)\s+$"
)
# Before the names of people to whom a copy is sent, or who wrote the letter.
_COPY_TO = re.compile(r"(?i)(?:^|\n)\W*(?:cc\b[^\n]*|from\s?:\s*)$")
_HAS_TITLE = re.compile(r"\b(?:Dr|Prof|Professor|PD)\b|\b(?:Ph\.?\s?D|M\.?D)\b")
_ADDRESS = re.compile(
    r"(?i)@|^\W*\+?\d[\d ()/.-]{7,}$|\be-?mail\b|\btel\b|\bphone\b|department of|school of"
    r"|faculty of|p\.?\s?o\.?\s*box|professor|lecturer"
)
# The heading of a list of people of whom none is the investigator.
_OTHER_PEOPLE = re.compile(
    r"(?i)\b(?:members?\s(?:of\s[^.;:\n]{3,60}?\s)?(?:who\s)?(?:were\s|are\s)?"
    r"(?:present|attend(?:ed|ing)|participat(?:ed|ing))"
    r"|(?:list\sof|composition\sof|attended\sby)\s[^.;:\n]{0,40}\b(?:members|committee|board|panel)"
    r"|(?:committee|board|panel)\smembers(?:hip)?|(?:members|those)\s(?:in\sattendance|present)"
    r"|(?:other|additional|further|associate)\s(?:involved\s|participating\s)?"
    r"(?:investigators|researchers|students|collaborators|members)"
    r"|(?:following|these)\s(?:investigators|researchers|students|persons|people)\s"
    r"(?:(?:are|will\sbe)\s)?(?:also|further|additionally)\b"
    r"|co-?\s?(?:investigators|researchers))"
    r"\b[^.;:\n]{0,60}(?::|\n)"
)
_OTHER_PEOPLE_LENGTH = 900  # characters before a name in which such a heading is searched
# The first words of a paragraph behind such a list.
_BEHIND_LIST = re.compile(
    r"(?:^|[\n.])[ \t]*(?:Dear|Yours|We|The|This|These|You|Your|It|In|On|Please|Thank|I)\s"
    r"|\n[^\n:]{0,30}\b(?i:investigator|researcher|applicant|student)\b[^\n:]{0,20}:"
)
# The end of a line in a paragraph, without a caption in the line below. What is before it is
# examined last, because that takes longer.
_WRAPPED_LINE = re.compile(r"\n(?<=[^\n]{60}\n)(?=\S)(?![A-Z][^\n:.]{1,30}:\s)")
_NAME = re.compile(person_names.PATTERN)


# The roles of people who are no investigators, and of people who issue certificates.
_OF_COMMITTEE = (
    r"(?:vice-?\s?|deputy\s)?chair(?:man|person|woman)?\b|secretary|convenor|administrat(?:or|ive)"
    r"|co-?ordinator|(?:irb|rec|reb|ethics|compliance|regulatory|research)\s(?:\w+\s)?"
    r"(?:manager|officer|analyst|specialist|director)|registrar|(?:co|sub)-?\s?investigator"
    r"|monitor\b|clinical research associate|supervis(?:or|ed)|advis[eo]r|witness|on behalf of"
)
_OF_ISSUER = (
    rf"(?:{_OF_COMMITTEE}|(?:(?:programme?|course|training|education|executive|medical|managing"
    r"|academic)\s)?director\b|instructor|trainer|facilitator|tutor|lecturer|president"
    r"|dean|principal\b(?! investigator)|chief executive|provost)"
)


def _compile_role(role: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for a role before a name, and behind it or in the line below it."""
    return (
        re.compile(rf"(?i)\b{role}(?:\s(?:of|for)\s[^\n:]{{0,30}})?\s?[:,\n]\s*$"),
        re.compile(
            rf"(?i)[\s,(\u2013-]*(?:[\w&.'\u2019-]+[ ,]){{0,4}}?{role}[^\n:]{{0,40}}(?:\n|$)"
        ),
    )


_COMMITTEE_MEMBER = _compile_role(rf"(?:{_OF_COMMITTEE})")
_ISSUER = _compile_role(_OF_ISSUER)


@dataclass(frozen=True, slots=True)
class PersonInRole:
    """A name of a text. `rank` is smaller the more the words around it say."""

    name: str
    rank: int  # 0: principal investigator; 1: researcher; 2: student; 3: supervisor; 4: contact


def find_investigators(text: str) -> Iterator[PersonInRole]:
    """Yield the full names of a text beside which words of an investigator's role stand."""
    if not _ANY_ROLE.search(_to_lower_case(text)):
        return
    text = text.replace("_", " ")  # of lines to write on
    text = _WRAPPED_LINE.sub(" ", text)
    lower = _to_lower_case(text)
    examined = 0
    for match in _NAME.finditer(text):
        around = lower[max(0, match.start() - _BEFORE_LENGTH) : match.end() + _AFTER_LENGTH]
        is_party = _PARTY.match(text, match.end()) is not None
        if not is_party and not _ANY_ROLE.search(around):
            continue
        start, name = _plain_name(match)
        if not name:
            continue
        examined += 1
        if examined > _MAX_NAMES:
            return
        rank = _rank_of(text, start, start + len(name), is_party=is_party)
        if rank is not None and not (rank and _is_among_others(text, start)):
            yield PersonInRole(name, rank)


def _rank_of(text: str, start: int, end: int, *, is_party: bool) -> int | None:
    """Return the rank of the name at a place of a text, or None if no role stands beside it.

    A party to an agreement whom it calls the investigator has the rank of a researcher.
    """
    before = text[max(0, start - _BEFORE_LENGTH) : start]
    if _IN_PHRASE.search(before) or _COPY_TO.search(before) or _HOUSE_NUMBER.search(before):
        return None
    after = text[end : end + _AFTER_LENGTH]
    ranks = [rank for rank, pattern in _BEFORE if pattern.search(before)]
    ranks += [rank for rank, pattern in _AFTER if pattern.search(after)]
    return min(ranks, default=_RANK_OF_PARTIES if is_party else None)


def _is_among_others(text: str, start: int) -> bool:
    """Return whether a name stands in a list of members of a committee or of other researchers."""
    before = text[max(0, start - _OTHER_PEOPLE_LENGTH) : start]
    headings = [*_OTHER_PEOPLE.finditer(before)]
    return bool(headings) and not _BEHIND_LIST.search(before, headings[-1].end())


def has_other_role(text: str, name: str, *, is_holder: bool) -> bool:
    """Return whether a name stands only beside or above words of a role that is not wanted.

    That is a role of a committee; for the holder of a certificate, also that of its issuer.
    """
    before, after = _ISSUER if is_holder else _COMMITTEE_MEMBER
    spans = [match.span() for match in islice(re.finditer(re.escape(name), text), _MAX_NAMES)]
    return bool(spans) and all(
        before.search(text[max(0, start - _BEFORE_LENGTH) : start])
        or after.match(text[end : end + _AFTER_LENGTH])
        for start, end in spans
    )


def _to_lower_case(text: str) -> str:
    """Return a text in the lower case of case-insensitive matching, with the same length."""
    lower = text.replace("\u0130", "i").lower()
    return lower.replace("\u0131", "i").replace("\u017f", "s")


def find_people_in_head(lines: Sequence[str]) -> Iterator[str]:
    """Yield the names that are a line of their own, with a title or with an address below."""
    for line, below in pairwise([*lines, ""]):
        if _CLOSING.match(line):
            return
        name = person_names.find_name_line(line)
        if name and (_HAS_TITLE.search(line) or _ADDRESS.search(below)):
            yield name


_CLOSING = re.compile(  # the signature of a letter follows
    r"(?i)^(?:yours|sincerely|respectfully|(?:kind|best|warm|with)\b.*\b(?:regards|wishes)|regards"
    r"|thanking you|on behalf of)\b"
)
_LEADING_WORDS = re.compile(
    r"^(?:The|This|Contact|And|By|Is|I|Am|Name|Please|Dear|To|From|Yours|Sincerely|I['\u2019]m),?\s+"
)


def _plain_name(match: re.Match[str]) -> tuple[int, str]:
    """Return the place and the text of a full name, or "" if the words are no name."""
    text, start = match[0], match.start()
    while leading := _LEADING_WORDS.match(text):
        text, start = text[leading.end() :], start + leading.end()
    name = person_names.trim(text)
    if not re.fullmatch(person_names.PATTERN, name) or person_names.names_place(text, name):
        return start, ""
    if not person_names.is_full_name(name) or not person_names.may_be_name(name):
        return start, ""
    return start, name
