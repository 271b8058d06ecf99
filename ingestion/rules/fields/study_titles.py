"""Finds the title of a study by its caption's head word, by quotation marks or as a subject.

"Title of research", "IRB protocol title", "Name of the project" and "Research topic" are captions
of the same text. A letter may also name the title behind "Re:", and a sentence between quotation
marks. No fixed list of captions is needed.

This module is pure. It does not know document types.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from ingestion.rules.fields import geometry, title_captions
from ingestion.rules.fields.text_lines import TextLine
from ingestion.rules.fields.title_captions import STUDY_WORD

_SHORT_CAPTION = re.compile(
    r"(?i)^(?:short|brief|lay|public|abbreviated)\s+(?:study\s+|project\s+)?title\s*(?::|$)"
)
_SUBJECT = re.compile(
    r"(?i)^\W*(?:re|ref|subject|regarding|concerning|study|project|protocol|application"
    r"|research project|research study|study/project|irb"
    r"|(?:decision|outcome|approval|opinion|review|notification)\s(?:\w+\s){0,4}"
    r"(?:application|project|study|protocol))\s*:\s*(?P<rest>\S.*)$"
)
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
_NUMBER_AT_END = re.compile(
    r"(?i)\s*\((?:(?:protocol|study)\s)?version\s\d[^()]*\)$|\s*[,;\u2013-]\s*(?:protocol|study|version|ref(?:erence)?|irb|rec)"
    r"\s*(?:code|no\.?|number|id|\#|:)?\s*:?\s*(?=\S*\d\d)\S+(?:,.*)?$"
)
_NUMBERED_STUDY = re.compile(
    r"(?i)^(?:study|project|protocol|application)\s(?:no\.?\s?|\#\s?)?(?=\S*\d\d)\S+,\s"
    r"(?P<rest>(?-i:[^\W\d_a-z])\S*\s\S.*)$"
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
_QUOTED = re.compile(
    r"[\u201c\u201e\u201f\"\u00ab](?P<double>[^\u201c\u201d\"\u00bb]{8,260})[\u201c\u201d\"\u00bb]"
    r"|(?<!\w)[\u2018'](?P<single>[^\u2018\n][^\u2018]{12,260}?)[\u2019'](?![\w])"
)
# The rest of a title that begins with a quotation, as in '"Who cares?" Moral distress in nurses'
# and 'The "Walk On" (WON) Trial: Exercise after stroke'.
_TITLE_BEHIND = re.compile(
    r":?\s(?:\([^()]{2,12}\)\s)?(?:(?-i:[^\W\d_a-z])[\w'\u2019-]*)(?::?\s[\w'\u2019-]+){2}"
)
_ARTICLE = re.compile(r"(?:(?:The|An?)\s)?")
_NAMED = re.compile(
    rf"(?i)(?:\b{STUDY_WORD}\b(?:[^.]|\bno\.){{0,60}}"
    r"|\b(?:review|request|application|submission|renewal) (?:of|for)\b[^.]{0,40}"
    r"|\b(?:entitled|titled|called|title|named|re|subject|topic|report on|(?:take|taking)"
    r" part in|participat(?:e|ing) in)\b(?: is)?\W*)$"
)
_NAMED_AFTER = re.compile(
    rf"(?i)^\W{{0,4}}(?:\([^)]*\)\s*)?(?:{STUDY_WORD}\b"
    r"|(?:is|was|has been|meets)\s(?:\w+\s){0,2}(?:exempt|approved|reviewed|determined)\b)"
)
_NUMBER_BEFORE_QUOTE = re.compile(r"(?<!\S)(?=\S*\d\d)[A-Z][A-Z0-9/.-]{4,},?\s*$")
_ENTITLED = re.compile(
    rf"\b(?:entitled|titled|with the title|[Ii]t is called"
    rf"|{STUDY_WORD}\s+(?:is\s+|by\s[^.:;\n]{{3,40}}\s)?(?:called|named)"
    r"|(?:title(?: of (?:the|this|our) (?:study|project|research|survey))?"
    r"|(?:formal|full|official|working) (?:title|name)"
    r"|name of (?:the|this|our) (?:study|project|research|survey)) is)[,:]?\s+"
    r"(?P<title>[^\W\da-z_][^.\u201c\u201d\"?]{10,220}?)"
    r"(?=\.(?:\s|$)|,\s(?:which|you|and is|is)\b|\n\s*\n"
    r"|\sand\s(?:has\s|have\s|was\s)?(?:determined|found|approved|reviewed|decided|granted)\b"
    r"|\sand\s(?:it\s)?is\s(?:the|a|an|part|carried|conducted|run|led|organi[sz]ed|funded)\b|\sto\sthe\s(?:Committee|Board|IRB|REB)\b)"
)
_BETWEEN_COMMAS = re.compile(
    r"\b(?i:application|project|study|proposal|protocol|research)\b"
    r"(?:(?!(?i:\b(?:committee|board|panel|council|office|cent(?:re|er)|group|team))\b)[^.,:\n]){0,40}"
    r",\s+"
    r"(?:[\w/.-]*\d[\w/.-]*,\s+)?"
    r"(?P<title>[^\W\da-z_][^.,:;\u201c\u201d\"?]{14,200}),\s"
    r"(?:has|have|was|is|meets|met|and (?:approved|found|granted|determined))\b"
)
_BRACKETED = re.compile(  # behind a number
    r"\b(?i:application|project|study|protocol)\s(?=\S*\d\d)\S+\s"
    r"\((?P<title>[^\W\da-z_][^()]{14,200})\)"
)
_WITHOUT_SIGN = re.compile(
    r"(?:(?i:study|project|protocol|research|trial)\s+(?i:title))\s+(?P<rest>[^\W\da-z_]\S*\s\S.*)$"
)
_ETHICS_AT_END = re.compile(r"(?i)\bresearch ethics(?: application)?\W*$")
_ONLY_NUMBER = re.compile(
    r"(?i)(?:(?:irb|rec|reb|hrec|study|project|protocol|application|reference|ref|file|no|number|id"
    r"|(?-i:[A-Z]{2,8}))\b\W*)*[\w./-]*\d[\w./-]*\W*"
    r"(?:(?:exempt|expedited|full board|initial|renewal|new)\W*)?"
)
_MAX_SUBJECT_WORDS = 5  # of a subject that names a decision anywhere
_FIRST_WORDS = 3
_CONTEXT_LENGTH = 110  # characters before a quotation in which a study is named
_MIN_WORDS = 2
_MIN_LONGER_SHARE = 1.5  # of the length of a line; a longer line does not continue it
_SENTENCE = re.compile(
    r"(?:The|This|Your|We|It|On|In|At|I|All|Please|If|You)\b.*\b(?:is|are|was|were|has|have|will|met"
    r"|may|must|approved|reviewed|determined|acknowledges|received|certifies|confirms?)\b"
)
_NUMBER_AT_START = re.compile(r"\W*(?:\S+ )?(?=(?:\S*\d){3})\S*[-/.]\S*\d\S*\s")
_RANK_OF_PERSON = re.compile(
    r"(?i)(?:(?:assistant|associate|full|senior|clinical|research)\s)*(?:dr|mrs?|ms|prof(?:essor)?"
    r"|lecturer|consultant|director|physician|fellow|student|chair(?:man|person)?)\b"
)
_FOREIGN_WORDS = re.compile(
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
_OPEN_WORD = re.compile(r"(?i)\b(?:of|for|and|or|in|on|at|to|by|with|the|an?|from|among)$")
_OPEN_END = re.compile(rf"{_OPEN_WORD.pattern}|[,:(]$")
_MAX_LENGTH = 300  # characters
_MIN_WRAPPED_LINE = 38  # characters; a shorter line ends because the text does
# A line that begins with a small letter begins no paragraph. A verb goes on with a sentence.
_CONTINUES = re.compile(
    r"(?!(?:is|was|were|are|has|have|had|will|shall|may|as|by|which|that|submitted|dated)\b)[a-z]+\s"
)
_CONTINUES_IN_CAPITALS = re.compile(r"(?:OF|FOR|IN|AND|ON|WITH|AT|TO|BY|FROM|AMONG|THE)\b[^a-z:]+$")
_ACRONYM_ALONE = re.compile(r"\([^()]{2,30}\)\.?")  # of the study, in a line behind its title
_MAX_LINES = 5
# The two parts of a caption that is broken behind the title.
_CAPTION_START = re.compile(r"(?i)\s+(?:co-?)?(?:principal|lead|chief|primary|name of)$")
_CAPTION_IN_TWO_LINES = re.compile(
    r"(?i)^(?:co-?)?(?:principal|lead|chief|responsible|faculty|academic|name of)\s+\w+(?: \w+)?:"
)
_SPLIT_CAPTION = re.compile(r"(?i)^(?:investigator|researcher|applicant)\w*\W*:")
_CAPTION_OF_STUDY = re.compile(
    r"(?i)^\W*(?:(?:principal|co-?|lead|chief|student)\s?)?(?:investigator|researcher|sponsor|protocol"
    r"|irb|version|department|institution|site|location)\b[^:]{0,30}:"
)
_NEXT_CAPTION = re.compile(
    r"(?i)^(?!\()\W*(?:(?-i:(?![a-z]))[^:]{0,45}:(?:\s|$)|\d+\.\s|dear\b|i\b|this\b"
    r"|(?:prezad|estimad|caro|cara|gentil|sehr geehrt|geachte|ch[e\u00e8]re? |szanown)"
    r"|thank\b|you are\b|we are\b"
    r"|page \d|please\b|introduction|purpose|summary|key information|the (?:above|following"
    r"|committee|board|irb|ethics|research ethics)\b|on behalf\b|based on\b"
    r"|your (?:application|request|study)\b"
    r"|(?:[^\W\d_]+ ){1,4}\d[\d/.-]{5,}$"
    r"|(?:irb|protocol|study|project|ref(?:erence)?|approval|file|hrec|rec|ethics)\b[^:]{0,25}?"
    r"(?:\bno\b|number|\#|\bid\b)|(?:principal|co-?|lead|chief)"
    r"\s*investigator|investigator|sponsor|supported by|department)"
)


def titles_at_captions(lines: Sequence[str]) -> Iterator[str]:
    """Yield the titles behind captions whose head word is "title" or the name of a study.

    The title is behind the caption, or on the lines after it if nothing is behind it.
    """
    for at, line in enumerate(lines):
        match = title_captions.match_caption(line)
        if match is None:
            continue
        rest, below = match["rest"].strip(), lines[at + 1 :]
        is_word_alone = len(match["caption"].split()) < 2  # "title", which is no caption alone
        if not rest and not match["sign"] and is_word_alone:
            continue
        if not rest and below:
            rest, below = below[0].strip(), below[1:]
        title = clean(continue_title(rest, below))
        if title and not (match["rest"].strip() == "" and _SENTENCE.match(rest)):
            yield title


def titles_of_subjects(lines: Sequence[str]) -> Iterator[str]:
    """Yield the titles behind "Re:" or "Study:", without the words and numbers before them."""
    for at, line in enumerate(lines):
        match = _SUBJECT.match(line) if ":" in line else _NUMBERED_STUDY.match(line)
        if match:
            rest, below = match["rest"].strip(), lines[at + 1 :]
            if below and _ONLY_NUMBER.fullmatch(rest):
                rest, below = below[0].strip(), below[1:]
                if _NEXT_CAPTION.match(rest):
                    continue
            title = clean(continue_title(rest, below))
            if is_title_of_subject(title) and not _FOREIGN_WORDS.search(title):
                yield title


def titles_in_sentences(text: str) -> Iterator[str]:
    """Yield the titles of sentences without quotation marks: behind "entitled", between commas."""
    for match in chain(*(each.finditer(text) for each in (_ENTITLED, _BETWEEN_COMMAS, _BRACKETED))):
        if len((title := clean(match["title"])).split()) >= _MIN_WORDS:
            yield title


def titles_without_sign(lines: Sequence[str]) -> Iterator[str]:
    """Yield the titles behind "Study title" at the beginning of a line, without a colon."""
    for at, line in enumerate(lines):
        match = _WITHOUT_SIGN.match(line)
        if match and (title := clean(continue_title(match["rest"].strip(), lines[at + 1 :]))):
            yield title


def short_titles(lines: Sequence[TextLine]) -> Iterator[str]:
    """Yield the texts behind captions such as "Short title", beside them or in the same line."""
    for line in lines:
        caption = _SHORT_CAPTION.match(line.text)
        if caption is None:
            continue
        rest = line.text[caption.end() :].strip()
        if not rest:
            beside = [
                each.text
                for each in lines
                if each.box.left > line.box.right and geometry.is_level_with(line.box, each.box)
            ]
            rest = beside[0] if beside else ""
        if title := clean(rest):
            yield title


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
    return len(plain) > _MIN_WORDS and not is_decision and not _ETHICS_AT_END.search(title)


def quoted_titles(text: str) -> Iterator[str]:
    """Yield the texts between quotation marks that a sentence or a subject calls a study."""
    for match in _QUOTED.finditer(text):
        quoted = " ".join((match["double"] or match["single"]).split())
        before = text[max(0, match.start() - _CONTEXT_LENGTH) : match.start()]
        after = text[match.end() : match.end() + 40]
        if len(quoted.split()) < _MIN_WORDS or not (
            _NAMED.search(before.rstrip())
            or _NAMED_AFTER.match(after)
            or _NUMBER_BEFORE_QUOTE.search(before)
        ):
            continue
        if title := clean(quoted):
            yield title


def continue_title(first: str, below: Sequence[str]) -> str:
    """Return a title with the lines that continue it: up to a caption, a sentence or its end."""
    lines = [first]
    for line, after in pairwise([*below[:_MAX_LINES], ""]):
        plain = line.strip()
        last = lines[-1].rstrip()
        has_open_quote = sum(last.count(sign) for sign in '\u201c"') % 2 == 1
        is_open = has_open_quote or _OPEN_WORD.search(last) is not None
        ended = last.endswith((".", "?", "!", "\u201d", '"'))
        if not plain or (not has_open_quote and _begins_caption(plain, after, is_open=is_open)):
            break
        is_heading = plain.isupper() and not first.isupper() and len(plain.split()) > 1
        if is_heading and not _ACRONYM_ALONE.fullmatch(plain):
            break
        wraps = len(last) >= _MIN_WRAPPED_LINE or last.endswith(("-", ",", "and", "of", "the"))
        wraps = wraps or _CONTINUES.match(plain) is not None
        wraps = wraps or (first.isupper() and _CONTINUES_IN_CAPITALS.match(plain) is not None)
        if ended or not (wraps or is_open):
            break
        if not (is_open or last.endswith(",")) and begins_paragraph(plain, lines[-1]):
            break
        lines.append(plain)
    whole = " ".join(lines)
    if _SPLIT_CAPTION.match(next(iter(below[len(lines) - 1 :]), "").strip()):
        whole = _CAPTION_START.sub("", whole)
    return whole[:_MAX_LENGTH]


def _begins_caption(line: str, after: str, *, is_open: bool) -> bool:
    """Return whether a line has the next caption. Its text may go on in the line `after` it.

    Behind a word such as "of", a colon may be a part of the title (`is_open`).
    """
    pattern = _CAPTION_OF_STUDY if is_open else _NEXT_CAPTION
    is_caption = pattern.match(line) or _CAPTION_IN_TWO_LINES.match(f"{line} {after.strip()}")
    return is_caption is not None


def begins_paragraph(line: str, before: str) -> bool:
    """Return whether a line is a sentence, or far longer than the line that it might continue."""
    is_longer = len(line) > _MIN_LONGER_SHARE * len(before) and " " in line
    return line[:1].isupper() and (is_longer or _SENTENCE.match(line) is not None)


def may_be_cut(title: str) -> bool:
    """Return whether a title may lack its beginning, or have words that belong to something else.

    It begins with a small letter, or it contains a date, or a sentence of a letter. A single word,
    and the title of a person, are no titles of studies.
    """
    if len(title.split()) < _MIN_WORDS or _RANK_OF_PERSON.match(title) or _OPEN_END.search(title):
        return True
    return title[:1].islower() or _FOREIGN_WORDS.search(title) is not None


def names_institution_only(title: str) -> bool:
    """Return whether a text has the form of the name of an institution, as "Ashby Hospital".

    A title that has this form, as "Hospital at Home", stands at a caption.
    """
    return _INSTITUTION_ALONE.fullmatch(title) is not None


def begins_with_number(title: str) -> bool:
    """Return whether a title begins with what may be the number of the study."""
    return _NUMBER_AT_START.match(title) is not None


def clean(text: str) -> str:
    """Return a title without quotation marks, numbers of the study and words before it."""
    plain = " ".join(text.split())
    is_part = False
    if quoted := _QUOTED.search(plain):
        inner = quoted["double"] or quoted["single"]
        is_part = bool(
            _ARTICLE.fullmatch(plain[: quoted.start()])
            and _TITLE_BEHIND.match(plain[quoted.end() :])
        )
        if len(inner.split()) >= _MIN_WORDS and quoted.start() < len(plain) / 2 and not is_part:
            plain = inner
    shorter = _BEFORE_TITLE.sub("", plain)
    plain = shorter if len(shorter.split()) >= _MIN_WORDS else plain
    shorter = _NUMBER_AT_END.sub("", _NUMBER_BEHIND.sub("", plain))
    plain = shorter if len(shorter.split()) >= _MIN_WORDS else plain
    if re.fullmatch(r"\([^()]*\)", plain):
        plain = plain[1:-1]
    plain = plain.strip(" ,;:\u2013-" if is_part else " ,;:\u2013-\u201c\u201d\"\u2018\u2019'")
    if plain.endswith(".") and plain.count(".") == 1:
        plain = plain[:-1]
    return plain if sum(sign.isalpha() for sign in plain) > 3 else ""


def follows_caption(text: str, title: str) -> bool:
    """Return whether a title comes after the caption of a title in the order of the text."""
    flat = " ".join(text.split())
    at = flat.find(title)
    return at > 0 and title_captions.ends_with_caption(flat[:at])
