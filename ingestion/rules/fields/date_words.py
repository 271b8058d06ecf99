"""Lists the words that show what a date is the date of, in a caption and in a sentence.

Institutions word the same date in many ways: "approved on", "the committee considered this at its
meeting of", "lapses on", "good until". No wording of an institution is needed.

This module is pure. It knows neither document types nor pages.
"""

import re
from enum import StrEnum


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
    r"|(?<!consent\s)(?<!information\s)form[\s-](?:no\.?\s)?(?!v\.?\d)[\w.-]*\d[\w.-]*\b[^\n;]{0,40}"
    r"\b(?:effectiv\w*|eff|rev|revised|version|ver|v\.?\s?\d+)\b"
)
_OTHER_EDITION_BEFORE = re.compile(rf"(?i)(?<!\w)(?:{_OTHER_EDITION})[^\n;.]{{0,20}}$")
# The numbered permission of an authority.
_OTHER_PERMISSION = (
    r"(?:DCGI|CDSCO|FDA|MHRA|TGA)\s(?:approval|clearance|permission)\b[^.;\n]{0,40}?\bdated\b"
    r"|waiver\sof\b[^.;:\d]{0,60}?\bgranted\b"
    r"|provisional\sopinion\swas\s(?:issued|given)"
    r"|permission\s(?:\S+\s){1,2}no\.?\s\S*\d\S*,?\s(?:dated|dt)\b"
    r"|(?:permission|registration|licen[cs]e|notification)\s(?:letter\s)?(?:no|nr|number|ref)\b\.?"
    r"\s?:?\s?\S*\d\S*,?\s(?:dated|dt|of)\b"
)
# The beginnings of the words that show a role. In one caption, an earlier role is decisive.
_WORDS: dict[DateRole, str] = {
    DateRole.SIGNATURE: r"sign(?:ed|ature)(?!\s(?:the|this)\b)|certified by",
    DateRole.OTHER: r"(?:project|study|research|trial|recruitment)\s(?:start|commencement)\b"
    r"(?:\sdate)?"
    r"|dates?\sof\s(?:service|admission|discharge|surgery)(?:\s(?:from|between))?"
    r"|born|birth|dob|printed|print date|generated|visit|accessed"
    r"|(?:results?|status|information|verified|verification|search)\s(?:\w+\s)?as of"
    r"|retrieved|enrol|omb\b"
    r"|(?<!consent )(?<!information )form (?:date|approved|version)|copyright|original version"
    r"|(?:previous|prior(?! to\b))(?:ly)?"
    r"(?:\s(?:approv\w*|expir\w*|renew\w*|review\w*|period|dates?|of|irb|study)\b){0,4}"
    r"|(?:would|should|could|might)(?:\sotherwise)?\shave(?:\s\w+){0,2}"
    r"|was\s(?:due|set|scheduled)\sto(?:\s\w+){0,2}|scheduled (?:for|on)\b"
    r"|(?:next|ratifying|subsequent|forthcoming|upcoming)\s(?:\w+\s){0,3}meeting"
    r"|^due(?:\s(?:date|on|by))?\W*$"
    rf"|{_OTHER_DEADLINE}|{_OTHER_EDITION}|{_OTHER_PERMISSION}",
    DateRole.EARLIER: r"(?:first\s|(?:original|initial|last|earlier|most recent)(?:ly)?\s"
    rf"{_WORDS_OF_EARLIER}{{0,4}})"
    r"(?:approv|clear(?:ed|ance)|grant|favou?rabl|determin|decision|decided|exempt|renew|review"
    r"|opinion|accept|permission|authori[sz]|issu|register|registration|licen[cs])"
    r"|(?:study|project|trial)(?:,?\s(?:which|that)\s(?:\w+\s){0,3}|\sitself\s(?:was\s)?"
    r"|\s(?:was|had\sbeen)\s)approved",
    DateRole.END: r"(?:end|expir\w*)\sdate\sof\s(?:\w+\s){0,4}?approval\b"
    r"|end date (?:given |(?:which |that )?you (?:gave|stated) )?(?:in|of)"
    r" (?:your|the) (?:application|proposal|form)"
    r"|expir|exp\.|until|till\b|through\b|thru\b|valid to|valid up|up ?to\b"
    r"|end(?:s|ing|ed)?\b|laps"
    r"|no later than|due\b"
    r"|(?:before|prior to)\b(?! (?:the|our|this) (?:\w+ ){0,3}(?:committee|board|irb|iec)\b)"
    r"|ceas(?:e|ing)|runs?\sout|beyond\b"
    r"|continue\s(?:\w+\s){0,4}(?:after|past)\b|deadline|renew by|next\b|closure|clos(?:e|ing)"
    r"|good for|renew(?:ed|al)?\s(?:\w+\s){0,2}(?:by|before)\W*$"
    r"|renewed,?\s(?:which\s)?(?:remains|is\sstill)\W*$|void (?:after|from)\b"
    r"|still\s(?:\w+\s){1,4}(?:on|after)\b"
    r"|re-?training\s(?:is\s)?(?:required|due)|re-?certification\s(?:is\s)?(?:required|due)"
    r"|(?<!on )(?<!application for )renewal(?!\s(?:was\s)?(?:approv|grant)"
    r"|\s(?:form|request|application|submission|is)\b)"
    r"|terminat|not (?:\w+ )?after|latest",
    DateRole.SUBMISSION: r"submi|recei(?:ved|pt)|response|respond|applied"
    r"|request(?:ed)?\b(?!\s(?:(?:was|is|has been)\s)?(?:approv|grant|accept))"
    r"|your (?:letter|email|e-mail|application|request)|(?:letter|email) (?:of|dated)",
    DateRole.VERSION: r"version|v\.?\s?\d[\d.]*(?![^\W_])|ver\b|rev\b|revis|draft|sheet|edition"
    r"|(?:protocol|form) dated"
    r"|amendment \d+ dated|updated|(?<!as )modified|prepared|compiled|current as of",
    DateRole.COMPLETION: r"complet|pass(?:ed|ing)\b|earned|attend|finish|(?<!meeting )held"
    r"|took place|taken place|takes place"
    r"|examination"
    r"|tak(?:en|ing) part|took part|participat|achiev|trained|graduat"
    r"|dates?(?:\(s\))? of (?:the )?(?:training|course|workshop|seminar|webinar|session|exam)"
    r"|dates? of (?:the |this )?(?:final |online |knowledge )?(?:assessment|tests?\b|quiz)"
    r"|(?:training|course|workshop|seminar|webinar|session|assessment|exam|test|quiz) date"
    r"|(?:semester|term|course|training|workshop|session),? end(?:ing|ed)\b",
    DateRole.APPROVAL: r"approv|clear(?:ed|ance)|grant|favou?rabl|exempt"
    r"|unobjectionable|no objections?\b|harmless"
    r"|certif(?!icate\b)|endors|permitted|authori[sz]|renewed"
    r"|(?<!parent )(?<!parental )(?<!parents' )permission(?! (?:letter|slip|form)\b)"
    r"|opinion|positive (?:advice|decision|vote)|ratif|sanction",
    DateRole.DECISION: r"(?:event|status)\sdate|determin|judgment|judgement|decision|decided"
    r"|outcome|accept|dates? of (?:the |this |our )?advice|advice (?:date|issued|given)"
    r"|resol(?:ution|ved)|agreed|action\b|acknowledg|noted\b|deferr|declin|reject|refus|disapprov|voted\b"
    r"|vote (?:of|dated|(?:was|has been) (?:given|issued|passed|taken))\b",
    DateRole.REVIEW: r"(?<!chart )(?<!record )(?<!records )(?<!literature )"
    r"review(?! (?:board|committee)\b)|consider|meeting|met on|discuss|tabled"
    r"|(?<!participated )(?<!part )(?:in|at|during) (?:the|its|our|a) (?:\w+ ){0,2}?"
    r"(?:session|sitting) (?:of|on|held)\b"
    r"|examined by|(?:placed|presented|brought) before",
    DateRole.BEGINNING: r"accreditation date|date of accreditation|accredited (?:on|from|since)\b"
    r"|effectiv|tak(?:e|es|ing)\seffect|commenc|start|begin|from\b(?!:)|as of\b"
    r"|with effect|in force|valid(?:ity)?\b|(?:period|term) of|period(?=\W*$)"
    r"|(?:insurance|cover|coverage|policy) period"
    r"|entered into|made (?:on|as of|this|effective)|agreement made|continu|initiat",
    DateRole.ISSUE: r"date of (?:this |the )?certificate|letter date|date of (?:this |the )?letter"
    r"|issu|award|present(?:ed)?\b|given\b|confer|dated\b|released",
}
ROLE_WORD = re.compile(
    r"(?i)(?<!\w)(?:" + "|".join(f"(?P<{role}>{words})" for role, words in _WORDS.items()) + ")"
)
_WHOLE_ROLE_WORD = re.compile(rf"{ROLE_WORD.pattern}\w*")
UP_TO = re.compile(r"(?i)\bto\s*:?\s*$")
CODE = re.compile(r"\S*\d\S*")  # the value of another caption in the line
# The other words of captions of dates.
_FILLER = re.compile(
    r"(?i)dates?|of|the|this|on|at|by|and|or|an?|in|for|from|to|as|is|was|has|been|your|our|irb|iec|reb|rec"
    r"|erb|hrec|ethics?|ethical|committee|board|institutional|research|study|project|protocol"
    r"|initial|final|original|current|full|last|period|course|training|certificate|learning|module"
    r"|stage|application|human|day|month|year|\d+"
)
# What ends other than the approval of a study, in the sentence of a date.
_OTHER_VALIDITY = re.compile(
    r"(?i)\b(?:training|insurance|polic(?:y|ies)|indemnity|licen[cs]e|contract|agreement|password"
    r"|credentials?|registration|accredit(?:ed|ation)|clock|grant|funding|recordings?"
    r"|(?<!collect )(?<!collecting )data|link)\b"
    r"(?:\b[Nn]o\.|[^.;:\n]){0,50}$"
)
_MAX_QUALIFIERS = 5  # words before a caption that may change its role
_PERIOD_FROM = re.compile(
    r"(?i)\b(?:valid(?:ity)?|effective|period|term|in force|dates|runs)(?: of validity)?"
    r"(?:(?<!approval period):)? from\W*$"
)
_PERIOD_BEFORE = re.compile(  # the period that a renewal follows
    r"(?i)\b(?:previous|prior|former|last|old|earlier|expiring)\s(?:[\w-]+\s){0,4}?"
    r"(?:period|validity|approval|term)\b[^.;\n\d]{0,20}$"
)
_APPLICATION_ON = re.compile(r"(?i)your (?:application|request)\b[^,;]*\bon\W*$")
# The day of such an event may be the first one of a period.
OPEN_ROLES = frozenset(
    {DateRole.APPROVAL, DateRole.DECISION, DateRole.REVIEW, DateRole.BEGINNING, DateRole.ISSUE}
)
_DECIDING = frozenset({DateRole.APPROVAL, DateRole.DECISION})
_OTHER_EVENTS = frozenset({DateRole.EARLIER, DateRole.OTHER})


def role_of_caption(caption: str) -> DateRole | None:
    """Return the role that the words of a caption show, as in "REB approval date"."""
    if caption.strip(" :").casefold() == "to":
        return DateRole.END  # of a period, below the caption "from"
    role = role_of_clause(caption, is_caption=True)
    return DateRole.END if role in OPEN_ROLES and UP_TO.search(caption) else role


def role_of_clause(clause: str, *, is_caption: bool) -> DateRole | None:
    """Return the role that the words before a date show, or None.

    In a caption, the most decisive of them counts; in a sentence, the last one that says enough.
    """
    if is_of_period(clause):
        return DateRole.BEGINNING
    words = [*ROLE_WORD.finditer(clause)]
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


def role_of_sentence(sentence: str) -> DateRole | None:
    """Return the role that the rest of a sentence shows, as in "On 2 June, the IRB approved"."""
    found = [DateRole(each.lastgroup) for each in ROLE_WORD.finditer(sentence) if each.lastgroup]
    if found and found[0] is DateRole.REVIEW:  # "the IRB reviewed and approved"
        return next((role for role in found[1:2] if role in _DECIDING), found[0])
    return found[0] if found else None


def has_other_words(clause: str) -> bool:
    """Return whether a clause has words that captions of dates do not have."""
    return any(
        not _FILLER.fullmatch(word)
        for word in re.findall(r"\w+", _WHOLE_ROLE_WORD.sub(" ", clause))
    )


def is_of_other_event(before: str, caption: str) -> bool:
    """Return whether the words before a caption change its role, as in "Original approval date"."""
    words = " ".join(CODE.split(before)[-1].split()[-_MAX_QUALIFIERS:])
    return any(
        match.start() < len(words) < match.end() and DateRole(match.lastgroup) in _OTHER_EVENTS
        for match in ROLE_WORD.finditer(f"{words} {caption}")
        if match.lastgroup
    )


def is_of_period(before: str) -> bool:
    """Return whether the words before a date say that it begins a period, as "valid from"."""
    return _PERIOD_FROM.search(before) is not None and not _PERIOD_BEFORE.search(before)


def is_of_other_edition(before: str) -> bool:
    """Return whether the words before a date are about a template, or another document."""
    return _OTHER_EDITION_BEFORE.search(before) is not None


def is_of_other_validity(before: str) -> bool:
    """Return whether the words before a date are about the end of a training, or of a policy."""
    return _OTHER_VALIDITY.search(before) is not None
