"""Values by their place in the head of page 1: the date of a letter, its addressee, a title.

These places are known without a caption. A value found only by its place is never without doubt.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile, zip_longest

from ingestion.reading.results import PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import dates, study_titles
from ingestion.rules.fields.persons import names, person_names
from ingestion.rules.fields.reference_numbers import find_references
from ingestion.rules.fields.text_lines import TextLine, body_size, line_gap
from ingestion.rules.fields.values import (
    SCAN_SOURCES,
    FieldValue,
    parse_date,
    value_of_line,
    value_of_words,
)

_HEAD_SHARE = 0.62  # of the height of page 1, above which a letter has date and salutation
LETTERHEAD_SHARE = 0.4  # of the height of a page; the letterhead is above
_MAX_OFF_CENTRE = 24.0  # points, twice the distance of the centres of two centred lines
_MIN_INDENT = 8.0  # points between the left edges of two centred lines
_MAX_HEADING_WORDS = 14  # of the heading of a form
_LARGE_SHARE = 1.08  # of the type size of the text
_MIN_PARAGRAPH_GAP = 2.0  # points; a paragraph ends before so much more space
_MAX_SHORT_WORD = 3  # letters of a word that need not begin with a capital letter in a title
_TITLE_CASE_SHARE = 0.8
_MIN_WRAPPED_LINE = 60  # characters; a shorter line ends because the text does
_MAX_WRAPPED_WORDS = 7  # of the name of a committee, in the next line
_MAX_BOARD_WORDS = 10  # words of a line that is the name of a committee
_MAX_INSTITUTION_WORDS = 7
_MAX_CAPTION_WORDS = 3  # of a caption, which leads to no paragraph
_NAMES_STUDY = re.compile(
    r"(?i)\b(?:entitled|titled|the (?:above )?(?:research |clinical |study )*(?:project|study"
    r"|protocol|proposal|trial)):?$"
)
_OF_PERSON = re.compile(r"(?i)\b(?:investigator|researcher)s?$")
_ITEM = re.compile(r"\d{1,2}[.)]\s")
_RANK_OF_REGISTERS = 3  # of references that are not those of the committee
_MAX_DATE_WORDS = 6  # of a line that has only a version and its date
_MAX_SUBJECT_LINES = 3
_MIN_LINE_SHARE = 0.7  # of the longest line; a shorter one ends a paragraph
_DATE_LINE = re.compile(r"(?i)^(?:(?:[^\W\d_]|[ .-]){1,30},\s*)?(?:date|dated|dt\.?|on)?\s*:?\s*$")
_AFTER_DATE = re.compile(r"(?i)^\W*(?:at\W*)?(?:\d{1,2}:\d\d.*)?$")
_DATE_CAPTION = re.compile(
    r"(?i)(?:^|[-|;,\u2013]\s*)(?:date|dated|sent)\s*:\s*"
    r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,?\s*)?$"
)
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
_NAME_WORD = r"[^\W\d_a-z][\w.'\u2019-]*"
_OF = r"(?:of|the|and|at|for|in|&|de|del)"
_BOARD = re.compile(
    rf"(?:{_NAME_WORD} (?:(?:of the|for the|of|for|and|&|at|in) )?){{1,8}}"
    r"(?:(?:Institutional|Ethics?|Ethical|Research|Human|Subjects|Review) ){0,4}"
    r"(?:Boards?|Committees?|Commission|Panel|Ethics Office|IRB|IEC|REB|REC|HREC)\b"
    r"(?: Research(?= of\b| at\b))?(?: \([A-Z]{2,8}\))?"
    rf"(?:(?:,| of| at| on| for)(?: the)? (?:{_NAME_WORD} ?(?:(?:{_OF}) )?){{1,5}})?"
)
# Words of institutions, and their acronyms.
_IN_BOARD = re.compile(
    r"University|College|Institute|Hospital|Faculty|School|Department|\b[A-Z]{3,6} (?:IRB|REB|REC)"
)
_BOARD_WORD = re.compile(r"(?i)review|ethic|IRB|IEC|REB|REC|subjects")
_POSSESSIVE = re.compile(
    r"['\u2019]s(?= (?:Institutional|Research|Human|Ethics?|Review|Board|Committee|IRB|REB|REC)\b)"
)
_ARTICLE = re.compile(r"^(?:The|This|From|On|Your|Our|Dear|To) ")
_DOCUMENT_OF = re.compile(
    r"(?i)^(?:statement|decision|opinion|approval|letter|notice|certificate|attestation|resolution|minutes|report|memo\w*)"
    r"\s+(?:of|from|by)\s+(?:the\s+)?"
)
_INVITES = re.compile(
    r"(?i)\byou (?:are|have been) (?:being )?(?:asked|invited)\b|\byour participation\b"
)
_NO_TITLE_OF_FORM = re.compile(
    r"(?i)\b(?:information|sheet|authori[sz]ation|hipaa|participants?|version)\b"
)
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
_NUMBER_BEFORE_TITLE = re.compile(
    r"^\W*(?=[\w/.-]*\d{3})(?=[\w/.-]*[A-Z/])[A-Z0-9][\w/.-]*\w\s*(?::|-|\u2013|\u2014|,)?\s+(?=[^\W\d_]{2}|[\u201c\"])"
)
_VERB = re.compile(
    r"(?i)\b(?:is|are|was|were|has been|have|will|you|your|we|i|please|thank|approved|reviewed)\b"
)
_LABORATORY = re.compile(
    r"(?i)\b(?:laborator(?:y|ies)|labs?|diagnostics|patholog\w+|biochemistry)\b"
)
_NO_LABORATORY = re.compile(
    r"(?i)\b(?:directors?|names?|improvement|oversight|certif\w+|accredit\w+|association|college of"
    r"|guild|society|board|council|standards?|licen[cs]e|permit|requirements|named|iso|schedule"
    r"|number|medical laboratories|testing|services? administration)\b|[.:]$"
)
_MEETS = re.compile(
    r"(?i)(?:has (?:been|met|demonstrated)|(?:is|was) (?:\w+by |duly )?"
    r"(?:accredited|certified|licen[cs]ed|authori[sz]ed|approved)"
    r"|meets?|fulfil+s?|satisf(?:ies|y)|compl(?:ies|y)|conforms?|having met"
    r"|operates in accordance|has successfully)\b"
)
_ANNOUNCES = re.compile(
    r"(?i)(?:\b(?:certif|attest|confirm|declare|recogni)\w* that"
    r"(?: the (?:\w+ ){0,2}laborator(?:y|ies))?"
    r"|\b(?:awarded|granted|presented|issued) to"
    r"|\baccredits(?: the)?|\bfollowing laboratory\b.*)\s*:?$"
)
_DOCUMENT_HEADING = re.compile(
    r"(?i)\b(?:certificate|accreditation|licen[cs]e|permit|registration)\b"
)
_NO_LABORATORY_LINE = re.compile(
    r"(?i)^(?:certificate|this\b|here\w+|the following)"
    r"|\b(?:certif\w+|attests?|confirms?) that\b|:$"
)
_ADDRESS_LINE = re.compile(r"^\d|\d{3}|(?i:\b(?:street|road|avenue|suite|floor|p\.?o\.? box)\b)")
_MAX_ADDRESS_LINES = 6


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
            yield value_of_line(page, line.words, spec, name), is_greeted
    if greeting and re.fullmatch(person_names.PATTERN, greeted):
        yield value_of_line(page, head[greeting[0]].words, spec, greeted), False


def largest_names(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the names that are a line of their own in a type larger than that of the text."""
    size = body_size(lines)
    for line in sorted(lines, key=lambda each: -each.size):
        if line.size < 1.25 * size:
            return
        if name := person_names.find_name_line(line.text):
            yield value_of_line(page, line.words, spec, name)


def name_lines(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the names that are a line of their own, as on a certificate."""
    for line in lines:
        if name := person_names.find_name_line(line.text):
            yield value_of_line(page, line.words, spec, name)


def lines_with_heading(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the short lines of the head that name an institution by the field's phrases."""
    for line in lines:
        if line.box.top > LETTERHEAD_SHARE * page.height:
            return
        if not any(fuzzy_phrases.contains_phrase(line.text, phrase) for phrase in spec.heading):
            continue
        text = line.text.strip(" ,;_-")
        plain = _DOCUMENT_OF.sub("", text)
        if plain != text and not names.names_institution(plain):
            continue
        text = plain
        if len(text.split()) <= _MAX_BOARD_WORDS and not text.endswith((".", ":")):
            yield value_of_line(page, line.words, spec, text)


def boards_in_text(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the committees that the sentences of a page name with the name of their institution."""
    texts = [
        (line, _plain_name_of_board(match[0]))
        for line, following in zip_longest(lines, lines[1:])
        for match in _BOARD.finditer(_with_wrapped_words(line, following))
        if match.start() < len(line.text)
    ]
    named = [each for each in texts if _BOARD_WORD.search(each[1])]
    for line, text in sorted(named, key=lambda each: not _IN_BOARD.search(each[1])):
        if names.names_institution(text):
            yield value_of_line(page, line.words, spec, text)


def _plain_name_of_board(text: str) -> str:
    """Return the name of a committee without the words before it and the sentence after it."""
    sentence = re.split(r"(?<=[a-z]{2})\.\s", text)[0]
    plain = _ARTICLE.sub("", _POSSESSIVE.sub("", sentence).strip(" ,;."))
    return _DOCUMENT_OF.sub("", plain)


def _with_wrapped_words(line: TextLine, following: TextLine | None) -> str:
    """Return the text of a line; if it goes on in the line below, with the first words of that."""
    if following is None or len(line.text) < _MIN_WRAPPED_LINE:
        return line.text
    if abs(following.box.left - line.box.left) > _MIN_INDENT:
        return line.text
    return f"{line.text} {' '.join(following.text.split()[:_MAX_WRAPPED_WORDS])}"


def titles_beside_heading(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the title of the study in the heading of a consent form.

    It is in the line of the heading, or in the lines of a larger or bold type next to it.
    """
    head = [line for line in lines if line.box.top < _HEAD_SHARE * page.height]
    for at, line in enumerate(head):
        if not _CONSENT_HEADING.search(line.text) or len(line.text.split()) > _MAX_HEADING_WORDS:
            continue
        rest = _CONSENT_WORDS_AROUND.sub("", line.text).strip(' \u2013:-\u201c\u201d"')
        is_changed = rest != line.text.strip() and len(rest.split()) > 1
        if is_changed and not _INSTITUTION.match(rest) and not _NO_TITLE_OF_FORM.search(rest):
            yield value_of_line(page, line.words, spec, rest)
        for near in _lines_of_title(head, at, body_size(lines), line_gap(lines)):
            text = " ".join(each.text.strip() for each in near)
            yield value_of_line(page, near[0].words, spec, _STUDY_WORDS.sub("", text))
        return
    for line in head[:1] if _INVITES.search(page.text) else ():
        if _is_title(line.text) and _is_in_title_case([line]):
            yield value_of_line(page, line.words, spec, line.text.strip())


def subject_titles(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the titles of studies that a letter prints as a paragraph of their own, uncaptioned.

    The paragraph follows the salutation or a line such as "on the captioned matter:", or begins
    with a reference number.
    """
    gap = line_gap(lines)
    for at, line in enumerate(lines[1:], 1):
        if line.box.top > _HEAD_SHARE * page.height:
            return
        before = lines[at - 1].text.strip()
        follows = before.endswith(":") and len(before.split()) > _MAX_CAPTION_WORDS
        has_number = _NUMBER_BEFORE_TITLE.match(line.text) is not None
        follows = follows or _NAMES_STUDY.search(before) is not None
        if not (_DEAR.match(before) or follows or has_number or _ends_with_number(before)):
            continue
        paragraph = list(_paragraph_at(lines[at : at + _MAX_SUBJECT_LINES + 1], gap))
        whole = " ".join(each.text for each in paragraph)
        if len(paragraph) > _MAX_SUBJECT_LINES or not _is_subject(whole):
            continue
        title = study_titles.clean(_NUMBER_BEFORE_TITLE.sub("", whole))
        if len(title.split()) > 2 and study_titles.is_title_of_subject(title):
            yield value_of_line(page, line.words, spec, title)


def _ends_with_number(text: str) -> bool:
    """Return whether a line ends with the number of a study, as in "Application 22/31"."""
    if not text[-1:].isdigit():
        return False
    found = [each for each in find_references(text) if each.rank < _RANK_OF_REGISTERS]
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
        if not is_near or is_short or abs(below.box.left - line.box.left) > _MIN_INDENT:
            return
        yield below


def _is_subject(text: str) -> bool:
    """Return whether a paragraph of a letter is no sentence, address, caption or closing."""
    named = text.partition(":")[2].strip()
    if study_titles.may_be_cut(text) or _ITEM.match(text) or person_names.find_name_line(named):
        return False
    is_sentence = _SENTENCE_START.match(text) or _VERB.search(text) or text.endswith((".", ":"))
    is_other = (
        person_names.find_name_line(text)
        or "@" in text
        or _CAPTION.match(text)
        or _INSTITUTION.fullmatch(text)
    )
    return not is_sentence and not is_other


def laboratories(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the names of laboratories that are a line of their own, in the largest type first."""
    for line in sorted(lines, key=lambda each: -round(each.size)):
        text = line.text.strip(" ,;")
        is_named = _LABORATORY.search(text) and names.names_institution(text)
        is_named = is_named and _is_in_title_case([line])
        if is_named and not _NO_LABORATORY.search(text) and len(text.split()) <= _MAX_BOARD_WORDS:
            yield value_of_line(page, line.words, spec, text)


def accredited_laboratories(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[tuple[FieldValue, bool]]:
    """Yield the lines above words such as "meets the requirements of", without the address.

    The second part says whether the line above announces the name, as "this certifies that".
    """
    for at, line in enumerate(lines):
        if not _MEETS.match(line.text):
            continue
        for number in range(at - 1, max(at - _MAX_ADDRESS_LINES, 0), -1):
            text = lines[number].text.strip(" ,;")
            above = lines[number - 1].text
            is_announced = _ANNOUNCES.search(above) is not None
            if _NO_LABORATORY_LINE.search(text):
                break
            if (is_announced or _DOCUMENT_HEADING.search(above)) and not _ADDRESS_LINE.search(text):
                yield value_of_line(page, lines[number].words, spec, text), is_announced
                break


def _lines_of_title(
    head: Sequence[TextLine], at: int, size: float, gap: float
) -> Iterator[list[TextLine]]:
    """Yield the lines of a title below the heading of a form, and those above it."""
    below = [each for each in head[at + 1 : at + 6] if not _is_head_of_form(each.text)][:3]
    above = [each for each in head[max(0, at - 3) : at] if not _is_head_of_form(each.text)]
    for near, next_line in ((below, below[:1]), (above, above[-1:])):
        large = [each for each in near if each.size > _LARGE_SHARE * size]
        while large and not _is_title(large[0].text):
            large.pop(0)
        large = list(takewhile(lambda each: not _CAPTION.match(each.text), large))
        is_title = (
            _is_in_title_case(next_line)
            or _is_centred(head[at], next_line)
            or (near is below and (_is_paragraph(near, gap) or _has_text_below(near)))
            or (near is above and _is_in_column(head[at], next_line))
        )
        if not large and is_title:
            large = [each for each in next_line if _is_title(each.text)]
        if large:
            yield large


def _is_head_of_form(text: str) -> bool:
    """Return whether a line is the heading of a consent form, or names its date or a person."""
    rest = _CONSENT_WORDS_AROUND.sub("", text).strip()
    if not rest or _OF_PERSON.search(text) or person_names.find_name_line(text):
        return True
    return len(text.split()) <= _MAX_DATE_WORDS and next(dates.find_dates(text), None) is not None


def institutions(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the institutions that page 1 names, those in its head first."""
    for line in lines:
        plain = line.text.strip(" ,;.")
        if len(plain.split()) <= _MAX_INSTITUTION_WORDS and _INSTITUTION.match(plain):
            yield value_of_line(page, line.words, spec, plain)
            continue
        for match in _INSTITUTION.finditer(line.text):
            yield value_of_line(page, line.words, spec, match[0].strip(" ,;."))


def _is_centred(heading: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether a line has the centre of the heading, and begins elsewhere."""
    return any(
        abs(line.box.left + line.box.right - heading.box.left - heading.box.right) < _MAX_OFF_CENTRE
        and abs(line.box.left - heading.box.left) > _MIN_INDENT
        for line in lines
    )


def _is_paragraph(lines: Sequence[TextLine], gap: float) -> bool:
    """Return whether the first of some lines has space below it, as a paragraph of one line."""
    return len(lines) > 1 and lines[1].box.top - lines[0].box.bottom > gap + _MIN_PARAGRAPH_GAP


def _has_text_below(lines: Sequence[TextLine]) -> bool:
    """Return whether the first of some lines is short, and the next one begins the text."""
    return len(lines) > 1 and study_titles.begins_paragraph(lines[1].text, lines[0].text)


def _is_in_column(heading: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether a line begins where the heading does."""
    return any(abs(line.box.left - heading.box.left) < _MIN_INDENT for line in lines)


def _is_in_title_case(lines: Sequence[TextLine]) -> bool:
    """Return whether the longer words of some lines begin with capital letters."""
    words = [word for line in lines for word in line.text.split() if len(word) > _MAX_SHORT_WORD]
    capitals = sum(word[0].isupper() for word in words)
    return len(words) > 1 and capitals >= _TITLE_CASE_SHARE * len(words)


def _is_title(text: str) -> bool:
    words = text.split()
    is_institution = re.search(
        r"(?i)\b(?:university|department|college|school of|institute|hospital)\b", text
    )
    is_sentence = _SENTENCE_START.match(text) or text.rstrip().endswith((".", ":"))
    is_caption = _CAPTION.match(text) or study_titles.is_caption(text) or _OF_PERSON.search(text)
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
