"""Finds titles of studies by their place in the head of page 1, without a caption.

A title stands beside the heading of a consent form, or is a paragraph of its own in a letter. A
value found only by its place is never without doubt.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from ingestion.reading.results import PageReading
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import dates
from ingestion.rules.fields.heads.layout import (
    HEAD_SHARE,
    INSTITUTION,
    MIN_INDENT,
    SALUTATION,
)
from ingestion.rules.fields.persons import person_names
from ingestion.rules.fields.reference_numbers import RANK_OF_REGISTERS, find_references
from ingestion.rules.fields.text_lines import TextLine, body_size, is_in_title_case, line_gap
from ingestion.rules.fields.titles import title_captions, title_lines, title_texts
from ingestion.rules.fields.values import FieldValue, value_of_line

_MAX_OFF_CENTRE = 24.0  # points, twice the distance of the centres of two centred lines
_MAX_HEADING_WORDS = 14  # of the heading of a form
_LARGE_SHARE = 1.08  # of the type size of the text
_HEADING_SHARE = 1.3  # the same, of a title below an address
_MIN_PARAGRAPH_GAP = 2.0  # points; a paragraph ends before so much more space
_MAX_CAPTION_WORDS = 3  # of a caption, which leads to no paragraph
_NAMES_STUDY = re.compile(
    r"(?i)\b(?:entitled|titled|the (?:above )?(?:research |clinical |study )*(?:project|study"
    r"|protocol|proposal|trial)):?$"
)
_OF_PERSON = re.compile(r"(?i)\b(?:investigator|researcher)s?$")
_ITEM = re.compile(r"\d{1,2}[.)]\s")
_MAX_DATE_WORDS = 6  # of a line that has only a version and its date
_MAX_SUBJECT_LINES = 3
_VERSION = re.compile(r"(?i)\bversion\s?\d")
_MIN_TITLE_WORDS = 5  # of a title without a caption
_MIN_SUBJECT_WORDS = 3
_NO_TITLE_ALONE = re.compile(
    r"(?i)\b(?:committee|board|panel|consent|certificates?|letter|notice|memo\w*|form|department|faculty"
    r"|school of|division of|office of|university|road|street|avenue|suite|p\.?o\.? box|page"
    r"|version|date|tel|phone|email|confidential|copy|approv\w+|permission"
    r"|information (?:sheet|about|for))\b"
    r"|@|www\.|\b\d{4,}\b"
)
_BEGINS_WITH_CAPTION = re.compile(r"(?:[A-Z][\w'\u2019/-]*\.?)(?: [\w'\u2019/-]+\.?){0,3}\s?:\s")
_MIN_LINE_SHARE = 0.7  # of the longest line; a shorter one ends a paragraph
_STUDY_WORDS = re.compile(
    r"(?i)^(?:for (?=the ))?(?:the )?(?:(?:entitled|titled|title of (?:the )?"
    r"(?:study|project|research)|study|project|research)\W*)+"
)
_CONSENT_HEADING = re.compile(
    r"(?i)\b(?:informed |participant |adult |parental )*(?:consent|permission|assent)\b"
    r"|^\W*(?:(?:participant|patient|subject|volunteer|study|research|parent)s?(?:['\u2019]s?)? )?"
    r"information (?:sheet|brochure|letter|leaflet|statement)\b"
    r"|^\W*(?:(?:participant|patient|subject|volunteer)s?(?:['\u2019]s?)? )?information"
    r" (?:about|for|on) (?:the )?(?:participa(?:nts?|tion|ting)|patients?|subjects?|volunteers?"
    r"|(?:research|study) (?:participants?|subjects?))\b"
)
_CONSENT_WORDS_AROUND = re.compile(
    r"(?i)[\s\u2013:-]*(?:\(?(?:informed |participant |adult )*consent (?:form|statement)\)?)\s*$"
)
_INVITES = re.compile(
    r"(?i)\byou (?:are|have been) (?:being )?(?:asked|invited)\b|\byour participation\b"
)
_NO_TITLE_OF_FORM = re.compile(
    r"(?i)\b(?:information|sheet|authori[sz]ation|hipaa|participants?|version)\b"
    r"|^(?:(?:online|web|internet|anonymous|survey|interview|questionnaire|focus|group|phone"
    r"|telephone|video|audio|study|research|adult|student|staff|parent|teacher)s?\W*)+$"
)
_SENTENCE_START = re.compile(
    r"(?i)^(?:thank|please|you|i|we|this|the purpose|if|dear|before|as|in|key information)\b"
)
_CAPTION = re.compile(
    r"(?i)(?:[\w-]+ ){0,2}(?:investigators?|researchers?|sponsor|protocol|number|version|date|site)"
    r"(?: number)?\s*:"
)
_NUMBER_BEFORE_TITLE = re.compile(
    r"^\W*(?=[\w/.-]*\d{3})(?=[\w/.-]*[A-Z/])[A-Z0-9][\w/.-]*\w\s*(?::|-|\u2013|\u2014|,)?\s+(?=[^\W\d_]{2}|[\u201c\"])"
)
_VERB = re.compile(
    r"(?i)\b(?:is|are|was|were|has been|have|will|you|your|we|i|please|thank|approved|reviewed)\b"
)


def find_titles_beside_heading(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the title of the study in the heading of a consent form.

    It is in the line of the heading, or in the lines of a larger or bold type next to it.
    """
    head = [line for line in lines if line.box.top < HEAD_SHARE * page.height]
    headings = [
        at
        for at, line in enumerate(head)
        if _CONSENT_HEADING.search(line.text) and len(line.text.split()) <= _MAX_HEADING_WORDS
    ]
    for at in headings:
        titles = list(_titles_at_heading(page, head, at, lines, spec))
        yield from titles
        if titles:  # Otherwise it may be the running head of a page that was printed.
            return
    for line in head[:1] if not headings and _INVITES.search(page.text) else ():
        if _is_title(line.text) and is_in_title_case([line]):
            yield value_of_line(page, line.words, spec, line.text.strip())


def _titles_at_heading(
    page: PageReading,
    head: Sequence[TextLine],
    at: int,
    lines: Sequence[TextLine],
    spec: FieldSpec,
) -> Iterator[FieldValue]:
    """Yield the titles in line `at` of the head, which has the heading of a form, and beside it."""
    line, gap = head[at], line_gap(lines)
    rest = _CONSENT_WORDS_AROUND.sub("", line.text).strip(' \u2013:-\u201c\u201d"')
    is_changed = rest != line.text.strip() and len(rest.split()) > 1
    if is_changed and not INSTITUTION.match(rest) and not _NO_TITLE_OF_FORM.search(rest):
        yield value_of_line(page, line.words, spec, rest)
    for near in _lines_of_title(head, at, body_size(lines), gap):
        whole = _with_lines_below(near[0], head, gap) if len(near) == 1 else near
        text = " ".join(each.text.strip() for each in whole)
        yield value_of_line(page, whole[0].words, spec, _STUDY_WORDS.sub("", text))


def find_subject_titles(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the titles of studies that a letter prints as a paragraph of their own, uncaptioned.

    The paragraph follows the salutation or a line such as "on the captioned matter:", or begins
    with a reference number.
    """
    gap = line_gap(lines)
    for at, line in enumerate(lines[1:], 1):
        if line.box.top > HEAD_SHARE * page.height:
            return
        before = lines[at - 1].text.strip()
        follows = before.endswith(":") and len(before.split()) > _MAX_CAPTION_WORDS
        has_number = _NUMBER_BEFORE_TITLE.match(line.text) is not None
        follows = follows or _NAMES_STUDY.search(before) is not None
        if not (SALUTATION.match(before) or follows or has_number or _ends_with_number(before)):
            continue
        paragraph = list(_paragraph_at(lines[at : at + _MAX_SUBJECT_LINES + 1], gap))
        whole = " ".join(each.text for each in paragraph)
        if len(paragraph) > _MAX_SUBJECT_LINES or not _is_subject(whole):
            continue
        title = title_texts.clean(_NUMBER_BEFORE_TITLE.sub("", whole))
        is_short = len(title.split()) < _MIN_TITLE_WORDS
        if is_short and (len(title.split()) < _MIN_SUBJECT_WORDS or _NO_TITLE_ALONE.search(title)):
            continue
        if title_texts.is_title_of_subject(title):
            yield value_of_line(page, line.words, spec, title)


def find_paragraph_titles(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the only paragraph of the head that is neither text, address, heading nor caption."""
    gap = line_gap(lines)
    found = []
    last = 0.0
    for at, line in enumerate(lines):
        if line.box.top > HEAD_SHARE * page.height:
            break
        begins = line.box.top - last > gap + _MIN_PARAGRAPH_GAP
        last = line.box.bottom
        if not begins:
            continue
        paragraph = list(_paragraph_at(lines[at : at + _MAX_SUBJECT_LINES + 1], gap))
        text = " ".join(each.text for each in paragraph)
        if len(paragraph) <= _MAX_SUBJECT_LINES and _may_be_title_alone(text):
            found.append((paragraph, text))
    if len(found) == 1:
        (paragraph, text), *_ = found
        yield value_of_line(page, paragraph[0].words, spec, title_texts.clean(text))


def _may_be_title_alone(text: str) -> bool:
    """Return whether a paragraph without a caption may be the title of a study."""
    return (
        len(text.split()) >= _MIN_TITLE_WORDS
        and _is_subject(text)
        and title_texts.is_title_of_subject(text)
        and not (_NO_TITLE_ALONE.search(text) or INSTITUTION.match(text) or ":" in text)
    )


def _ends_with_number(text: str) -> bool:
    """Return whether a line ends with the number of a study, as in "Application 22/31"."""
    if not text[-1:].isdigit():
        return False
    found = [each for each in find_references(text) if each.rank < RANK_OF_REGISTERS]
    return bool(found) and found[-1].end == len(text)


def _paragraph_at(lines: Sequence[TextLine], gap: float) -> Iterator[TextLine]:
    """Yield the first of some lines and those that follow it without a gap.

    A line that ends far before the longest one is the last of its paragraph.
    """
    yield lines[0]
    longest = max(line.box.right for line in lines)
    for line, below in pairwise(lines):
        is_near = below.box.top - line.box.bottom <= gap + _MIN_PARAGRAPH_GAP
        is_short = line.box.right < _MIN_LINE_SHARE * longest
        if _BEGINS_WITH_CAPTION.match(below.text) or SALUTATION.match(below.text):
            return
        is_aligned = abs(below.box.left - line.box.left) <= MIN_INDENT
        if not is_near or is_short or not (is_aligned or _is_centred(line, [below])):
            return
        yield below


def _is_subject(text: str) -> bool:
    """Return whether a paragraph of a letter is no sentence, address, caption or closing."""
    named = text.partition(":")[2].strip()
    if title_texts.may_be_cut(text) or _ITEM.match(text) or person_names.find_name_line(named):
        return False
    is_sentence = _SENTENCE_START.match(text) or _VERB.search(text) or text.endswith((".", ":"))
    is_other = (
        person_names.find_name_line(text)
        or "@" in text
        or _CAPTION.match(text)
        or INSTITUTION.fullmatch(text)
    )
    return not is_sentence and not is_other


def _lines_of_title(
    head: Sequence[TextLine], at: int, size: float, gap: float
) -> Iterator[list[TextLine]]:
    """Yield the lines of a title below the heading of a form, and those above it."""
    below = [each for each in head[at + 1 : at + 6] if not _is_head_of_form(each.text)]
    above = [each for each in head[max(0, at - 3) : at] if not _is_head_of_form(each.text)]
    for near, next_line in ((below, below[:1]), (above, above[-1:])):
        large = [each for each in near[:3] if each.size > _LARGE_SHARE * size]
        large = large or [each for each in near[3:] if each.size > _HEADING_SHARE * size]
        while large and not _is_title(large[0].text):
            large.pop(0)
        large = list(takewhile(lambda each: not _CAPTION.match(each.text), large))
        is_title = (
            is_in_title_case(next_line)
            or _is_centred(head[at], next_line)
            or (near is below and (_is_paragraph(near, gap) or _has_text_below(near)))
            or (near is above and _is_in_column(head[at], next_line))
        )
        if not large and is_title:
            large = [each for each in next_line if _is_title(each.text)]
        if large:
            yield large


def _with_lines_below(first: TextLine, lines: Sequence[TextLine], gap: float) -> list[TextLine]:
    """Return a line of a title with the lines that continue it."""
    start = next(at for at, each in enumerate(lines) if each is first)
    paragraph = list(_paragraph_at(lines[start : start + _MAX_SUBJECT_LINES], gap))
    below = [each.text for each in paragraph[1:]]
    whole = title_lines.continue_title(first.text, below)
    return paragraph if whole == " ".join([first.text, *map(str.strip, below)]) else [first]


def _is_head_of_form(text: str) -> bool:
    """Return whether a line is the heading of a consent form, or names its date or a person."""
    rest = _CONSENT_WORDS_AROUND.sub("", text).strip()
    if not rest or _OF_PERSON.search(text) or person_names.find_name_line(text):
        return True
    return len(text.split()) <= _MAX_DATE_WORDS and next(dates.find_dates(text), None) is not None


def _is_centred(heading: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether a line has the centre of the heading, and begins elsewhere."""
    return any(
        abs(line.box.left + line.box.right - heading.box.left - heading.box.right) < _MAX_OFF_CENTRE
        and abs(line.box.left - heading.box.left) > MIN_INDENT
        for line in lines
    )


def _is_paragraph(lines: Sequence[TextLine], gap: float) -> bool:
    """Return whether the first of some lines has space below it, as a paragraph of one line."""
    return len(lines) > 1 and lines[1].box.top - lines[0].box.bottom > gap + _MIN_PARAGRAPH_GAP


def _has_text_below(lines: Sequence[TextLine]) -> bool:
    """Return whether the first of some lines is short, and the next one begins the text."""
    return len(lines) > 1 and title_lines.begins_paragraph(lines[1].text, lines[0].text)


def _is_in_column(heading: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether a line begins where the heading does."""
    return any(abs(line.box.left - heading.box.left) < MIN_INDENT for line in lines)


def _is_title(text: str) -> bool:
    words = text.split()
    is_institution = re.search(
        r"(?i)\b(?:university|department|college|school of|faculty of|institute|hospital"
        r"|(?:review|ethics) (?:board|committee)|what is (?:this|the) study)\b",
        text,
    )
    is_sentence = _SENTENCE_START.match(text) or text.rstrip().endswith((".", ":"))
    is_caption = _CAPTION.match(text) or title_captions.is_caption(text) or _OF_PERSON.search(text)
    is_other = is_institution or is_sentence or is_caption or _VERSION.search(text)
    return len(words) > 2 and not is_other
