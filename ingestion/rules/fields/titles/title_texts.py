"""Cleans the text of the title of a study, and says whether a text may be one.

Quotation marks, numbers of the study and the words of a letter before a title do not belong to it.

This module is pure. It does not know document types.
"""

import re

from ingestion.rules.fields.titles import title_captions
from ingestion.rules.fields.titles.title_lines import OPEN_WORD

_OF_COMMITTEE = (  # before "approval" or "review"
    r"(?:(?:ethics?|ethical|irb|e?rec|reb|iec|hrec|erb|institutional|review|board|committee|research"
    r"|human|subjects?|initial|final|full|conditional|continuing|annual|expedited|exempt|favou?rable"
    r"|request|notice|notification|letter|certificate|your|the|of|for|new|amendment|application"
    r"|protocol|study|project)\s+)"
)
_OF_STUDY = (
    r"(?:(?:(?:the|your|a|an)\s+)?(?:[\w-]+\s+){0,2}?"
    r"(?:study|project|proposal|protocol|research|application|title)\b"
    r"(?:\s+(?:proposal|project|study|protocol))?)"
)
# The number of the study in brackets behind its title. Years such as "(2016-2019)" are none.
_NUMBER_BEHIND = re.compile(
    r"(?i)\s*[(\[](?:(?:our|ref|reference|irb|ec|e?rec|reb|hrec|protocol|study|project|application|file"
    r"|no|id|number)\b[\s.:#]*)*(?!(?:19|20)\d\d(?:\W(?:19|20)?\d\d)?[)\]])"
    r"(?=(?:[\w./ -]*?\d){3})(?-i:[A-Z]{2,6} )?(?:[\w-]*[./-])*[\w-]*\d[\w-]*(?:[./-][\w-]+)*[)\]]$"
)
# The student whose study it is, who may be a part of the title or not.
_STUDENT_AT_END = re.compile(r"(?i)\s*\((?:\S+\s)?(?:candidate|student)\b[^()]*\)$")
_INVESTIGATOR_AT_END = re.compile(
    r"(?i)\s*[(\[]\s*(?:P\.?I\.?|(?:(?:principal|chief|lead|responsible|main)\s)?"
    r"(?:investigator|researcher|applicant))\s?"
    r"(?:[:\u2013-]\s?|(?=(?:Dr|Prof|Professor|M(?:rs?|s|iss))\b))"
    r"[^()\[\]]{3,60}[)\]]$"
)
_NUMBER_AT_END = re.compile(
    r"(?i)\s*\((?:(?:protocol|study)\s)?version\s\d[^()]*\)$|\s*[,;\u2013-]\s*(?:protocol|study|version|ref(?:erence)?|irb|rec)"
    r"\s*(?:code|no\.?|number|id|\#|:)?\s*:?\s*(?=\S*\d\d)\S+(?:,.*)?$"
)
# The words before a title in the subject of a letter, and its number.
_BEFORE_TITLE = re.compile(
    r"(?i)^(?:\s*(?:(?:re|fwd?)\s*:|(?=[\w./-]*[a-z])[\w./-]*\d{3}[\w./-]*\s(?=(?-i:[^\W\da-z_])\w\w)|(?:(?:irb|rec|reb|study|project|protocol|research|application"
    r"|reference|file|ref|no|number|id)\b[.:]?\s*)+\#?\s*[\w./-]*\d[\w./-]*\s*(?:[,:\u2013\u2014]|-(?=\s)|(?=\())"
    r"|ethics application\s+[\w./-]*\d[\w./-]*\s*[,:\u2013-]"
    r"|\[[\w./ -]*\d[\w./ -]*\]|\((?:request|application) for [^()]{3,40}\)\s*:"
    r"|(?-i:[A-Z]{2,8}) (?=(?:[\w./-]*?\d){3})[\w./-]*\d[\w./-]*\s*(?:[,;:\u2013\u2014]|-(?=\s))"
    # The sponsor, and the number of the protocol
    r"|[^,;:\d]{2,50}(?:,\s(?:inc|ltd|llc)\.?)?\s[-\u2013]\s(?=[\w./-]*\d\d)(?-i:[A-Z0-9][A-Z0-9./-]{4,})[,:]\s"
    r"|(?=(?:[\w./#-]*?\d){3})[A-Z]{0,8}[#-]?[\w./-]*\d[\w./-]*\s*(?:[,:\u2013\u2014]|-(?=\s)|(?=\())"
    r"|(?:exempt|expedited|full board|initial|new|revision|modification|renewal)\s*[:\u2013-]"
    rf"|{_OF_COMMITTEE}{{0,4}}(?:(?:dis)?approval|clearance|permission|exemption)"
    rf"\s+(?:of|for|to)\s+{_OF_STUDY}?"
    rf"|{_OF_COMMITTEE}{{1,4}}(?:review|application|opinion|notification|determination)"
    rf"\s+(?:of|for|to)\s+{_OF_STUDY}?"
    rf"|(?:review|application|opinion|notification|determination)\s+(?:of|for|to)\s+{_OF_STUDY}"
    rf"|{_OF_COMMITTEE}{{0,4}}(?:approval|clearance|exemption|acknowledgement|acknowledgment|renewal|notification)"
    r"\s*[:,\u2013\u2014-](?=\s)"
    r"|(?:research|study|project|irb|protocol)\s+(?:title|proposal|project|study|protocol)"
    r"|(?:entitled|titled|title|called|on)\b)\s*[:,\u2013-]?\s*)+"
)
_NO_TITLE = re.compile(
    r"(?i)\b(?:approv(?:al|ed)|clearance|notice|notification|opinion|acknowledg|determination|exempt"
    r"|letter|submission|renewal|continuing review|amendment|expedited"
    r"|(?:decision|outcome|response)(?! (?:of|to|in|after|and|mak\w*)\b)"
    r"|(?:decision|outcome|response) (?:of|to|in|on) (?:the |your |our )*(?:review|application"
    r"|committee|ethic|board|irb|reviewer|quer|comment|stipulation))\b"
)
QUOTED = re.compile(
    r"[\u201c\u201e\u201f\"\u00ab](?P<double>[^\u201c\u201d\"\u00bb]{1,260})[\u201c\u201d\"\u00bb]"
    r"|(?<!\w)[\u2018'](?P<single>[^\u2018\n][^\u2018]{12,260}?)[\u2019'](?![\w])"
)
# The rest of a title that begins with a quotation, as in '"Who cares?" Moral distress in nurses'
# and 'The "Walk On" (WON) Trial: Exercise after stroke'.
_TITLE_BEHIND = re.compile(
    r":?\s(?:\([^()]{2,12}\)\s)?(?:(?-i:[^\W\d_a-z])[\w'\u2019-]*)(?::?\s[\w'\u2019-]+){2}"
)
_ARTICLE = re.compile(r"(?:(?:The|An?)\s)?")
_ETHICS_AT_END = re.compile(r"(?i)\bresearch ethics(?: application)?\W*$")
_MAX_SUBJECT_WORDS = 5  # of a subject that names a decision anywhere
_FIRST_WORDS = 3
MIN_WORDS = 2
_NUMBER_AT_START = re.compile(r"\W*(?:\S+ )?(?=(?:\S*\d){3})\S*[-/.]\S*\d\S*\s")
_RANK_OF_PERSON = re.compile(
    r"(?i)(?:(?:assistant|associate|full|senior|clinical|research)\s)*(?:dr|mrs?|ms|prof(?:essor)?"
    r"|lecturer|consultant|director|physician|fellow|student|chair(?:man|person)?)\b"
)
FOREIGN_WORDS = re.compile(
    r"(?i)\b(?:dear|thank you|(?:19|20)\d\d\. |(?:has|have|was|were) (?:been )?(?:reviewed|approved"
    r"|determined|submitted|considered)|acknowledges|principal investigator|consent form|version \d"
    r"|\d{1,2}(?:st|nd|rd|th)? (?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december) (?:19|20)\d\d"
    r"|\d{1,2}[/.-]\d{1,2}[/.-](?:19|20)\d\d)\b|^\W*\u2022"
)
_NAME_WORD = r"[^\W\d_a-z][\w.'\u2019-]*,?"
_INSTITUTION_WORD = (
    r"(?i:universit(?:y|\u00e9|\u00e4t|eit|at)|universidade?|college|institute?|instituut|instituto|istituto"
    r"|hospitals?|infirmary|clinics?|cent(?:re|er)s?|academy|trust|polytechnic|foundation|klinikum"
    r"|\w*ziekenhuis|hogeschool|hochschule)"
)
_INSTITUTION_ALONE = re.compile(
    rf"(?:The\s)?(?:{_NAME_WORD}\s(?:(?:of|the|and|&|de|der|du|la|van|von)\s){{0,2}}){{0,6}}"
    rf"(?:(?<=\s){_INSTITUTION_WORD}|{_INSTITUTION_WORD}\s(?i:of|for|de|van|voor|f\u00fcr)"
    rf"(?:\s(?:the|and|&|of|de|la)|\s{_NAME_WORD}){{1,7}})(?:\s\([A-Z]{{2,8}}\))?"
)
_OPEN_END = re.compile(rf"{OPEN_WORD.pattern}|[,:(]$")


def clean(text: str) -> str:
    """Return a title without quotation marks, numbers of the study and words before it."""
    plain = " ".join(text.split())
    is_part = False
    if quoted := QUOTED.search(plain):
        inner = quoted["double"] or quoted["single"]
        is_part = bool(
            _ARTICLE.fullmatch(plain[: quoted.start()])
            and _TITLE_BEHIND.match(plain[quoted.end() :])
        )
        if len(inner.split()) >= MIN_WORDS and quoted.start() < len(plain) / 2 and not is_part:
            plain = inner
    shorter = _BEFORE_TITLE.sub("", plain)
    plain = shorter if len(shorter.split()) >= MIN_WORDS else plain
    shorter = _NUMBER_AT_END.sub("", _NUMBER_BEHIND.sub("", _INVESTIGATOR_AT_END.sub("", plain)))
    plain = shorter if len(shorter.split()) >= MIN_WORDS else plain
    if re.fullmatch(r"\([^()]*\)", plain):
        plain = plain[1:-1]
    plain = plain.strip(" ,;:\u2013-" if is_part else " ,;:\u2013-\u201c\u201d\"\u2018\u2019'")
    if plain.endswith(".") and plain.count(".") == 1:
        plain = plain[:-1]
    return plain if sum(sign.isalpha() for sign in plain) > 3 else ""


def is_title_of_subject(title: str) -> bool:
    """Return whether the subject of a letter is a title, and not what the letter is about."""
    words = title.split()
    plain = [
        word for word in words if re.fullmatch(r"[^\W\d_]+[,:;'\u2019-]?[^\W\d_]*[,:;]?", word)
    ]
    decision = _NO_TITLE.search(title)
    is_decision = decision is not None and (
        len(words) <= _MAX_SUBJECT_WORDS or title.count(" ", 0, decision.start()) < _FIRST_WORDS
    )
    return len(plain) > MIN_WORDS and not is_decision and not _ETHICS_AT_END.search(title)


def may_be_cut(title: str) -> bool:
    """Return whether a title may lack its beginning, or have words that belong to something else.

    It begins with a small letter, or it contains a date, or a sentence of a letter. A single word,
    and the title of a person, are no titles of studies.
    """
    if len(title.split()) < MIN_WORDS or _RANK_OF_PERSON.match(title) or _OPEN_END.search(title):
        return True
    if _STUDENT_AT_END.search(title):
        return True
    return title[:1].islower() or FOREIGN_WORDS.search(title) is not None


def names_institution_only(title: str) -> bool:
    """Return whether a text has the form of the name of an institution, as "Ashby Hospital".

    A title that has this form, as "Hospital at Home", stands at a caption.
    """
    return _INSTITUTION_ALONE.fullmatch(title) is not None


def begins_with_number(title: str) -> bool:
    """Return whether a title begins with what may be the number of the study."""
    return _NUMBER_AT_START.match(title) is not None


def follows_caption(text: str, title: str) -> bool:
    """Return whether a title comes after the caption of a title in the order of the text."""
    flat = " ".join(text.split())
    at = flat.find(title)
    return at > 0 and title_captions.ends_with_caption(flat[:at])
