"""Finds values at captions: beside, below, above or after them.

The words of a caption within a sentence, or across two columns, are no caption.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from ingestion.reading.results import PageReading, Word
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import geometry, table_columns, text_readings
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.dates import find_dates
from ingestion.rules.fields.persons import person_names
from ingestion.rules.fields.reference_numbers import is_house_number
from ingestion.rules.fields.searches.found_values import RANK_OF_SENTENCES, FoundValue, add_found
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.text_lines import TextLine, ValueAbove, find_value_above
from ingestion.rules.fields.values import (
    FieldValue,
    pattern_of,
    value_at_start,
    value_of_line,
    words_at,
)

_IsCertainPlace = Callable[[PageReading, geometry.TextSpan, FieldValue], bool]
_CONTEXT_WORDS = 12  # words before a caption in which `near` and `not_near` are searched
# Captions that are examined for one field. The limit bounds the time for a document that consists
# of nothing but captions.
_MAX_CAPTIONS_PER_FIELD = 200
_MAX_LINE_DROP = 80.0  # points below a caption within which large type may begin
_SENTENCE_WIDTH = 40.0  # points before a word in which the words of its sentence would stand
_MAX_OFFSET = 3.0  # points
_CAPTIONS_IN_ONE_LINE = frozenset({"date", "name"})  # or in one column
_CELL_KINDS = frozenset({"name", "number"})  # whose values do not go on in the next column
_KINDS_IN_LINE = _CELL_KINDS | {"date"}  # which do not stand below a caption in a sentence
_SECOND_NUMBER = (  # other than that of a public register
    r"\((?!NCT|ISRCTN|EudraCT|IND)(?=[^()]*\d{3})[A-Z]{1,6}[\w:/.-]*\d\)"
)
_NOTE_BEHIND = re.compile(r"\([^()]*\)$")  # as in "Name (printed)"
_SIGN = re.compile(r"(?i)[#:]+|no\.?:?|number:?|id:?")
# Between the parts of a text: a sponsor, the number of a study, its title.
_BETWEEN_PARTS = re.compile(r"\s*[;:,()]\s+|\s*[()]\s*|\s+[-\u2013\u2014]\s+|[;:,]$")
_REGISTRY = re.compile(r"(?i)\bregist(?:ry|er|ration)\b")
_CODE_OF_STUDY = re.compile(r"(?=[^\d]*\d)(?=[^A-Z]*[A-Z])[\w/.-]{5,}")
_CAPTION_GOES_ON = re.compile(
    r"(?i)^(?!(?:on|of|at|as|by|until|in|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"|[\u3041-\u9fff\uac00-\ud7a3])[^\W\d_]{2,}"  # 令和6年 is a date
)


def search_captions(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the values at the captions of a field, the most specific caption first.

    Once a value at a caption was found in two ways, less specific captions are not examined.
    """
    examined = 0
    for rank, label in document.labels_of(spec):
        by_label: dict[str, FoundValue] = {}
        for page in document.reading.pages:
            is_limit_reached = examined >= _MAX_CAPTIONS_PER_FIELD
            if is_limit_reached or not fuzzy_phrases.contains_phrase(page.text, label):
                continue
            captions = geometry.find_phrase(page, label)
            for caption in islice(captions, _MAX_CAPTIONS_PER_FIELD - examined):
                examined += 1
                if each := _at_caption(document, page, caption, spec, rank, label):
                    add_found(by_label, each)
            for value in text_readings.values_after_caption(
                page,
                label,
                spec,
                month_first=document.month_first,
                is_other=partial(document.is_of_other_event, spec=spec, caption=label),
            ):
                add_found(by_label, FoundValue(value, frozenset({Way.TEXT}), rank))
        found = [each for each in by_label.values() if not document.is_printed(spec, each.value)]
        yield from found
        yield from _with_second_numbers(document, spec, found)
        if any(each.is_agreed for each in found):
            return


def _at_caption(
    document: SearchedDocument,
    page: PageReading,
    caption: geometry.TextSpan,
    spec: FieldSpec,
    rank: int,
    label: str,
) -> FoundValue | None:
    """Return the value beside, below or above one occurrence of a caption, or None."""
    if (
        not is_caption_in_context(page, caption, spec)
        or not is_isolated(page, caption, spec)
        or document.is_of_other_event(_words_before(page, caption), spec, label)
        or not geometry.is_in_one_column(page, caption)
    ):
        return None
    above = _find_value_above(document.lines_of(page), page, caption)
    if above and above.is_certain:
        value = value_at_start(page, above.line.words, spec, month_first=document.month_first)
        if value:
            return FoundValue(value, frozenset({Way.PLACE, Way.ALIGNED}), rank)
    return (
        _beside_or_below(document, page, caption, spec, rank)
        or _name_above(page, caption, spec, above.line if above else None, rank)
        or _code_beside_or_below(document, page, caption, spec, rank)
    )


def _beside_or_below(
    document: SearchedDocument,
    page: PageReading,
    caption: geometry.TextSpan,
    spec: FieldSpec,
    rank: int,
) -> FoundValue | None:
    """Return the value at the first place of a caption that has one, or None."""
    for run, is_certain_place in _places_at(document, page, caption, spec):
        words = _first_cell(run) if spec.kind in _CELL_KINDS else run
        value = value_at_start(page, words, spec, month_first=document.month_first)
        if value and not document.is_printed(spec, value) and not _is_house_number(value, words):
            ways = {Way.PLACE}
            if _is_one_of_column(document.lines_of(page), page, caption, spec):
                return FoundValue(value, frozenset(ways), RANK_OF_SENTENCES)
            if spec.kind != "text" and is_certain_place(page, caption, value):
                ways.add(Way.ALIGNED)
            return FoundValue(value, frozenset(ways), rank)
    return None


def _is_house_number(value: FieldValue, words: Sequence[Word]) -> bool:
    """Return whether a value is the number of a house, as in the line below "Example Centre"."""
    number, text = value.value, " ".join(word.text for word in words)
    start = text.find(number)
    return start >= 0 and is_house_number(number, text, start + len(number))


def _is_one_of_column(
    lines: Sequence[TextLine], page: PageReading, caption: geometry.TextSpan, spec: FieldSpec
) -> bool:
    """Return whether a caption heads a column of a table with several different dates."""
    if spec.kind != "date":
        return False
    first = page.words[caption.start]
    head = next((line for line in lines if line.words[0] is first), None)
    cells = table_columns.find_cells_below(head, lines) if head else []
    return len({cell.text for cell in cells}) > 1


def _code_beside_or_below(
    document: SearchedDocument,
    page: PageReading,
    caption: geometry.TextSpan,
    spec: FieldSpec,
    rank: int,
) -> FoundValue | None:
    """Return the number of a study that stands between other texts at its caption, or None.

    As in "Protocol: Example Ltd - AB-101, A study of ...". Other texts have no such form.
    """
    if not spec.is_study_number:
        return None
    for run, _ in _places_at(document, page, caption, spec):
        text = " ".join(word.text for word in run)
        parts = [part for part in _BETWEEN_PARTS.split(text) if _CODE_OF_STUDY.fullmatch(part)]
        codes = [
            part
            for part in parts
            if re.fullmatch(pattern_of(spec), part) and next(find_dates(part), None) is None
        ]
        if codes and not _REGISTRY.search(text.partition(codes[0])[0]):
            start = text.index(codes[0])
            words = words_at(run, start, start + len(codes[0]))
            return FoundValue(
                value_of_line(page, words, spec, codes[0]), frozenset({Way.PLACE}), rank
            )
    return None


def _name_above(
    page: PageReading,
    caption: geometry.TextSpan,
    spec: FieldSpec,
    line: TextLine | None,
    rank: int,
) -> FoundValue | None:
    """Return the name that is all of the line above a caption with nothing beside or below it."""
    name = person_names.find_name_line(line.text) if line else ""
    if not name or not line or spec.kind != "name" or geometry.words_below(page, caption):
        return None
    if not geometry.has_no_text_after(page, caption):
        return None
    value = value_of_line(page, line.words, spec, name)
    return FoundValue(value, frozenset({Way.PLACE}), rank)


def _places_at(
    document: SearchedDocument, page: PageReading, caption: geometry.TextSpan, spec: FieldSpec
) -> Iterator[tuple[Sequence[Word], _IsCertainPlace]]:
    """Yield the words at the places where a value of a caption may stand, one by one.

    Each place comes with the test of whether a value is exactly there.
    """
    yield geometry.words_right_of(page, caption), _is_beside
    if spec.kind in _KINDS_IN_LINE and not geometry.has_no_text_after(page, caption):
        return  # the sentence goes on beside it
    below = geometry.words_below(page, caption)
    yield () if geometry.has_caption_before(page, below) else below, _is_aligned
    yield _line_below(document.lines_of(page), caption), _is_aligned


def _line_below(lines: Sequence[TextLine], caption: geometry.TextSpan) -> Sequence[Word]:
    """Return the words of the next line below a caption, which may be of a larger type."""
    box = caption.box
    below = [
        line
        for line in lines
        if box.bottom - 2 < line.box.top < box.bottom + _MAX_LINE_DROP
        and line.box.left < box.right
        and line.box.right > box.left
    ]
    return min(below, key=lambda line: line.box.top).words if below else ()


def _find_value_above(
    lines: Sequence[TextLine], page: PageReading, caption: geometry.TextSpan
) -> ValueAbove | None:
    """Return the text above a caption that is all of its line, as on a line to write on."""
    first, last = page.words[caption.start], page.words[caption.end - 1]
    if last.text.endswith(":"):
        return None
    line = next((each for each in lines if each.words[0] is first), None)
    if line is None or not (line.words[-1] is last or _NOTE_BEHIND.search(line.text)):
        return None
    return find_value_above(line, lines)


def _first_cell(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words up to the next column. A sign such as "#" belongs to the caption."""
    start = next((at for at, word in enumerate(words) if not _SIGN.fullmatch(word.text)), 0)
    return geometry.first_cell(words[start:])


def _is_beside(page: PageReading, caption: geometry.TextSpan, value: FieldValue) -> bool:
    """Return whether a value stands level with a caption that ends with a colon."""
    return (
        value.box is not None
        and page.words[caption.end - 1].text.endswith(":")
        and geometry.is_level_with(page.words[caption.end - 1].box, value.box)
    )


def _is_aligned(_page: PageReading, caption: geometry.TextSpan, value: FieldValue) -> bool:
    """Return whether a value below a caption has its left edge, or its centre."""
    if value.box is None:
        return False
    one, other = caption.box, value.box
    centres = (one.left + one.right) - (other.left + other.right)
    return abs(one.left - other.left) < _MAX_OFFSET or abs(centres) < 4 * _MAX_OFFSET


def _with_second_numbers(
    document: SearchedDocument, spec: FieldSpec, found: Iterable[FoundValue]
) -> Iterator[FoundValue]:
    """Yield each reference that is followed by a second number in brackets, with that number.

    Only a person can say whether "HS24610" or "HS24610 (H2020:187)" names the study.
    """
    for each in found if spec.is_reference else ():
        number = re.escape(each.value.value)
        if match := re.search(rf"(?<!\w){number} {_SECOND_NUMBER}", document.text):
            yield replace(each, value=replace(each.value, value=match[0]))


def is_caption_in_context(page: PageReading, caption: geometry.TextSpan, spec: FieldSpec) -> bool:
    """Return whether the words up to a caption have `near` and do not have `not_near`."""
    words = page.words[max(0, caption.start - _CONTEXT_WORDS) : caption.end]
    return text_readings.is_in_context(" ".join(word.text for word in words), spec)


def _words_before(page: PageReading, caption: geometry.TextSpan) -> str:
    """Return the text directly before a caption in its line."""
    words = page.words[max(0, caption.start - _CONTEXT_WORDS) : caption.start]
    box = page.words[caption.start].box
    return " ".join(word.text for word in words if geometry.is_on_same_line(word.box, box))


def is_isolated(page: PageReading, caption: geometry.TextSpan, spec: FieldSpec) -> bool:
    """Return whether a caption is not part of a sentence or of a heading."""
    first, last = page.words[caption.start].box, page.words[caption.end - 1].box
    is_broken = spec.kind in _CAPTIONS_IN_ONE_LINE and not geometry.is_on_same_line(first, last)
    if is_broken and not _is_one_text(page, caption):
        return False
    if spec.kind == "date" and caption.end == caption.start + 1:
        left, word = page.words[: caption.start], page.words[caption.start]
        following = geometry.words_right_of(page, caption)[:1]
        if any(
            geometry.is_followed_by(word.box, each.box) and _CAPTION_GOES_ON.match(each.text)
            for each in following
        ):
            return False  # "Date" in "Date received"
        return word.text.endswith(":") or not any(
            geometry.is_on_same_line(each.box, word.box)
            and word.box.left - _SENTENCE_WIDTH < each.box.right <= word.box.left
            for each in left
        )
    has_colon = page.words[caption.end - 1].text.endswith(":")
    if spec.kind == "name" and caption.end > caption.start + 1 and has_colon:
        return True
    if spec.kind in {"text", "name", "names"} and not geometry.has_no_text_before(page, caption):
        return False
    return spec.kind not in {"text", "names"} or geometry.has_no_text_after(page, caption)


def _is_one_text(page: PageReading, caption: geometry.TextSpan) -> bool:
    """Return whether a caption in two lines is no heading with the line below, and no two cells."""
    first, last = page.words[caption.start].box, page.words[caption.end - 1].box
    is_in_column = first.right >= last.left and last.right >= first.left
    beginning = geometry.span_of_word(page, page.words[caption.start])
    return is_in_column and geometry.has_no_text_before(page, beginning)
