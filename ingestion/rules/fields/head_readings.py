"""Values by their place in the head of page 1: the date of a letter, its addressee, a title.

These places are known without a caption. A value found only by its place is never without doubt.
"""

import re
from collections.abc import Iterator, Sequence

from ingestion.reading.results import PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import dates, names, person_names, study_titles
from ingestion.rules.fields.text_lines import TextLine, body_size
from ingestion.rules.fields.values import (
    SCAN_SOURCES,
    FieldValue,
    lowest_confidence,
    parse_date,
    value_of_words,
)

_HEAD_SHARE = 0.62  # of the height of page 1, above which a letter has date and salutation
_LETTERHEAD_SHARE = 0.4  # of the height of a page; the letterhead is above
_MAX_OFF_CENTRE = 24.0  # points, twice the distance of the centres of two centred lines
_MIN_INDENT = 8.0  # points between the left edges of two centred lines
_MAX_BOARD_WORDS = 10  # words of a line that is the name of a committee
_DATE_LINE = re.compile(r"(?i)^(?:(?:[^\W\d_]|[ .-]){1,30},\s*)?(?:date|dated|on)?\s*:?\s*$")
_AFTER_DATE = re.compile(r"(?i)^\W*(?:at\W*)?(?:\d{1,2}:\d\d.*)?$")
_DATE_CAPTION = re.compile(r"(?i)(?:^|[-|;,\u2013]\s*)(?:date|dated|sent)\s*:\s*$")
_DEAR = re.compile(r"(?i)^dear\b:?\s*(?P<name>.+?)[,:;]?$")
_TO = re.compile(r"(?i)^(?:to|pi|attn|attention)\s*:\s*(?P<name>.*)$")
_STUDY_WORDS = re.compile(
    r"(?i)^(?:(?:entitled|titled|title of (?:the )?(?:study|project|research)|study|project"
    r"|research)\W*)+"
)
_CONSENT_HEADING = re.compile(
    r"(?i)\b(?:informed |participant |adult |parental )*(?:consent|permission|assent)\b"
)
_CONSENT_WORDS_AROUND = re.compile(
    r"(?i)[\s\u2013:-]*(?:\(?(?:informed |participant |adult )*consent (?:form|statement)\)?)\s*$"
)


def dates_of_letter(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec, *, month_first: bool | None
) -> Iterator[FieldValue]:
    """Yield the dates that stand alone on a line above the salutation, or after "Date:" there."""
    is_scan = page.source in SCAN_SOURCES
    for line in lines:
        if line.box.top > _HEAD_SHARE * page.height or _DEAR.match(line.text):
            return
        for written in dates.find_dates(line.text, month_first=month_first):
            before, after = line.text[: written.start], line.text[written.end :]
            if not _DATE_CAPTION.search(before) and not (
                _DATE_LINE.match(before) and _AFTER_DATE.match(after)
            ):
                continue
            parsed = parse_date(
                line.text[written.start :], month_first=month_first, is_scan=is_scan, max_gap=0
            )
            if parsed:
                words = [word for word in line.words if word.text in line.text[written.start :]]
                yield value_of_words(spec.name, page, words or line.words, parsed)
                break


def addressees(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[tuple[FieldValue, bool]]:
    """Yield the names to whom a letter is addressed, and whether the salutation confirms each.

    A name is the whole of a line above the salutation, or stands after "To:". The salutation may
    have the surname or the first name alone.
    """
    head = [line for line in lines if line.box.top < _HEAD_SHARE * page.height]
    greeting = next(
        ((at, found) for at, line in enumerate(head) if (found := _DEAR.match(line.text))), None
    )
    greeted = person_names.trim(greeting[1]["name"]) if greeting else ""
    above = head[: greeting[0]] if greeting else head
    for at, line in enumerate(above):
        if found := _TO.match(line.text):
            named = found["name"].split("<")[0].strip()
            if not named and at + 1 < len(above):
                named = above[at + 1].text  # in the next column
            name = person_names.trim(named)
            if not person_names.find_name_line(name):
                continue
        elif greeted:
            name = person_names.find_name_line(line.text)
        else:
            continue
        is_greeted = bool(greeted) and _is_named(greeted, name)
        if name and (is_greeted or found):
            yield _value_of_line(page, line, spec, name), is_greeted
    if greeting and re.fullmatch(person_names.PATTERN, greeted):
        yield _value_of_line(page, head[greeting[0]], spec, greeted), False


def largest_names(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the names that are a line of their own in a type larger than that of the text."""
    size = body_size(lines)
    for line in sorted(lines, key=lambda each: -each.size):
        if line.size < 1.25 * size:
            return
        if name := person_names.find_name_line(line.text):
            yield _value_of_line(page, line, spec, name)


def name_lines(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the names that are a line of their own, as on a certificate."""
    for line in lines:
        if name := person_names.find_name_line(line.text):
            yield _value_of_line(page, line, spec, name)


def lines_with_heading(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the short lines of the head that name an institution by the field's phrases."""
    for line in lines:
        if line.box.top > _LETTERHEAD_SHARE * page.height:
            return
        if not any(fuzzy_phrases.contains_phrase(line.text, phrase) for phrase in spec.heading):
            continue
        text = line.text.strip(" ,;_-")
        if len(text.split()) <= _MAX_BOARD_WORDS and not text.endswith("."):
            yield _value_of_line(page, line, spec, text)


def boards_in_text(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the committees that the sentences of a page name with the name of their institution."""
    texts = [
        (line, _ARTICLE.sub("", _POSSESSIVE.sub("", match[0]).strip(" ,;.")))
        for line in lines
        for match in _BOARD.finditer(line.text)
    ]
    named = [each for each in texts if _BOARD_WORD.search(each[1])]
    for line, text in sorted(named, key=lambda each: not _IN_BOARD.search(each[1])):
        if names.names_institution(text):
            yield _value_of_line(page, line, spec, text)


def titles_beside_heading(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the title of the study in the heading of a consent form.

    It is in the line of the heading, or in the lines of a larger or bold type next to it.
    """
    size = body_size(lines)
    head = [line for line in lines if line.box.top < _HEAD_SHARE * page.height]
    for at, line in enumerate(head):
        if not _CONSENT_HEADING.search(line.text) or len(line.text.split()) > 14:
            continue
        rest = _CONSENT_WORDS_AROUND.sub("", line.text).strip(' \u2013:-\u201c\u201d"')
        if rest != line.text.strip() and len(rest.split()) > 1 and not _INSTITUTION.match(rest):
            yield _value_of_line(page, line, spec, rest)
        for near in (head[at + 1 : at + 4], head[max(0, at - 3) : at]):
            large = [each for each in near if each.size > 1.08 * size]
            while large and not _is_title(large[0].text):
                large.pop(0)
            if not large and _is_centred(line, near[:1]):
                large = [each for each in near[:1] if _is_title(each.text)]
            if large:
                text = " ".join(each.text.strip() for each in large)
                value = _value_of_line(page, large[0], spec, _STUDY_WORDS.sub("", text))
                yield value
        return


def institutions(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the institutions that page 1 names, those in its head first."""
    for line in lines:
        plain = line.text.strip(" ,;.")
        if len(plain.split()) <= _MAX_INSTITUTION_WORDS and _INSTITUTION.match(plain):
            yield _value_of_line(page, line, spec, plain)
            continue
        for match in _INSTITUTION.finditer(line.text):
            yield _value_of_line(page, line, spec, match[0].strip(" ,;."))


_NAME_WORD = r"[^\W\d_a-z][\w.'\u2019-]*"
_OF = r"(?:of|the|and|at|for|in|&|de|del)"
_MAX_INSTITUTION_WORDS = 7
_BOARD = re.compile(
    rf"(?:{_NAME_WORD} (?:(?:of the|for the|of|for|and|&|at|in) )?){{1,8}}"
    r"(?:(?:Institutional|Ethics?|Ethical|Research|Human|Subjects|Review) ){0,4}"
    r"(?:Boards?|Committees?|Commission|IRB|IEC|REB|REC|HREC)\b(?: \([A-Z]{2,8}\))?"
    rf"(?:(?:,| of| at)(?: the)? (?:{_NAME_WORD} ?(?:(?:{_OF}) )?){{1,5}})?"
)
# Words of institutions, and their acronyms.
_IN_BOARD = re.compile(
    r"University|College|Institute|Hospital|Faculty|School|Department|\b[A-Z]{3,6} (?:IRB|REB|REC)"
)
_BOARD_WORD = re.compile(r"(?i)review|ethic|IRB|IEC|REB|REC|subjects")
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_ARTICLE = re.compile(r"^(?:The|This|From|On|Your|Our|Dear|To) ")
_SENTENCE_START = re.compile(
    r"(?i)^(?:thank|please|you|i|we|this|the purpose|if|dear|before|as|in|key information)\b"
)
_CAPTION = re.compile(
    r"(?i)(?:[\w-]+ ){0,2}(?:investigators?|researchers?|sponsor|protocol|number|version|date|site)"
    r"(?: number)?\s*:"
)
_INSTITUTION = re.compile(
    rf"(?:{_NAME_WORD} ){{0,5}}"
    r"(?:University|UNIVERSITY|College|COLLEGE|Institute|Hospital|HOSPITAL|Infirmary|Clinic"
    r"|Medical Cent(?:er|re))"
    rf"(?: (?:{_OF} )*{_NAME_WORD}){{0,5}}"
)


def _is_centred(heading: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether a line has the centre of the heading, and begins elsewhere."""
    return any(
        abs(line.box.left + line.box.right - heading.box.left - heading.box.right) < _MAX_OFF_CENTRE
        and abs(line.box.left - heading.box.left) > _MIN_INDENT
        for line in lines
    )


def _is_title(text: str) -> bool:
    words = text.split()
    is_institution = re.search(
        r"(?i)\b(?:university|department|college|school of|institute)\b", text
    )
    is_sentence = _SENTENCE_START.match(text) or text.rstrip().endswith((".", ":"))
    is_caption = _CAPTION.match(text) or study_titles.is_caption(text)
    is_other = is_institution or is_sentence or is_caption
    return len(words) > 2 and not is_other


def _is_named(greeted: str, name: str) -> bool:
    """Return whether a salutation names a person, if only by surname or first name."""
    letters = fuzzy_phrases.fold_letters(fuzzy_phrases.remove_accents(name))
    words = re.findall(r"\w{2,}", fuzzy_phrases.remove_accents(greeted))
    if not any(fuzzy_phrases.fold_letters(word) in letters for word in words):
        return False  # the usual case
    if names.is_same_person(greeted, name):
        return True
    called = [part for group in names.split_name(greeted) for part in group]
    known = {part for group in names.split_name(name) for part in group}
    return bool(called) and all(part in known for part in called)


def _value_of_line(page: PageReading, line: TextLine, spec: FieldSpec, text: str) -> FieldValue:
    confidence = lowest_confidence(line.words)
    return FieldValue(spec.name, text, page.number, page.source, confidence, line.box)
