"""Takes the values of a document from the boxes of a registered form.

A value of a form field of the PDF has priority. Otherwise the value of a field that has a box is
what is typed in the box. Words beside an empty box, or beside handwriting, are not its value.
"""

from collections.abc import Iterable, Iterator, Sequence

from ingestion.reading.results import DocumentReading, PageReading, Word
from ingestion.rules.document_types import DocumentType, FieldSpec
from ingestion.rules.fields import geometry, list_fields
from ingestion.rules.fields.persons import person_names
from ingestion.rules.fields.searches.searched_document import LIST_KINDS
from ingestion.rules.fields.values import (
    FORM_SOURCE,
    SCAN_SOURCES,
    FieldValue,
    lowest_confidence,
    parse_value,
    value_of_words,
)

from .boxes import BoxState, FilledBox, find_boxes, list_boxes_of_field, list_written_words

_SIGNATURE_DATE = FieldSpec(name="signature_date", kind="date", noun="date of the signature")
_UNCERTAIN = 40.0  # percent, the confidence of a value that is struck out or mixed with handwriting


def apply_box_values(
    reading: DocumentReading, kind: DocumentType, values: Iterable[FieldValue]
) -> dict[str, FieldValue]:
    """Return the values of a document by name, with those of its boxes instead of others."""
    boxes = find_boxes(reading, kind.slug)
    by_name = {value.name: value for value in values}
    for spec in kind.fields:
        own = [
            box
            for box in list_boxes_of_field(boxes, spec.name)
            if box.blank.kind != "tick" and not box.blank.is_part
        ]
        known = by_name.get(spec.name)
        if not own or (known and known.source == FORM_SOURCE):
            continue
        pages = {box.page.number for box in own}
        found = next((value for box in own if (value := _read_box(box, spec, kind))), None)
        if found:
            by_name[spec.name] = found
        elif known and known.page in pages:
            del by_name[spec.name]
    return by_name


def read_signature_date(box: FilledBox, kind: DocumentType) -> FieldValue | None:
    """Return the date of the signature that is typed in a box, or None."""
    return _read_box(box, _SIGNATURE_DATE, kind)


def _read_box(box: FilledBox, spec: FieldSpec, kind: DocumentType) -> FieldValue | None:
    """Return the value of a field that is typed in a box, or None."""
    if box.state is BoxState.EMPTY:
        return None
    lines = list(_lines(list_written_words(box.measured)))
    if spec.kind in LIST_KINDS:
        value = _read_entries(box.page, lines, spec)
    else:
        value = next(filter(None, (_read_line(box, line, spec, kind) for line in lines)), None)
    if value is None or box.state is BoxState.TYPED:
        return value
    return FieldValue(
        value.name,
        value.value,
        value.page,
        value.source,
        min(value.confidence, _UNCERTAIN),
        value.box,
        value.day,
    )


def _read_line(
    box: FilledBox, line: Sequence[Word], spec: FieldSpec, kind: DocumentType
) -> FieldValue | None:
    text, is_scan = " ".join(word.text for word in line), box.page.source in SCAN_SOURCES
    month_first = True if kind.us_dates or box.form.us_dates else None
    parsed = parse_value(text, spec, month_first=month_first, is_scan=is_scan)
    return value_of_words(spec.name, box.page, line, parsed) if parsed else None


def _read_entries(
    page: PageReading, lines: Sequence[Sequence[Word]], spec: FieldSpec
) -> FieldValue | None:
    texts = (" ".join(word.text for word in line) for line in lines)
    entries = [
        entry
        for text in texts
        for entry in list_fields.split_entries(text, spec, person_names.PATTERN)
    ]
    if not entries:
        return None
    words = [word for line in lines for word in line]
    joined, box = list_fields.join_entries(entries), geometry.bounding_box(words)
    return FieldValue(spec.name, joined, page.number, page.source, lowest_confidence(words), box)


def _lines(words: Iterable[Word]) -> Iterator[Sequence[Word]]:
    """Yield the words of each line, from top to bottom and from left to right."""
    remaining = sorted(words, key=lambda word: word.box.top + word.box.bottom)
    while remaining:
        first = remaining[0]
        line = [word for word in remaining if geometry.is_on_same_line(first.box, word.box)]
        yield sorted(line, key=lambda word: word.box.left)
        remaining = [word for word in remaining if word not in line]
