"""Doubts that a file in another language than English is one document.

The evidence of pages knows English titles only. In another language, a title on a later page shows
that another document may begin there, and a person decides about the whole file.
"""

from collections.abc import Mapping
from dataclasses import replace

from ingestion.reading.results import DocumentReading, PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.classification.features import list_heading_lines
from ingestion.rules.classification.landmarks import is_mostly
from ingestion.rules.document_types import DocumentType
from ingestion.rules.segmentation.parts import ProposedCut

MIN_TITLE_WEIGHT = 5  # points of a landmark that is a title by itself


def doubt_cut(
    cut: ProposedCut, reading: DocumentReading, types: Mapping[str, DocumentType]
) -> ProposedCut:
    """Return the division, not certain if a later page has a title of a type.

    A title that each page repeats, as a running head, begins no document.
    """
    if not cut.is_one_document or len(reading.pages) < 2:
        return cut
    titles = [_find_titled_types(page, types) for page in reading.pages]
    repeated = frozenset.intersection(*titles)
    if all(found <= repeated for found in titles[1:]):
        return cut
    reasons = dict.fromkeys((*cut.reasons, "unsure-starts"))
    return replace(cut, is_certain=False, reasons=tuple(reasons))


def _find_titled_types(page: PageReading, types: Mapping[str, DocumentType]) -> frozenset[str]:
    """Return the types of which a page has a title among its first lines."""
    lines = list_heading_lines(page)
    letters = "\n".join(fuzzy_phrases.fold_words(lines))
    return frozenset(
        slug
        for slug, kind in types.items()
        for landmark in kind.landmarks
        if landmark.weight >= MIN_TITLE_WEIGHT
        for phrase in landmark.phrases
        if fuzzy_phrases.fold_letters(phrase) in letters
        and any(
            fuzzy_phrases.contains_phrase(line, phrase) and is_mostly(line, phrase)
            for line in lines
        )
    )
