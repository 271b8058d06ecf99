"""Recognises the captions of titles of studies by their head word.

"Title of research", "IRB protocol title", "Name of the project" and "Research topic" are captions
of the same text. No fixed list of captions is needed.

This module is pure. It does not know document types.
"""

import re

STUDY_WORD = (
    r"(?:study|project|research|proposal|protocol|trial|thesis|dissertation|application"
    r"|investigation)"
)
# The head word of a caption is "title", or the name of a study.
_CAPTION = re.compile(
    rf"(?i)^\W*(?:Q?\d+(?:\.\d+)*[.)]?\s+|\d+[.)])?"
    rf"(?P<caption>(?:[\w'/()-]+\s+){{0,5}}?(?:titles?|topic)\b"
    rf"(?:\s*\([^)]*\))?"
    rf"(?:\s+of(?:\s+(?:the|this|your|my))?(?:\s+\w+){{0,2}}\s+{STUDY_WORD}(?:\s+{STUDY_WORD})?"
    rf"|\s+of\s+(?:the\s+)?{STUDY_WORD})?(?:\s*\([^)]*\))?"
    rf"|(?:full\s+|short\s+)?name\s+of\s+(?:the\s+)?(?:research\s+)?(?:{STUDY_WORD}|work)"
    rf"|{STUDY_WORD}\s+name)"
    r"\s*(?P<sign>[:\u2013\u2014]|\s-\s|$)\s*(?P<rest>.*)$"
)
# A question or the beginning of a paragraph, as in "What is the study called? ..."
_RUN_IN_CAPTION = re.compile(
    rf"(?i)^\W*(?:\d+[.)]\s*)?(?P<caption>what(?:\s+is|'s|\u2019s)\s+(?:it|(?:the|this|our)\s+(?:research\s+)?"
    rf"{STUDY_WORD}(?:\s+{STUDY_WORD})?)\s+called"
    rf"|what\s+is\s+the\s+(?:full\s+)?(?:title|name)\s+of\s+(?:the|this|our)\s+(?:research\s+)?{STUDY_WORD}"
    rf"|(?:(?:the|full)\s+)*(?:title|name)\s+of\s+(?:the|this|our)\s+(?:research\s+)?{STUDY_WORD}"
    rf"|{STUDY_WORD}\s+(?:title|name))\s*(?P<sign>[?.])\s+(?P<rest>(?-i:[^\W\d_a-z]).*)$"
)
_CAPTION_WORD = re.compile(r"(?i)title|topic|name|called")  # every caption has one of these
_OTHER_TITLE = re.compile(
    r"(?i)\b(?:job|position|working|academic|professional|course|module|document|form|degree|contact"
    r"|signatory|investigator'?s?|grant|award|contract|report|book|and title|title and|title/"
    r"|/title|your title|short|funding|name and|person)\b"
)
_NAME_OF_STUDY = re.compile(
    r"(?i)(?:research|study|project|proposal|research (?:study|project))\s?:?"
)
_MAX_CAPTION_LENGTH = 40  # characters


def match_caption(line: str) -> re.Match[str] | None:
    """Return the caption of a title with which a line begins: `caption`, `sign` and `rest`."""
    if not _CAPTION_WORD.search(line):
        return None
    match = _CAPTION.match(line) or _RUN_IN_CAPTION.match(line)
    return None if match is None or _OTHER_TITLE.search(match["caption"]) else match


def is_caption_line(line: str) -> bool:
    """Return whether a line begins with the caption of a title, with or without a colon."""
    match = _CAPTION.match(line)
    return match is not None and not _OTHER_TITLE.search(match["caption"])


def is_name_of_study(text: str) -> bool:
    """Return whether a text is only "Study" or "Research project", as in the cell of a table."""
    return _NAME_OF_STUDY.fullmatch(text) is not None


def ends_with_caption(text: str) -> bool:
    """Return whether a text ends with the caption of a title."""
    words = text[-_MAX_CAPTION_LENGTH:].split(" ")
    return any(is_caption_line(" ".join(words[at:])) for at in range(len(words)))


def is_caption(line: str) -> bool:
    """Return whether a line begins with the caption of a title."""
    match = _CAPTION.match(line) if _CAPTION_WORD.search(line) else None
    return match is not None and bool(match["sign"])
