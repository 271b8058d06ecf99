"""Finds values that share a caption, which slashes separate."""

import re
from collections.abc import Iterator

from ingestion.reading.results import PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.date_words import role_of_caption
from ingestion.rules.fields.searches.found_values import RANK_OF_ROLES, FoundValue
from ingestion.rules.fields.searches.searched_document import LIST_KINDS, SearchedDocument
from ingestion.rules.fields.text_lines import captions_of
from ingestion.rules.fields.values import (
    SCAN_SOURCES,
    parse_value,
    value_of_line,
    value_of_words,
    words_at,
)

_DOUBLE_NUMBER = re.compile(
    r"(?:(?P<caption>[^:]{3,60}):\s*)?(?P<number>[\w.-]*\d[\w.-]*\s/\s[\w.-]*\d[\w.-]*)"
)
# Two names with one sign, of which the second is no part of the name of a version or a date.
_SHARED_SIGN = re.compile(
    r"(?i)(?P<name>[^\W\d_]{4,12})\s?/\s?(?!version|amendment|date|site|cent)[^\W\d_]{3,12}\s?"
    r"(?:#|no\.?|numbers?|id)\s?:?"
)


def search_slashed_captions(document: SearchedDocument, spec: FieldSpec) -> Iterator[FoundValue]:
    """Yield the parts of values at captions of several values, of which one is the field's."""
    if spec.is_title or spec.kind in LIST_KINDS:
        return
    labels = {fuzzy_phrases.fold_letters(label): rank for rank, label in document.labels_of(spec)}
    for page in document.reading.pages:
        if "/" not in page.text:
            continue
        for part in document.slashed_values_of(page):
            rank = _rank(part.captions, spec, labels)
            parsed = rank is not None and parse_value(
                part.text,
                spec,
                month_first=document.month_first,
                is_scan=page.source in SCAN_SOURCES,
                max_gap=0,
            )
            if (
                rank is None
                or not parsed
                or (spec.kind == "number" and parsed.end < len(part.text))
            ):
                continue
            words = words_at(part.line.words, part.start, part.start + len(part.text))
            value = value_of_words(spec.name, page, words or part.line.words, parsed)
            yield FoundValue(value, frozenset({Way.PLACE, Way.TEXT}), rank)
        if spec.is_reference:
            yield from _search_double_numbers(document, page, spec, labels)


def _search_double_numbers(
    document: SearchedDocument, page: PageReading, spec: FieldSpec, labels: dict[str, int]
) -> Iterator[FoundValue]:
    """Yield the numbers in two parts at captions with one sign, as "Protocol/Project #: 12 / 34".

    Only a person can say whether one of the parts names the study, or both.
    """
    for line in document.lines_of(page):
        match = _DOUBLE_NUMBER.fullmatch(line.text)
        captions = [match["caption"]] if match and match["caption"] else []
        if match and not captions:
            captions = [each.text for each in captions_of(line.box, document.lines_of(page))]
        for caption in captions:
            names = _SHARED_SIGN.fullmatch(caption)
            rank = labels.get(fuzzy_phrases.fold_letters(names["name"])) if names else None
            if match and rank is not None:
                value = value_of_line(page, line.words, spec, match["number"])
                yield FoundValue(value, frozenset({Way.PLACE}), rank)
                break


def _rank(captions: tuple[str, ...], spec: FieldSpec, labels: dict[str, int]) -> int | None:
    """Return the rank of the first of some captions that is one of the field, or None."""
    for caption in captions:
        rank = labels.get(fuzzy_phrases.fold_letters(caption))
        if rank is not None:
            return rank
        role = role_of_caption(caption) if spec.roles else None
        if role is not None and role.value in spec.roles:
            return RANK_OF_ROLES + spec.roles.index(role.value)
    return None
