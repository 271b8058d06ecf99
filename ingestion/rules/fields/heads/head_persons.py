"""Finds persons in the head of page 1: the addressee of a letter, a name in large type.

These places are known without a caption. A value found only by its place is never without doubt.
"""

import re
from collections.abc import Iterator, Sequence

from ingestion.reading.results import PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields.heads.layout import HEAD_SHARE, SALUTATION
from ingestion.rules.fields.persons import names, person_names
from ingestion.rules.fields.text_lines import TextLine, body_size
from ingestion.rules.fields.values import FieldValue, value_of_line

_TO = re.compile(
    r"(?i)^(?:(?:to|pi|attn|attention)(?:\s*:\s*(?P<name>.*))?"
    r"|(?:to|for) the attention of:?\s+(?P<attention>.+)"
    r"|(?-i:To)\s(?P<to>(?-i:[A-Z]).+))$"
)
_MAX_OFF_MIDDLE = 2.4  # of the height of a caption, twice the distance of a line from its middle
_ROLE_BEFORE = re.compile(
    r"(?i)^(?:(?:phd|doctoral|master'?s?|graduate|research|associate|assistant|senior)\s)*"
    r"(?:candidate|student|researcher|fellow|lecturer|professor)\s"
)


def find_addressees(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[tuple[FieldValue, bool]]:
    """Yield the names to whom a letter is addressed, and whether the salutation confirms each.

    A name is the whole of a line above the salutation, or stands after "To:". The salutation may
    have the surname or the first name alone.
    """
    head = [line for line in lines if line.box.top < HEAD_SHARE * page.height]
    greeting = next(
        ((at, found) for at, line in enumerate(head) if (found := SALUTATION.match(line.text))),
        None,
    )
    greeted = person_names.trim(greeting[1]["name"]) if greeting else ""
    above = head[: greeting[0]] if greeting else head
    for at, line in enumerate(above):
        if found := _TO.match(line.text):
            named = (found["name"] or found["attention"] or found["to"] or "").split("<")[0].strip()
            if not named and at + 1 < len(above):
                named = _first_line_beside(line, above) or above[at + 1].text
            name = person_names.trim(_ROLE_BEFORE.sub("", named))
            if not person_names.find_name_line(name):
                continue
        elif greeted:
            name = _name_of_line(line.text)
        else:
            continue
        is_greeted = bool(greeted) and _is_named(greeted, name)
        if name and (is_greeted or found):
            yield value_of_line(page, line.words, spec, name), is_greeted
    if greeting and re.fullmatch(person_names.PATTERN_AT_CAPTION, greeted):
        yield value_of_line(page, head[greeting[0]].words, spec, greeted), False


def _name_of_line(text: str) -> str:
    """Return the name that is all of a line, or that a role or a degree follows, or ""."""
    name = person_names.without_role(text)
    is_cut = name != text and person_names.may_follow_given_name(text, name)
    return person_names.find_name_line(text if is_cut else name)


def _first_line_beside(caption: TextLine, lines: Sequence[TextLine]) -> str:
    """Return the first line of the cell beside a caption, or beside whose middle it stands."""
    height = caption.box.bottom - caption.box.top
    centre = caption.box.top + caption.box.bottom
    beside = [
        line
        for line in lines
        if line.box.left >= caption.box.right
        and abs(line.box.top + line.box.bottom - centre) < _MAX_OFF_MIDDLE * height
    ]
    return min(beside, key=lambda line: line.box.top).text if beside else ""


def find_largest_names(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the names that are a line of their own in a type larger than that of the text."""
    size = body_size(lines)
    for line in sorted(lines, key=lambda each: -each.size):
        if line.size < 1.25 * size:
            return
        if name := person_names.find_name_line(line.text):
            yield value_of_line(page, line.words, spec, name)


def find_name_lines(
    page: PageReading, lines: Sequence[TextLine], spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the names that are a line of their own, as on a certificate."""
    for line in lines:
        if name := person_names.find_name_line(line.text):
            yield value_of_line(page, line.words, spec, name)


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
