"""Finds the titles of document types on a page, and whether two pages of one type differ."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from statistics import median
from typing import NamedTuple

from ingestion.reading.results import Box, DocumentReading, MediaType, PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.classification.features import list_heading_lines
from ingestion.rules.classification.landmarks import find_landmark_letters, is_mostly, score_page
from ingestion.rules.document_types import MIN_TYPE_SCORE, TYPES
from ingestion.rules.fields import geometry
from ingestion.rules.fields.extraction import read_fields
from ingestion.rules.fields.persons import names
from ingestion.rules.fields.values import SCAN_SOURCES

MIN_TITLE_WEIGHT = 3  # points of a landmark that may be a title
MIN_MENTIONED_TITLE_WEIGHT = 2  # the same, for a type that others mention: its words count less
MAX_TITLE_LINE_WORDS = 10  # words of a line that begins or ends with a title
TITLE_AREA_SHARE = 0.5  # of the height of a page; a title is above
MIN_PROMINENT_HEIGHT = 1.4  # times the median height of the words of a page
MIN_CENTRED_MARGIN = 0.2  # share of the width of a page on each side of a centred line
MAX_CENTRED_DIFFERENCE = 0.06  # share of the width by which these margins may differ

# Fields that distinguish two documents of one type. Dates of signatures may differ within one.
_PEOPLE = frozenset({"person", "investigator"})
_IDENTIFYING_FIELDS = _PEOPLE | {
    "licence_number", "clia_number", "policy_number", "protocol_number", "site_number",
    "amendment_number", "lab_name",
}  # fmt: skip
_DATES = frozenset({"completion_date", "approval_date"})


class Title(NamedTuple):
    """A phrase that may be the title of a document of a type."""

    slug: str
    phrase: str


def find_titled_type(page: PageReading) -> str:
    """Return the type of a page by itself if one of its first lines is a title of it, or ""."""
    titles = find_titles(page)
    return find_type_with_title(recognise_type(page), titles) if titles else ""


def find_type_with_title(slug: str, titles: Iterable[Title]) -> str:
    """Return the type of a page if one of its titles is a title of this type, or ""."""
    return slug if any(title.slug == slug for title in titles) else ""


def has_prominent_title(page: PageReading, titles: Iterable[Title]) -> bool:
    """Return whether one of these titles is larger than the text of the page, or centred on it.

    The section headings of a CV contain the words of many titles, but are neither.
    """
    median_height = median(_height(word.box) for word in page.words)
    for title in titles:
        for span in geometry.find_phrase(page, title.phrase):
            line = geometry.bounding_box(geometry.text_run_at(page, span))
            margins = line.left, page.width - line.right
            is_centred = (
                min(margins) > MIN_CENTRED_MARGIN * page.width
                and abs(margins[0] - margins[1]) < MAX_CENTRED_DIFFERENCE * page.width
            )
            is_large = _height(line) >= MIN_PROMINENT_HEIGHT * median_height
            if line.bottom < TITLE_AREA_SHARE * page.height and (is_large or is_centred):
                return True
    return False


def _height(box: Box) -> float:
    return box.bottom - box.top


def recognise_type(page: PageReading) -> str:
    """Return the best type of a page by itself, or "" if it has too few points."""
    return choose_best_type({score.slug: score.points for score in score_page(page)[:1]})


def choose_best_type(points: Mapping[str, int]) -> str:
    """Return the first of these types, the best one, or "" if it has too few points."""
    slug = next(iter(points))
    return slug if points[slug] >= MIN_TYPE_SCORE else ""


@cache
def list_mentioned_types() -> frozenset[str]:
    """Return the types that documents of other types list, as a CV lists certificates."""
    return frozenset(slug for kind in TYPES.values() for slug in kind.mentions)


@cache
def _all_titles() -> tuple[Title, ...]:
    mentioned = list_mentioned_types()
    return tuple(
        Title(slug, phrase)
        for slug, kind in TYPES.items()
        for landmark in kind.landmarks
        if landmark.weight
        >= (MIN_MENTIONED_TITLE_WEIGHT if slug in mentioned else MIN_TITLE_WEIGHT)
        for phrase in landmark.phrases
    )


@cache
def _title_phrases() -> tuple[str, ...]:
    return tuple(dict.fromkeys(title.phrase for title in _all_titles()))


@cache
def _titles_by_letters() -> dict[str, list[Title]]:
    """Return the titles by the folded letters of their phrases."""
    titles: dict[str, list[Title]] = {}
    for title in _all_titles():
        titles.setdefault(fuzzy_phrases.fold_letters(title.phrase), []).append(title)
    return titles


def find_titles_in_text(text: str) -> list[Title]:
    """Return the titles that a text may contain, anywhere."""
    titles = _titles_by_letters()
    found = find_landmark_letters(text) & titles.keys()
    return [title for letters in sorted(found) for title in titles[letters]]


def find_titles(page: PageReading) -> list[Title]:
    """Return the titles among the first lines of a page; on a scan, they may be misread."""
    lines = list_heading_lines(page)
    letters = fuzzy_phrases.fold_words(lines)
    head = "\n".join(letters)
    found = []
    for title in find_titles_in_text(page.text):
        wanted = fuzzy_phrases.fold_letters(title.phrase)
        if wanted in head and any(
            wanted in folded and _is_title(line, title.phrase)
            for line, folded in zip(lines, letters, strict=True)
        ):
            found.append(title)
    if page.source in SCAN_SOURCES:
        similar = {
            phrase
            for phrase, line in fuzzy_phrases.find_similar_phrases(_title_phrases(), lines)
            if is_mostly(line, phrase)
        }
        found += [
            title for title in _all_titles() if title.phrase in similar and title not in found
        ]
    return found


def _is_title(line: str, phrase: str) -> bool:
    """Return whether a line consists mostly of a phrase, or begins or ends with it.

    A line that begins or ends with it must be short, or have the phrase in capitals, as in a
    heading beside another column.
    """
    match = fuzzy_phrases.compile_phrase(phrase).search(line.strip())
    if match is None:
        return False
    if is_mostly(line, phrase):
        return True
    is_brief = len(line.split()) <= MAX_TITLE_LINE_WORDS and not re.search(
        r"[,;]|\.$", line.rstrip()
    )
    is_at_an_end = match.start() == 0 or match.end() == len(line.strip())
    return is_at_an_end and (is_brief or match[0].isupper())


def is_another_document(
    page: PageReading,
    other: PageReading,
    slug: str,
    *,
    with_dates: bool = True,
) -> bool:
    """Return whether two pages of one type certainly differ in a field that identifies a document.

    `with_dates`: whether the date of completion or approval is one of these fields.
    """
    fields = _IDENTIFYING_FIELDS | _DATES if with_dates else _IDENTIFYING_FIELDS
    if not (one := _read_values(page, slug, fields)):
        return False
    two = _read_values(other, slug, fields)
    for name in fields & one.keys() & two.keys():
        if name in _PEOPLE:
            if not names.may_be_same_person(one[name], two[name]):
                return True
        elif fuzzy_phrases.strip_punctuation(one[name]) != fuzzy_phrases.strip_punctuation(
            two[name]
        ):
            return True
    return False


def _read_values(page: PageReading, slug: str, fields: frozenset[str]) -> dict[str, str]:
    """Return the values of fields that were read with certainty on a page by itself.

    Names in capitals are left out, because they may be captions of a form.
    """
    values = read_fields(DocumentReading(MediaType.PDF, (page,)), TYPES[slug], names=fields)
    return {
        value.name: value.value
        for value in values
        if value.is_sure and not (value.name in _PEOPLE and value.value.isupper())
    }
