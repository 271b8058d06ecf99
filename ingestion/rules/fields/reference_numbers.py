"""Finds the numbers by which a committee or an institution names a study, by any caption.

"IRB #", "Our Ref", "Ethics ID", "HIC No" and "Project ID" are captions of the same number, and each
institution has its own. A number belongs to a study if it has the form of a reference, and if no
word before it names something else, such as a telephone, a grant or a section.

This module is pure. It knows neither document types nor pages.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from ingestion.rules.fields.dates import find_dates

RANK_OF_REGISTERS = 3  # of a number of a public register, or without a caption
_MIN_DIGITS = 3
_MIN_BARE_DIGITS = 4  # of a code without a caption
_MAX_WORDS_BEFORE_CODE = 2
_MAX_NUMBERS = 60  # of a page that are examined; the limit bounds the time
_BEFORE_LENGTH = 70  # characters before a number in which its caption is searched
_AFTER_LENGTH = 12  # characters after a number in which its line may end
_NUMBER = re.compile(
    r"(?<![\w@.,/$\u00a3\u20ac+-])(?=[\w./-]*\d|[A-Z]{2,6} \d{1,2} ?\()(?P<number>"
    r"(?:19|20)\d\d [A-Z]{2,6} \d{3,6}|[A-Z]{2,6} \d{1,2} ?\([a-z]{1,3}\) ?\d[\d/]*\d"
    r"|[A-Z0-9]\w*(?:[./_-]\w+)*"
    r"(?: \(\d+\)| \([A-Z]?\d{4}[:/-]\d{2,4}\)"
    r"| (?:- )?(?!\d{1,2}[./-]\d{1,2}[./-]\d{2,4})\d{2,6}\b(?![ -]?[A-Za-z%]))*)"
    r"(?![\w@%]|[.,]\d)"
)
_WITH_LETTER = re.compile(r"\d ?\([a-z]{1,3}\)")  # as in "ABC 4 (k) 03/12/18", which is no date
_CODE_WITH_DATE = re.compile(r"(?:[A-Z]{2,}[-/]){1,2}\d")  # as in "ABC-HUM-23.09.17"
_CODE = re.compile(r"(?<![\w./-])(?=[\w./-]*\d)[^\W_]+(?:[-./][^\W_]+)*(?![\w/])")
_SIGN = re.compile(
    r"(?i)(?:\#|\bn(?:[o\u00ba\u00b0]\b\.?|\.(?=\s|$))|\bdnr\b\.?|\bcaae\b|\bnr\b\.?|\bnumbers?\b|\bids?\b|\bref\b\.?|\breference\b"
    r"|\bcode\b|:|\bis\b)[\s.:#\u2116(\[]*$"
)
_OF_OTHER_REGISTER = re.compile(
    r"(?i)\b(?:charity|company|vat|tax|provider|sponsor|business|firm|irb|fwa|(?:tele)?phone|cpd|cme)\b"
)
_STUDY = re.compile(r"(?i)\b(?:protocol|study|project|trial|research|proposal)\b")
_COMMITTEE = re.compile(
    r"(?i)\b(?:irb|iec|e?rec|reb|erb|hrec|ethics?|ethical|approval|clearance|ref|reference|file"
    r"|application|submission|record|log|case|permit|certificate|tracking|committee|board|review"
    r"|our|determination|exemption|dossier|dnr|caae|comitato|comit[e\u00e9]|ethik\w*|votum)\b"
)
_REGISTER = re.compile(
    r"(?i)\b(?:iras|clinicaltrials|eudamed|eudract|eu ct|ctis|ctri|portal|registry)\b"
)  # of many institutions
_REGISTERED_BOARD = re.compile(r"(?:IRB|IORG)\d{8}")  # or a study of some institutions
_OF_OFFICE = re.compile(r"(?i)^\W*(?:our|your)\s+ref")  # of a letter, and not of a study
_OF_ADDRESSEE = re.compile(r"(?i)^\W*your\s+ref")
_OF_PLACE = re.compile(r"(?i)^\W*local\b")  # of one site, as "Local project number"
_SUBJECT = re.compile(r"(?i)^\W*(?:re|subject|regarding|concerning)\b")
_OTHER_THING = re.compile(
    r"(?i)\b(?:hhs|dhhs|ohrp|fwa|iorg|regn?|regd|registration|registered(?: with)?|accredited"
    r"|assurance|federalwide|(?:tele)?phone|tel|ph(?!\W{0,2}d\b)|mob(?:ile)?|cell|fax|call|whatsapp|grants?|fund(?:ing|er)?|award|charity|version|page|rooms?|suite|box|category"
    r"|categories|policy|students?|staff|employee|cfr|omb|form|nct\d*|ind|ide|zip|tax|vat|street"
    r"|road|avenue|floor|building|sections?|appendix|part|chapter|article|act|item|step|visit|day"
    r"|weeks?|months?|years?|hours?|minutes|participants?|subjects|people|patients|total|site"
    r"|amendment|modification|sponsor(?:'s)?|eudract|isrctn|orcid|doi|isbn|issn|member|license"
    r"|licence|npi|meeting|insurance|code of|ext|extension|bag|p\.?\s?o|and|or|than|about|to|of"
    r"|at|least)\b"
    r"\W*(?:\w+\W*)?$"
)
_LAST_WORD = re.compile(
    r"(?i)\b(?:protocol|project|study|irb|reb|rec|hrec|file|application|dossier)\W*$"
)
# The bare word of a caption behind three others in its line, or behind a sign of a list.
_BARE_WORD = re.compile(
    r"(?i)(?:(?:[;,]|(?<!\S)\S+(?:[^\S\n]+\S+){2})[^\S\n]+(?<!\bsponsor\s)(?<!\bsponsor's\s)"
    r"|(?m:^)[^\S\n]*(?:[\u2022\u25aa\u25cf\u2023\u2013*-]|\(?[a-z\d]{1,2}[.)])[^\S\n]+"
    r"(?:(?:the|study|clinical|final)\s)?)(?:protocol|trial|study)\s$"
)
_REFER_TO = re.compile(r"(?i)(?:\band )?\brefer(?:ring)? to\b")
_LAST_RECORD = re.compile(
    r"(?i)\b(?:record|reference|ref|prot|approval|clearance|determination)\W*$"
)
_PREFIX = re.compile(
    r"(?:[:#.] ?|\b(?:[Cc]ommittee|[Bb]oard|[Pp]anel),?\s"
    r"|\b(?i:numbers?|no|d?nr|ref(?:erence)?|id|code)\b\.?\s"
    r"|\b(?i:application|file|dossier|protocol)\s)"
    r"(?P<prefix>(?:(?!REF|NO|ID)[A-Z](?:[A-Z-]{0,8}[A-Z])|(?:[A-Z]\.){2,7})[ /-])$"
    r"|(?:[:#.]|\b(?i:application|project|protocol|ref(?:erence)?|study))\s"
    r"(?P<mixed>(?=\w*[a-z])[A-Z][A-Za-z]{0,4}[A-Z][A-Za-z]{0,4}(?:-[A-Z]{2,6})? )$"
)  # behind a caption
# The acronym of a committee as a part of a number.
_IN_NUMBER = re.compile(
    r"(?<![A-Za-z])(?:IRB|REB|E?REC|HREC|IEC|ERB|EC|ERC|IERB|STUDY)(?![A-Za-z])"
)
# The number of a law, as in "Resolution CNS No. 466/2012".
_OF_LAW = re.compile(
    r"(?i)\b(?:resolutions?|resolu\u00e7\u00e3o|directives?|regulations?|decrees?|ordinances?|laws?)\b"
    r"(?:\W+[^\W\d]+){0,3}\W*$"
)
_LAW = re.compile(r"\d{1,5}/\d{4}")  # a committee's own resolution has letters in its number
_MAX_LAW = 50  # characters of the words before its number
# The words of a subject before a dash, and the sign behind a number between two dashes.
_PART_OF_SUBJECT = re.compile(r"[:\u2013\u2014-]\s(?P<words>[^:\n]{3,50}?)\s?[\u2013\u2014|-]$")
_ENDS_PART = re.compile(r"\s?[\u2013\u2014|:,-](?!\S)|\s*(?:\n|$)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_REGISTRATION = re.compile(r"(?i)\bregistration\W*$")
_QUOTED_BEHIND = re.compile(r",?\s[\"\u201c]")  # the title of the study
_ENDS_REFERENCE = re.compile(r"(?i)\s*(?:$|\n|date)")  # of a line that is a reference alone
_MAX_PREFIX = 26  # characters of an acronym before a number, with the end of its caption
# The study behind the number of a submission, as in "CR00014455 for STUDY00007155".
_FOR_STUDY = re.compile(r"\sfor\s[A-Z]{3,}\d{4,}\b")
_TIME = re.compile(r"\d{1,2}:\d\d|\d{1,2}[./]\d{1,2}")
_STREET_BEHIND = re.compile(
    r"(?:\s[A-Z][\w.'\u2019-]*){1,3}\s(?:Street|St|Road|Rd|Avenue|Ave|Drive|Lane|Boulevard|Blvd|Way"
    r"|Court|Place|Parkway|Loop|Highway|Square|Terrace|Circle|Crescent|Quay|Row)\b"
)  # behind its number
_PHONE = re.compile(
    r"\+\d[\d() .-]{7,}|\(\d{2,5}\)[\d .-]{6,}|(?<![\w-])\d{3}[-. ]\d{3}[-. ]\d{4}(?![\w-])"
    r"|(?<![\w-])0\d{2,4} \d[\d ]{5,}|(?<![\w/.-])0\d{2,4}-\d{7,8}(?![\w/-])"
)


@dataclass(frozen=True, slots=True)
class ReferenceNumber:
    """A number of a text. `rank` is smaller the more its caption says."""

    text: str
    start: int
    end: int
    # 0: named as that of the study; 1: of the committee; 2: other captions; 3: of a register of
    # many institutions, or without a caption
    rank: int


def is_house_number(number: str, text: str, end: int) -> bool:
    """Return whether a street follows a number that ends at this place of a text."""
    return number.isdigit() and bool(_STREET_BEHIND.match(text, end))


def list_dates_and_phones(text: str) -> list[tuple[int, int]]:
    """Return where the dates and the telephone numbers of a text begin and end."""
    dates = [(each.start, each.end) for each in find_dates(text, short_years=True)]
    return dates + [match.span() for match in _PHONE.finditer(text)]


def is_no_reference(text: str, start: int, end: int, taken: Sequence[tuple[int, int]]) -> bool:
    """Return whether a part of a text is certainly no number of a study.

    It is a part of a date or of a telephone number (`taken`), a time, or the number of a law, of a
    house or of a submission.
    """
    number = text[start:end]
    if any(first < end and start < last for first, last in taken) and not (
        _WITH_LETTER.search(number) or _CODE_WITH_DATE.match(number)
    ):
        return True
    is_of_law = _LAW.fullmatch(number) and _OF_LAW.search(text, max(0, start - _MAX_LAW), start)
    return bool(
        is_of_law
        or _TIME.fullmatch(number)
        or _FOR_STUDY.match(text, end)
        or is_house_number(number, text, end)
    )


def find_references(text: str) -> Iterator[ReferenceNumber]:
    """Yield the numbers of a text that may name a study, in order."""
    taken = list_dates_and_phones(text)
    examined = 0
    for match in _NUMBER.finditer(text):
        number = match["number"]
        if _digit_count(number) < _MIN_DIGITS or examined >= _MAX_NUMBERS:
            continue
        examined += 1
        start, end = match.span("number")
        if is_no_reference(text, start, end, taken):
            continue
        rank = _rank(text, start, end, number)
        prefix = _PREFIX.search(text, max(0, start - _MAX_PREFIX), start)
        if prefix and number[0].isdigit() and not _YEAR.fullmatch(number):
            # The acronym belongs to the number.
            start = prefix.start("prefix" if prefix["prefix"] else "mixed")
            number = text[start:end]
            rank = _rank(text, start, end, number)
        if rank is not None:
            yield ReferenceNumber(number, start, end, rank)


def is_behind_bare_word(text: str, number: str) -> bool:
    """Return whether a number stands only behind words such as "protocol" within a line.

    As in "the consent form, Protocol AB-503": neither a sign nor its place shows a caption.
    """
    places = [match.start() for match in islice(re.finditer(re.escape(number), text), _MAX_NUMBERS)]
    return bool(places) and all(
        _BARE_WORD.search(text[max(0, at - _BEFORE_LENGTH) : at]) for at in places
    )


def find_numbers(text: str, words: Sequence[str]) -> Iterator[ReferenceNumber]:
    """Yield the numbers behind captions with a sign such as "No" and a word with these beginnings.

    "Certification Number" and "Credential ID" are such captions of the words "certif" and
    "credential".
    """
    word, caption = _compile_words(tuple(words))
    if not word.search(text):
        return
    taken = [(each.start, each.end) for each in find_dates(text, short_years=True)]
    for match in islice(_CODE.finditer(text), _MAX_NUMBERS):
        line_start = text.rfind("\n", 0, match.start()) + 1
        before = text[max(line_start, match.start() - _BEFORE_LENGTH) : match.start()].rstrip()
        is_date = any(first <= match.start() < last for first, last in taken)
        if is_date or _OF_OTHER_REGISTER.search(before):
            continue
        sign = _SIGN.search(before)
        is_captioned = sign and caption.search(before[: sign.start()].rstrip())
        if is_captioned or (_is_code_alone(before, match[0]) and caption.search(before)):
            yield ReferenceNumber(match[0], match.start(), match.end(), 0)


def _is_code_alone(before: str, code: str) -> bool:
    """Return whether a code stands behind one or two words only, as in "Registration AC-22817"."""
    is_year = len(code) == _MIN_BARE_DIGITS and code.startswith(("19", "20"))
    is_code = _digit_count(code) >= _MIN_BARE_DIGITS and not is_year
    return is_code and len(before.split()) <= _MAX_WORDS_BEFORE_CODE


@lru_cache(maxsize=64)
def _compile_words(words: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for words with these beginnings, and for a text that ends with one."""
    word = rf"(?i)\b(?:{'|'.join(map(re.escape, words))})"
    return re.compile(word), re.compile(rf"{word}[^\n:;,.]{{0,30}}$")


def _rank(text: str, start: int, end: int, number: str) -> int | None:
    """Return the rank of a number by the text before it, or None if it names something else."""
    line_start = text.rfind("\n", 0, start) + 1
    own_line = text[max(line_start, start - _BEFORE_LENGTH) : start]
    above = text[max(0, line_start - _BEFORE_LENGTH) : line_start].rstrip("\n").rpartition("\n")[2]
    is_first = not own_line.strip("( [\t")
    before = above.rstrip() if is_first else own_line.rstrip()
    is_mixed = re.search(r"[A-Za-z]|\d[-/]\d", number) is not None
    if sign := _SIGN.search(before):
        caption = before[: sign.start()].rstrip(" ,")
        rank = _rank_of_caption(caption, sign[0])
        if rank == 1 and _REGISTERED_BOARD.fullmatch(number):
            rank = 2
        if rank is not None or caption:
            return rank
        if not is_first and _COMMITTEE.search(above) and not _OTHER_THING.search(above):
            return 1  # "No. 2519" below "Certificate of ethical clearance"
        return 2 if is_mixed and number[0].isalpha() and sign[0] != ":" else None
    following = text[end : end + _AFTER_LENGTH]
    if _SUBJECT.match(text[line_start:start]):
        if is_mixed:
            word = _LAST_WORD.search(before)
            return 0 if word and _STUDY.search(word[0]) else 2
        if _is_between_dashes(before, number, following):
            return 1
    return _rank_without_caption(before, own_line, number, following, is_mixed=is_mixed)


def _is_between_dashes(before: str, number: str, following: str) -> bool:
    """Return whether a number is a part of a subject, as in "Ethics Notification - 40555 - Title".

    The part before it has to name an application or a study.
    """
    part = _PART_OF_SUBJECT.search(before)
    return (
        part is not None
        and _digit_count(number) >= _MIN_BARE_DIGITS
        and not _YEAR.fullmatch(number)
        and _ENDS_PART.match(following) is not None
        and not _OTHER_THING.search(part["words"])
        and (_COMMITTEE.search(part["words"]) or _STUDY.search(part["words"])) is not None
    )


def _rank_without_caption(
    before: str, own_line: str, number: str, following: str, *, is_mixed: bool
) -> int | None:
    """Return the rank of a number behind a word, in brackets or alone in its line, or None."""
    if _digit_count(number) < _MIN_BARE_DIGITS or _REGISTRATION.search(before):
        return None
    if word := _LAST_WORD.search(before):
        return 0 if _STUDY.search(word[0]) else 1
    if is_mixed and _LAST_RECORD.search(before):
        return 1
    is_alone = not own_line.strip("( [\t") and number.count("/") > 1
    if is_alone and _ENDS_REFERENCE.match(following):
        return 3
    if is_mixed and (_IN_NUMBER.search(number) or _QUOTED_BEHIND.match(following)):
        return 2 if _IN_NUMBER.search(number) else 3
    is_bracketed = before.endswith(("[", "(")) or own_line.rstrip().endswith(("[", "("))
    return 3 if is_mixed and is_bracketed else None


def _rank_of_caption(caption: str, sign: str) -> int | None:
    tail = _REFER_TO.sub("", re.split(r"[:;,.]\s|[;,]$|\s{3,}", caption)[-1])
    if _OTHER_THING.search(tail):
        return None
    if _REGISTER.search(tail) or _OF_ADDRESSEE.search(f"{tail} {sign}"):
        return 3
    if _OF_OFFICE.search(f"{tail} {sign}"):
        return 2
    if _STUDY.search(tail):
        return 2 if _OF_PLACE.search(tail) else 0
    if _COMMITTEE.search(f"{tail} {sign}"):
        return 1
    return 2 if tail.strip() else None


def _digit_count(number: str) -> int:
    return sum(sign.isdigit() for sign in number)
