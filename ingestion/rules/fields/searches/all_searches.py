"""Lists the ways in which the values of fields are found in a document, the surest first.

Each way yields the values that it finds, and says which kind of evidence led to them. `extraction`
joins and compares them. The modules `*_searches` contain the ways. `text_readings` and
the package `heads`, which they use, read the text and the head of the first page.
"""

import re
from collections.abc import Callable, Iterator

from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.searches.bracket_searches import search_bracketed_captions
from ingestion.rules.fields.searches.caption_searches import search_captions
from ingestion.rules.fields.searches.found_values import FoundValue
from ingestion.rules.fields.searches.head_searches import (
    search_head,
    search_heading_phrases,
    search_letter_head,
    search_top_names,
)
from ingestion.rules.fields.searches.number_searches import (
    search_fixed_formats,
    search_number_captions,
    search_read_versions,
    search_reference_numbers,
    search_sponsor_numbers,
    search_versions,
)
from ingestion.rules.fields.searches.person_searches import (
    search_certified_persons,
    search_names_in_parts,
)
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.searches.slash_searches import search_slashed_captions
from ingestion.rules.fields.searches.table_searches import (
    search_columns,
    search_investigator_cells,
    search_reference_cells,
    search_site_addresses,
    search_version_cells,
)
from ingestion.rules.fields.searches.text_searches import (
    search_course_names,
    search_dates_alone,
    search_dates_by_role,
    search_investigators,
    search_lines_with_phrases,
    search_months,
    search_sentences,
    search_titles,
)
from ingestion.rules.fields.values import (
    FORM_SOURCE,
    FieldValue,
    pattern_of,
    read_form_date,
    read_form_field,
)


def search_form_fields(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the value that the form fields of the PDF have for a field."""
    if spec.kind == "date":
        if value := read_form_date(
            spec.name, document.reading, spec.form, month_first=document.month_first
        ):
            yield FoundValue(value, frozenset({Way.FORM}))
    elif (written := read_form_field(document.reading, spec.form)) and (
        match := re.search(pattern_of(spec), written)
    ):
        value = FieldValue(spec.name, match[0].strip(), 0, FORM_SOURCE, 100.0)
        yield FoundValue(value, frozenset({Way.FORM}))


SEARCHES: tuple[Callable[[SearchedDocument, FieldSpec], Iterator[FoundValue]], ...] = (
    search_form_fields,
    search_fixed_formats,
    search_names_in_parts,
    search_slashed_captions,
    search_sponsor_numbers,
    search_columns,
    search_bracketed_captions,
    search_heading_phrases,
    search_captions,
    search_certified_persons,
    search_sentences,
    search_dates_by_role,
    search_dates_alone,
    search_investigators,
    search_investigator_cells,
    search_titles,
    search_number_captions,
    search_reference_cells,
    search_reference_numbers,
    search_versions,
    search_version_cells,
    search_site_addresses,
    search_letter_head,
    search_top_names,
    search_head,
    search_course_names,
    search_lines_with_phrases,
    search_months,
    search_read_versions,
)
