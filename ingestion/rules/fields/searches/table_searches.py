"""Finds values in the cells of tables, beside or below the cells that are their captions."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields import geometry, table_columns, text_readings
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.persons import person_names
from ingestion.rules.fields.reference_numbers import RANK_OF_REGISTERS, find_references
from ingestion.rules.fields.searches.found_values import (
    RANK_OF_PEOPLE,
    RANK_OF_ROLES,
    RANK_OF_SENTENCES,
    FoundValue,
)
from ingestion.rules.fields.searches.searched_document import SearchedDocument
from ingestion.rules.fields.text_lines import TextLine, captions_of, find_value_above
from ingestion.rules.fields.values import pattern_of, value_at_start, value_of_line

_COLUMN_KINDS = frozenset({"text", "name", "number"})  # dates have their roles
_MAX_PAGES_WITH_CELLS = 2  # pages on which numbers are searched in the cells of tables
_MAX_CELL_LENGTH = 60  # characters
_MAX_HEADING_RISE = 130.0  # points above a caption within which a heading says whose name it is
_MAX_HEADING_LENGTH = 90  # characters; a longer line is a sentence
_HAS_NUMBER = re.compile(r"\d\D{0,3}\d\D{0,3}\d")
_NUMBER_ALONE = re.compile(r"(?i)(?:number|no\.?|id|\#)")
_INVESTIGATOR_CAPTION = re.compile(
    r"(?i)(?:name\s?:?\s?\(|name of (?:the )?)?"
    r"(?:(?:local|site|principal|chief|lead|coordinating|responsible)\s)*"
    r"(?:investigator|applicant|researcher)s?(?:\s?/\s?[\w-]+(?:\s[\w-]+)?)?(?:\sname)?"
    r"(?:\s?(?:&|and)\s?contact(?:\s(?:details|information|number|person))?)?"
    r"(?:\s?\([^)]*\))?\s?\)?\s?:?"
)
_OF_COMPANY = re.compile(r"sponsor|^for\b|\b(?:ltd|limited|inc|gmbh|llc|plc|company|pharma)\b")
_ORGANISATION_IN_ADDRESS = re.compile(
    r"(?!Department|Division)[A-Z][^,\d]{4,60}?"
    r"(?:,\s(?:LLC|PLLC|LLP|Inc|Ltd)\b"
    r"|\b(?:Research|Clinic|Hospital|Associates|Institute|Medical Center)\b)"
    r"[^,\d]{0,40}(?:,\s(?:LLC|PLLC|LLP|Inc|Ltd)\b)?"
)
_HEADING_OF_SIGNATURE = re.compile(
    r"(?i)(?:principal )?investigator(?:['\u2019]?s)? (?:signature page|agreement|statement)\W*$"
    r"|(?:statement|agreement|signature) of the (?:principal )?investigator\W*$"
)
_LIST_ITEM = re.compile(r"(?:\(?[a-z\d]{1,2}[.)]|[\u2022*-])\s")  # no heading
_PRINTED_NAME = re.compile(r"(?i)(?:printed |print |full )?name(?:\s?\([^)]*\))?\s?:?")
_NAME_AFTER_CAPTION = re.compile(
    r"(?i)(?:printed |print |full )?name(?:\s?\([^)]*\))?\s?:\s?(?P<name>.+)"
)
_VERSION_HEAD = re.compile(
    r"(?i)(?:(?:new|current|approved|revised) )?version(?: (?:no\.?|number|and date))?:?"
)
_VERSION_CELL = re.compile(
    r"(?i)v?(?:ersion)?\.? ?(?P<number>\d{1,2}(?:\.\d{1,3}){0,2})(?:(?:[,;(]| of| dated)\s?\S.*)?"
)
# Words before the name of a document in its row.
_WORDS_BEFORE = r"(?:(?:the|study|research|clinical|trial|final)\s+){0,2}"


def search_columns(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the values below the heads of columns that are captions of the field.

    If the column has several values, none of them is without doubt. A number in a column is not
    without doubt by that alone.
    """
    if spec.kind not in _COLUMN_KINDS or spec.is_title:
        return
    labels = {fuzzy_phrases.fold_letters(label): rank for rank, label in document.labels_of(spec)}
    for page in document.reading.pages[:_MAX_PAGES_WITH_CELLS] if labels else ():
        lines = document.lines_of(page)
        for head, letters in document.heads_of(page):
            rank = labels.get(letters)
            if rank is None:
                continue
            cells = table_columns.find_cells_below(head, lines)
            above = find_value_above(head, lines) if cells else None
            if not cells or (above and above.is_certain):
                continue
            value = value_at_start(page, cells[0].words, spec, month_first=document.month_first)
            if value and not document.is_printed(spec, value):
                # The record itself may have a number, too, at a caption outside of the table.
                may_have_other = spec.kind == "number" and not spec.is_version
                is_only = len(cells) == 1 and not may_have_other
                ways = {Way.PLACE, Way.ALIGNED} if is_only else {Way.PLACE}
                yield FoundValue(value, frozenset(ways), rank)


def search_reference_cells(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the numbers of the committee or institution in the cells of tables."""
    for page in document.reading.pages[:_MAX_PAGES_WITH_CELLS] if spec.is_reference else ():
        for number, rank in _references_in_cells(document.lines_of(page)):
            if rank < RANK_OF_REGISTERS and re.fullmatch(pattern_of(spec), number):
                value = text_readings.value_of_text(page, spec, number)
                value = replace(value, is_own_reference=True)
                yield FoundValue(value, frozenset({Way.PLACE}), RANK_OF_SENTENCES + 2 * rank)


def _references_in_cells(lines: Sequence[TextLine]) -> Iterator[tuple[str, int]]:
    """Yield the numbers beside or below a caption in another cell, with its rank."""
    for line in lines:
        if len(line.text) > _MAX_CELL_LENGTH or not _HAS_NUMBER.search(line.text):
            continue
        own = list(find_references(line.text))
        if len(own) == 1 and own[0].end == len(line.text) and ":" in line.text[: own[0].start]:
            yield own[0].text, own[0].rank  # a line that consists of a caption and a number
            continue
        for caption in captions_of(line.box, lines):
            text = caption.text.strip(" :")
            if len(text) > _MAX_CELL_LENGTH:
                continue
            # "Number" alone is a caption in the head of a column only.
            before = f"Reference {text}" if _NUMBER_ALONE.fullmatch(text) else text
            found = list(find_references(f"{before}: {line.text}"))
            if len(found) == 1 and found[0].start == len(before) + 2:
                yield found[0].text, found[0].rank
                break
            if caption.text.endswith(":") and geometry.is_on_same_line(caption.box, line.box):
                break  # it names something else


def search_investigator_cells(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the names in the cells beside or below captions such as "Applicant (or student)"."""
    for page in document.reading.pages[:_MAX_PAGES_WITH_CELLS] if spec.is_investigator else ():
        lines = document.lines_of(page)
        for line in lines:
            captioned = _NAME_AFTER_CAPTION.fullmatch(line.text)
            text = captioned["name"] if captioned else line.text
            # A role or a department may follow the name.
            name = person_names.find_name_line(person_names.without_role(text))
            if not name:
                continue
            captions = [line] if captioned else captions_of(line.box, lines)
            if any(_is_caption_of_investigator(caption, lines) for caption in captions):
                value = value_of_line(page, line.words, spec, name)
                yield FoundValue(value, frozenset({Way.PLACE}), RANK_OF_PEOPLE)


def _is_caption_of_investigator(caption: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether a text is the caption of an investigator, or of a name below such a heading.

    The name may stand behind its caption in the same text.
    """
    if _INVESTIGATOR_CAPTION.fullmatch(caption.text):
        return True
    is_print = _PRINTED_NAME.fullmatch(caption.text) or _NAME_AFTER_CAPTION.fullmatch(caption.text)
    return is_print is not None and _is_of_investigator(caption, lines)


def _is_of_investigator(caption: TextLine, lines: Sequence[TextLine]) -> bool:
    """Return whether the nearest heading above the caption of a name is about an investigator."""
    above = [
        line
        for line in lines
        if caption.box.top - _MAX_HEADING_RISE < line.box.top < caption.box.top
        and line.box.left < caption.box.right
        and line.box.right > caption.box.left
    ]
    for line in sorted(above, key=lambda each: -each.box.top):
        text = line.text.casefold()
        if _LIST_ITEM.match(text) or len(text) > _MAX_HEADING_LENGTH:
            continue
        if "investigator" in text or _OF_COMPANY.search(text):
            return not _OF_COMPANY.search(text)
    # The heading of the page, if it has the caption of one name only.
    names = [
        line
        for line in lines
        if _PRINTED_NAME.fullmatch(line.text) or _NAME_AFTER_CAPTION.fullmatch(line.text)
    ]
    is_only = len(names) == 1 and names[0] is caption
    return is_only and any(_HEADING_OF_SIGNATURE.match(line.text) for line in lines)


def search_site_addresses(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the organisations with which the address of an investigator begins."""
    for page in document.reading.pages[:1] if spec.is_institution else ():
        lines = document.lines_of(page)
        for line in lines:
            name = _ORGANISATION_IN_ADDRESS.match(line.text)
            if name and any(
                caption.text.strip(" :") == "Address" for caption in captions_of(line.box, lines)
            ):
                value = value_of_line(page, line.words, spec, name[0])
                yield FoundValue(value, frozenset({Way.PLACE}), RANK_OF_SENTENCES)


def search_version_cells(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the versions of a document in the tables that list documents with their versions.

    The version stands in the row of the document, below the head of its column.
    """
    for page in document.reading.pages if spec.version_of else ():
        lines = document.lines_of(page)
        heads = [line for line in lines if _VERSION_HEAD.fullmatch(line.text)]
        name = re.compile(rf"(?i){_WORDS_BEFORE}{spec.version_of}\b")
        rows = [line for line in lines if name.match(line.text)]
        for head, row in product(heads, rows):
            if head.box.left < row.box.right or head.box.top >= row.box.top:
                continue
            for cell in lines:
                is_in_column = cell.box.left < head.box.right and cell.box.right > head.box.left
                number = _VERSION_CELL.fullmatch(cell.text)
                if number and is_in_column and geometry.is_level_with(row.box, cell.box):
                    value = value_of_line(page, cell.words, spec, number["number"])
                    is_in_order = f"{row.text} {cell.text}" in " ".join(page.text.split())
                    ways = {Way.PLACE, Way.TEXT} if is_in_order else {Way.PLACE}
                    yield FoundValue(value, frozenset(ways), RANK_OF_ROLES)
