"""Joins the lines of the title of a study: up to the next caption, a sentence or its end.

This module is pure. It does not know document types.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

_MIN_LONGER_SHARE = 1.5  # of the length of a line; a longer line does not continue it
SENTENCE = re.compile(
    r"(?:The|This|Your|We|It|On|In|At|I|All|Please|If|You)\b.*\b(?:is|are|was|were|has|have|will|met"
    r"|may|must|approved|reviewed|determined|acknowledges|received|certifies|confirms?)\b"
)
OPEN_WORD = re.compile(r"(?i)\b(?:of|for|and|or|in|on|at|to|by|with|the|an?|from|among)$")
_MAX_LENGTH = 300  # characters
_MIN_WRAPPED_LINE = 38  # characters; a shorter line ends because the text does
# A line that begins with a small letter begins no paragraph. A verb goes on with a sentence.
_CONTINUES = re.compile(
    r"(?!(?:is|was|were|are|has|have|had|will|shall|may|as|by|which|that|submitted|dated)\b)[a-z]+\s"
)
_CONTINUES_IN_CAPITALS = re.compile(r"(?:OF|FOR|IN|AND|ON|WITH|AT|TO|BY|FROM|AMONG|THE)\b[^a-z:]+$")
# The same in a title whose words begin with capital letters, without a verb or a caption.
_CONTINUES_IN_TITLE_CASE = re.compile(
    r"(?:Of|For|In|And|On|With|By|From|Among|Versus|Following|During)(?:\s[A-Z(][\w'()-]*)+\.?$"
)
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
NEXT_CAPTION = re.compile(
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


def continue_title(first: str, below: Sequence[str], *, is_cell: bool = False) -> str:
    """Return a title with the lines that continue it: up to a caption, a sentence or its end.

    In the lines of one cell (`is_cell`), only the captions that a study has begin something else.
    """
    lines = [first]
    longest = max(map(len, (first, *below[:_MAX_LINES])))
    for line, after in pairwise([*below[:_MAX_LINES], ""]):
        plain = line.strip()
        last = lines[-1].rstrip()
        has_open_quote = sum(last.count(sign) for sign in '\u201c"') % 2 == 1
        is_open = has_open_quote or OPEN_WORD.search(last) is not None
        ended = last.endswith((".", "?", "!", "\u201d", '"'))
        if not plain or (
            not has_open_quote and _begins_caption(plain, after, is_open=is_open or is_cell)
        ):
            break
        is_heading = plain.isupper() and not first.isupper() and len(plain.split()) > 1
        if is_heading and not _ACRONYM_ALONE.fullmatch(plain):
            break
        is_full = is_cell and len(f"{last} {plain.split()[0]}") > longest
        if ended or not (is_open or is_full or _wraps(last, plain, is_capital=first.isupper())):
            break
        if not (is_open or last.endswith(",")) and begins_paragraph(plain, lines[-1]):
            break
        lines.append(plain)
    whole = " ".join(lines)
    if _SPLIT_CAPTION.match(next(iter(below[len(lines) - 1 :]), "").strip()):
        whole = _CAPTION_START.sub("", whole)
    return whole[:_MAX_LENGTH]


def _wraps(line: str, below: str, *, is_capital: bool) -> bool:
    """Return whether a line is so long, or the words below it are such, that a title goes on.

    `is_capital` says that the title is set in capital letters.
    """
    return (
        len(line) >= _MIN_WRAPPED_LINE
        or line.endswith(("-", ",", "and", "of", "the"))
        or _CONTINUES.match(below) is not None
        or _CONTINUES_IN_TITLE_CASE.match(below) is not None
        or (is_capital and _CONTINUES_IN_CAPITALS.match(below) is not None)
    )


def _begins_caption(line: str, after: str, *, is_open: bool) -> bool:
    """Return whether a line has the next caption. Its text may go on in the line `after` it.

    Behind a word such as "of", a colon may be a part of the title (`is_open`).
    """
    pattern = _CAPTION_OF_STUDY if is_open else NEXT_CAPTION
    is_caption = pattern.match(line) or _CAPTION_IN_TWO_LINES.match(f"{line} {after.strip()}")
    return is_caption is not None


def begins_paragraph(line: str, before: str) -> bool:
    """Return whether a line is a sentence, or far longer than the line that it might continue."""
    is_longer = len(line) > _MIN_LONGER_SHARE * len(before) and " " in line
    return line[:1].isupper() and (is_longer or SENTENCE.match(line) is not None)
