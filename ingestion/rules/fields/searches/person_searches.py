"""Finds names of people in parts of their own, and in the sentences of certificates."""

from collections.abc import Iterator

from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import text_readings
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.persons.certified_persons import find_certified_persons
from ingestion.rules.fields.persons.name_parts import find_names_in_parts
from ingestion.rules.fields.searches.found_values import FoundValue
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.values import value_of_line

_MAX_PAGES = 2  # on which the person of a document is named
_RANK_OF_CERTIFIED = 1  # behind a caption


def search_names_in_parts(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the names whose given names and surname stand at captions of their own.

    The first name of several below each other is not without doubt.
    """
    for page in document.reading.pages[:_MAX_PAGES] if spec.kind == "name" else ():
        if "name" not in page.text.casefold():
            continue
        for each in find_names_in_parts(document.lines_of(page)):
            value = value_of_line(page, each.line.words, spec, each.text)
            ways = {Way.PLACE, Way.ALIGNED} if each.is_only else {Way.PLACE}
            yield FoundValue(value, frozenset(ways), 0)


def search_certified_persons(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the names in sentences that certify what a person did."""
    for page in document.reading.pages[:_MAX_PAGES] if spec.is_large else ():
        for each in find_certified_persons(page.text):
            value = text_readings.value_of_text(page, spec, each.name)
            ways = {Way.SENTENCE, Way.TEXT} if each.has_deed else {Way.SENTENCE}
            yield FoundValue(value, frozenset(ways), _RANK_OF_CERTIFIED)
