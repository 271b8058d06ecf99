"""Finds the title of a study in the order of the text: at a caption, as a subject, in a sentence.

"Title of research", "IRB protocol title", "Name of the project" and "Research topic" are captions
of the same text. A letter may also name the title behind "Re:", and a sentence between quotation
marks. No fixed list of captions is needed.

This module is pure. It does not know document types.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from ingestion.rules.fields import geometry
from ingestion.rules.fields.text_lines import TextLine
from ingestion.rules.fields.titles import title_captions
from ingestion.rules.fields.titles.title_captions import STUDY_WORD
from ingestion.rules.fields.titles.title_lines import NEXT_CAPTION, SENTENCE, continue_title
from ingestion.rules.fields.titles.title_texts import (
    FOREIGN_WORDS,
    MIN_WORDS,
    QUOTED,
    clean,
    is_title_of_subject,
)

_SHORT_CAPTION = re.compile(
    r"(?i)^(?:short|brief|lay|public|abbreviated)\s+(?:study\s+|project\s+)?title\s*(?::|$)"
)
_SUBJECT = re.compile(
    r"(?i)^\W*(?:re|ref|subject|regarding|concerning|study|project|protocol|application"
    r"|research project|research study|study/project|irb"
    r"|(?:decision|outcome|approval|opinion|review|notification)\s(?:\w+\s){0,4}"
    r"(?:application|project|study|protocol))\s*:\s*(?P<rest>\S.*)$"
)
_NUMBERED_STUDY = re.compile(
    r"(?i)^(?:study|project|protocol|application)\s(?:no\.?\s?|\#\s?)?(?=\S*\d\d)\S+,\s"
    r"(?P<rest>(?-i:[^\W\d_a-z])\S*\s\S.*)$"
)
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
# The first word of a sentence behind a title that ends with a question mark.
_NEW_SENTENCE = (
    r"(?:You|Your|We|Our|It|This|I|Please|If you"
    r"|(?:The|In this|In the)\s(?:aim|purpose|goal|study|project|research))\b"
)
_ENTITLED = re.compile(
    rf"\b(?:entitled|titled|with the title|[Ii]t is called"
    rf"|{STUDY_WORD}\s+(?:is\s+|by\s[^.:;\n]{{3,40}}\s)?(?:called|named)"
    r"|(?:title(?: of (?:the|this|our) (?:study|project|research|survey))?"
    r"|(?:formal|full|official|working) (?:title|name)"
    r"|name of (?:the|this|our) (?:study|project|research|survey)) is)[,:]?\s+"
    r"(?P<title>[^\W\da-z_](?:[^.\u201c\u201d\"?]|\?(?=\s[A-Z])){10,220}?)"
    rf"(?=\.(?:\s|$)|(?<=\?)\s{_NEW_SENTENCE}|,\s(?:which|you|and is|is)\b|\n\s*\n"
    r"|\s(?:was|were|(?:has|have)\sbeen)\s(?:received|reviewed|approved|submitted|granted|determined"
    r"|considered\sby|found\sto)\b"
    r"|\sand\s(?:has\s|have\s|was\s)?(?:determined|found|approved|reviewed|decided|granted)\b"
    r"|\sand\s(?:it\s)?(?:is|was|will\sbe)\s(?:being\s)?(?:the|a|an|part|carried|conducted|run|led"
    r"|organi[sz]ed|funded|done|performed|undertaken|supervised|coordinated|directed|sponsored"
    r"|supported|financed|under)\b|\sto\sthe\s(?:Committee|Board|IRB|REB)\b)"
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
_DECISION = re.compile(
    r"(?i)(?:[a-z]+ ){0,2}(?:opinion|decision|approval|determination)|exempt from\b.*\breview"
)
ONLY_NUMBER = re.compile(  # of a study, with the words before it
    r"(?i)(?:(?:sponsor|irb|rec|reb|hrec|study|project|protocol|application|reference|ref|file|no|number|id"
    r"|(?-i:[A-Z]{2,8}))\b\W*)*[\w./-]*\d[\w./-]*\W*"
    r"(?:(?:exempt|expedited|full board|initial|renewal|new)\W*)?"
)
_MIN_WORDS_OF_LINE = 8  # of a quotation that is all of its lines
_CONTEXT_LENGTH = 110  # characters before a quotation in which a study is named


def titles_at_captions(lines: Sequence[str], *, is_cell: bool = False) -> Iterator[str]:
    """Yield the titles behind captions whose head word is "title" or the name of a study.

    The title is behind the caption, or on the lines after it if nothing is behind it. `is_cell`
    says that the lines after the first one are those of the cell beside it.
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
        title = clean(continue_title(rest, below, is_cell=is_cell))
        if title and not (match["rest"].strip() == "" and SENTENCE.match(rest)):
            yield title


def titles_of_subjects(lines: Sequence[str]) -> Iterator[str]:
    """Yield the titles behind "Re:" or "Study:", without the words and numbers before them."""
    for at, line in enumerate(lines):
        match = _SUBJECT.match(line) if ":" in line else _NUMBERED_STUDY.match(line)
        if match:
            rest, below = match["rest"].strip(), lines[at + 1 :]
            if below and ONLY_NUMBER.fullmatch(rest):
                rest, below = below[0].strip(), below[1:]
                if NEXT_CAPTION.match(rest):
                    continue
            title = clean(continue_title(rest, below))
            if is_title_of_subject(title) and not FOREIGN_WORDS.search(title):
                yield title


def titles_in_sentences(text: str) -> Iterator[str]:
    """Yield the titles of sentences without quotation marks: behind "entitled", between commas."""
    for match in chain(*(each.finditer(text) for each in (_ENTITLED, _BETWEEN_COMMAS, _BRACKETED))):
        if len((title := clean(match["title"])).split()) >= MIN_WORDS:
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


def quoted_titles(text: str) -> Iterator[str]:
    """Yield the texts between quotation marks that a sentence or a subject calls a study."""
    for match in QUOTED.finditer(text):
        quoted = " ".join((match["double"] or match["single"]).split())
        before = text[max(0, match.start() - _CONTEXT_LENGTH) : match.start()]
        after = text[match.end() : match.end() + 40]
        is_line = before.endswith("\n") and after[:1] in {"", "\n"}
        if (
            len(quoted.split()) < MIN_WORDS
            or _DECISION.fullmatch(quoted)
            or not (
                (is_line and len(quoted.split()) >= _MIN_WORDS_OF_LINE)
                or _NAMED.search(before.rstrip())
                or _NAMED_AFTER.match(after)
                or _NUMBER_BEFORE_QUOTE.search(before)
            )
        ):
            continue
        if title := clean(quoted):
            yield title
