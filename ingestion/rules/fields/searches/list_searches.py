"""Finds the entries of list fields, in form fields of the PDF or below captions."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from ingestion.reading.results import PageReading
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import geometry, list_fields
from ingestion.rules.fields.persons import person_names
from ingestion.rules.fields.searches.caption_searches import is_caption_in_context, is_isolated
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.values import FORM_SOURCE, FieldValue, read_form_field, value_of_line

_MAX_LISTS_PER_FIELD = 20  # captions of a list, each of which may have many lines


def read_list(document: SearchedDocument, spec: FieldSpec) -> FieldValue | None:
    """Return the entries of a list field that are not part of the blank form, or None."""
    reading, kind = document.reading, document.kind
    captions = (
        (page, caption)
        for label in spec.labels
        for page in reading.pages
        for caption in geometry.find_phrase(page, label)
    )
    text = read_form_field(reading, spec.form)
    found: list[FieldValue] = []
    if entries := list(list_fields.split_entries(text, spec, person_names.PATTERN)):
        joined = list_fields.join_entries(entries)
        found.append(FieldValue(spec.name, joined, 0, FORM_SOURCE, 100.0))
    at_captions = (
        value
        for page, caption in islice(captions, _MAX_LISTS_PER_FIELD)
        if is_caption_in_context(page, caption, spec)
        for value in _lists_at_caption(page, caption, spec)
    )
    is_name = spec.kind == "names"
    for value in (each for source in (found, at_captions) for each in source):
        entries = [
            entry
            for entry in value.entries
            if entry == list_fields.NONE_ENTRY or not kind.is_printed(entry, is_name=is_name)
        ]
        if entries:
            return replace(value, value=list_fields.join_entries(entries))
    return None


def _lists_at_caption(
    page: PageReading, caption: geometry.TextSpan, spec: FieldSpec
) -> Iterator[FieldValue]:
    """Yield the entries below a caption; for a numbered box, also those beside it."""
    if is_isolated(page, caption, spec) and (
        found := list_fields.read_entries_below(page, caption, spec, person_names.PATTERN)
    ):
        words = [word for _, line in found for word in line]
        joined = list_fields.join_entries([entry for entry, _ in found])
        yield value_of_line(page, words, spec, joined)
    if spec.box:
        # An entry, such as "None", may be written beside the caption.
        line = geometry.words_right_of(page, caption)
        text = " ".join(word.text for word in line)
        if entries := list(list_fields.split_entries(text, spec, person_names.PATTERN)):
            yield value_of_line(page, line, spec, list_fields.join_entries(entries))
