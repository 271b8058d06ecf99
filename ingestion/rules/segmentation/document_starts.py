"""The pages of a file on which documents begin, so that no two documents are filed as one.

A page begins a document in two cases: if, by itself, it is recognised as a document type and has a
title of that type among its first lines; or if it is numbered "Page 1 of 3" after other pages. A
page that continues a numbering, as "Page 2 of 3" does after "Page 1 of 3", has to show another type
more clearly. A second document of the same type is recognised by its person, number or site. Two
documents may also share one sheet, side by side or one above the other.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import NamedTuple

from ingestion.reading.results import (
    Box,
    DocumentReading,
    MediaType,
    PageReading,
)
from ingestion.rules import fuzzy_phrases
from ingestion.rules.classification.classify import (
    MIN_TITLE_SHARE,
    has_type_landmarks,
    heading_lines,
    is_mostly,
    score_page,
)
from ingestion.rules.document_types import MIN_TYPE_SCORE, TYPES
from ingestion.rules.fields import geometry, names
from ingestion.rules.fields.extraction import read_fields
from ingestion.rules.fields.values import SCAN_SOURCES
from ingestion.rules.segmentation.page_regions import Region, cut_out

MIN_LEAD = 2  # points by which the type of a page must lead the type of the pages before it
MIN_LEAD_IN_NUMBERING = 4  # the same, for a page that continues the numbering of the page before
MIN_TITLE_WEIGHT = 3  # points of a landmark that may be a title
MIN_MENTIONED_TITLE_WEIGHT = 2  # the same, for a type that others mention: its words count less
MAX_TITLE_LINE_WORDS = 10  # words of a line that begins or ends with a title
TITLE_AREA_SHARE = 0.5  # of the height of a page; a title is above
MIN_PROMINENT_HEIGHT = 1.4  # times the median height of the words of a page
MIN_CENTRED_MARGIN = 0.2  # share of the width of a page on each side of a centred line
MAX_CENTRED_DIFFERENCE = 0.06  # share of the width by which these margins may differ
MIN_SHARED_LINE_SHARE = 0.25  # MIN_TITLE_SHARE for a line that continues in a second column
MAX_MIDDLE_WORD_SHARE = 0.03  # words across the middle of a sheet with two documents side by side

_NUMBERED = re.compile(r"\b(?:page|part)\s*(\d{1,3})\s*(?:of|/)\s*(\d{1,3})\b", re.IGNORECASE)
# Fields that distinguish two documents of one type. Dates of signatures may differ within one.
_PEOPLE = frozenset({"person", "investigator"})
_IDENTIFYING_FIELDS = _PEOPLE | {
    "licence_number", "clia_number", "policy_number", "protocol_number", "site_number",
    "amendment_number", "lab_name",
}  # fmt: skip
_DATES = frozenset({"completion_date", "approval_date"})

SIDE_BY_SIDE: tuple[Region, ...] = ((0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0))
ONE_ABOVE_THE_OTHER: tuple[Region, ...] = ((0.0, 0.0, 1.0, 0.5), (0.0, 0.5, 1.0, 1.0))

Numbering = frozenset[tuple[int, int]]  # (2, 3) for "Page 2 of 3"; a page may have two numbers


@dataclass(frozen=True, slots=True)
class DocumentStart:
    """The page on which a document begins, and its type; "" if the type was not recognised."""

    page: int
    slug: str = ""
    region: Region | None = None  # of the sheet, if it contains two documents


class Title(NamedTuple):
    """A phrase that may be the title of a document of a type."""

    slug: str
    phrase: str


def find_document_starts(reading: DocumentReading) -> list[DocumentStart]:
    """Return the starts of documents in the order of the pages. The first page is always one.

    Two starts on one page mean that the sheet contains two documents. If there is only one start,
    its type is left open.
    """
    starts: list[PageReading] = []
    regions: list[Region | None] = []
    numbering_before: Numbering = frozenset()
    for page in reading.pages:
        numbering = frozenset(
            (int(match[1]), int(match[2])) for match in _NUMBERED.finditer(page.text)
        )
        if halves := _split_shared_sheet(page):
            starts += (cut_out(page, half) for half in halves)
            regions += halves
        elif (
            not starts
            or regions[-1]
            or _begins_document(page, numbering, numbering_before, starts[-1])
        ):
            starts.append(page)
            regions.append(None)
        numbering_before = numbering or numbering_before
    if len(starts) == 1:
        return [DocumentStart(starts[0].number)]
    return [
        DocumentStart(page.number, _recognise_type(page), region)
        for page, region in zip(starts, regions, strict=True)
    ]


def _begins_document(
    page: PageReading, numbering: Numbering, numbering_before: Numbering, first: PageReading
) -> bool:
    """Return whether a page begins a document and does not continue the one that begins at `first`.

    `numbering_before` is the numbering of the last page before it that has one.
    """
    if any(number == 1 for number, _ in numbering):
        return True
    slug = _titled_type(page)
    if not slug:
        return False
    current = _recognise_type(first)
    continues = any((number - 1, total) in numbering_before for number, total in numbering)
    if slug == current:
        fields = _IDENTIFYING_FIELDS if continues else _IDENTIFYING_FIELDS | _DATES
        return _is_another_document(page, first, slug, fields)
    points = {score.slug: score.points for score in score_page(page)}
    if continues and not current:
        return False
    lead = MIN_LEAD_IN_NUMBERING if continues else MIN_LEAD
    if points[slug] < points.get(current, 0) + lead:
        return False
    may_be_mentioned = slug in (TYPES[current].mentions if current else _mentioned_types())
    return not may_be_mentioned or _has_prominent_title(page, slug)


def _titled_type(page: PageReading) -> str:
    """Return the type of a page by itself if one of its first lines is a title of it, or ""."""
    titles = {title.slug for title in _find_titles(page)}
    slug = _recognise_type(page) if titles else ""
    return slug if slug in titles else ""


def _has_prominent_title(page: PageReading, slug: str) -> bool:
    """Return whether a title of this type is larger than the text of the page, or centred on it.

    The section headings of a CV contain the words of many titles, but are neither.
    """
    median_height = median(_height(word.box) for word in page.words)
    for title in _find_titles(page):
        if title.slug != slug:
            continue
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


def _recognise_type(page: PageReading) -> str:
    """Return the best type of a page by itself, or "" if it has too few points."""
    best = score_page(page)[0]
    return best.slug if best.points >= MIN_TYPE_SCORE else ""


@cache
def _mentioned_types() -> frozenset[str]:
    """Return the types that documents of other types list, as a CV lists certificates."""
    return frozenset(slug for kind in TYPES.values() for slug in kind.mentions)


@cache
def _all_titles() -> tuple[Title, ...]:
    mentioned = _mentioned_types()
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
def _titles_by_group() -> dict[str, list[Title]]:
    """Return the titles by their first letters; those with few letters are at ""."""
    groups: dict[str, list[Title]] = {"": []}
    for title in _all_titles():
        letters = fuzzy_phrases.fold_letters(title.phrase)
        group = letters[: fuzzy_phrases.GROUP_LENGTH]
        groups.setdefault(group if len(group) == fuzzy_phrases.GROUP_LENGTH else "", []).append(
            title
        )
    return groups


def _titles_in_text(text: str) -> list[Title]:
    """Return the titles that a text may contain, anywhere."""
    by_group = _titles_by_group()
    return [
        title
        for group in ("", *(fuzzy_phrases.letter_groups(text) & by_group.keys()))
        for title in by_group[group]
        if fuzzy_phrases.may_contain_phrase(text, title.phrase)
    ]


def _find_titles(page: PageReading) -> list[Title]:
    """Return the titles among the first lines of a page; on a scan, they may be misread."""
    lines = heading_lines(page)
    found = [
        title
        for title in _titles_in_text(page.text)
        if any(_is_title(line, title.phrase) for line in lines)
    ]
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


def _is_another_document(
    page: PageReading,
    other: PageReading,
    slug: str,
    fields: frozenset[str] = _IDENTIFYING_FIELDS | _DATES,
) -> bool:
    """Return whether two pages of one type certainly differ in one of these fields."""
    one, two = _identifying_values(page, slug), _identifying_values(other, slug)
    for name in fields & one.keys() & two.keys():
        if name in _PEOPLE:
            if not names.may_be_same_person(one[name], two[name]):
                return True
        elif fuzzy_phrases.strip_punctuation(one[name]) != fuzzy_phrases.strip_punctuation(
            two[name]
        ):
            return True
    return False


def _identifying_values(page: PageReading, slug: str) -> dict[str, str]:
    """Return the values that were read with certainty on a page by itself, by field.

    Names in capitals are left out, because they may be captions of a form.
    """
    values = read_fields(DocumentReading(MediaType.PDF, (page,)), TYPES[slug])
    return {
        value.name: value.value
        for value in values
        if value.is_sure and not (value.name in _PEOPLE and value.value.isupper())
    }


def _split_shared_sheet(page: PageReading) -> tuple[Region, ...]:
    """Return the two halves of a sheet that contains two documents, or () if it contains one."""
    lines = page.text.splitlines()
    titles = _titles_in_text(page.text)
    above, below = lines[: len(lines) // 3], lines[len(lines) // 3 :]
    side_by_side = _find_titles_in(lines, titles, MIN_SHARED_LINE_SHARE)
    if _show_two_documents(page, side_by_side) and _has_two_columns(page):
        halves = SIDE_BY_SIDE
    elif (lower := _find_titles_in(below, titles, MIN_TITLE_SHARE)) and _show_two_documents(
        page, [*_find_titles_in(above, titles, MIN_TITLE_SHARE), *lower]
    ):
        halves = ONE_ABOVE_THE_OTHER
    else:
        return ()
    first = cut_out(page, halves[0])
    if not (one := _titled_type(first)):
        return ()
    second = cut_out(page, halves[1])
    other = _titled_type(second)
    are_two = other and (one != other or _is_another_document(first, second, one))
    return halves if are_two else ()


def _has_two_columns(page: PageReading) -> bool:
    middle = page.width / 2
    crossing = sum(word.box.left < middle < word.box.right for word in page.words)
    return crossing <= MAX_MIDDLE_WORD_SHARE * len(page.words)


def _find_titles_in(lines: Sequence[str], titles: Iterable[Title], min_share: float) -> list[Title]:
    """Return the titles that make up this share of a line, as often as they occur."""
    found = []
    for title in titles:
        max_letters = len(fuzzy_phrases.fold_letters(title.phrase)) / min_share
        pattern = fuzzy_phrases.compile_phrase(title.phrase)
        for line in lines:
            if len(fuzzy_phrases.fold_letters(line)) <= max_letters:
                found += [title] * len(pattern.findall(line))
    return found


def _show_two_documents(page: PageReading, titles: Sequence[Title]) -> bool:
    """Return whether the page shows the types of two of these titles, or one title twice."""
    if len(titles) < 2:
        return False
    repeated = {title.slug for title in titles if titles.count(title) > 1}
    on_page = 0
    for slug in dict.fromkeys(title.slug for title in titles):
        if has_type_landmarks(page, TYPES[slug]):
            on_page += 1
            if on_page > 1 or slug in repeated:
                return True
    return False
