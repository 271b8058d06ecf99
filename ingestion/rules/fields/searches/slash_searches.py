"""Finds values that share a caption, which slashes separate."""

from collections.abc import Iterator

from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import FieldSpec
from ingestion.rules.fields.candidates import Way
from ingestion.rules.fields.date_roles import role_of_caption
from ingestion.rules.fields.searches.found_values import RANK_OF_ROLES, FoundValue
from ingestion.rules.fields.searches.searched_document import LIST_KINDS, SearchedDocument
from ingestion.rules.fields.values import SCAN_SOURCES, parse_value, value_of_words, words_at


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
