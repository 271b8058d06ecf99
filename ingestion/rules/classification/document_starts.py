"""Where documents begin in a file, so that none is filed together with the pages of another.

A page begins a document when, taken by itself, it is recognised as one of a type and has a title
of that type among its first lines; or when it is numbered "Page 1 of 3" behind other pages. A page
that carries on a numbering, as "Page 2 of 3" does behind "Page 1 of 3", has to show another type
more clearly. A second document of the same type is told by its person, its number or its site. Two
documents may share one sheet as well, side by side or one above the other.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from statistics import median
from typing import NamedTuple

from ingestion.reading.results import (
    Box,
    DocumentReading,
    MediaType,
    PageReading,
    Word,
)
from ingestion.rules import fuzzy_phrases
from ingestion.rules.classification.classify import heading_lines, page_scores, shows_type
from ingestion.rules.document_types import MIN_TYPE_SCORE, TYPES
from ingestion.rules.fields import geometry, names
from ingestion.rules.fields.extraction import SCANS, read_fields

LEAD = 2  # points by which a page's type leads the type of the pages before it
LEAD_IN_A_NUMBERING = 4  # the same, on a page that carries on the numbering of the page before
TITLE_WEIGHT = 3  # of a landmark that may be a title
MENTIONED_TITLE_WEIGHT = 2  # the same, of a type that others mention: its own words count less
TITLE_SHARE = 0.5  # of a line's letters; a sentence that holds the words of a title has more others
MAX_WORDS = 10  # of a line that begins or ends with a title
TITLE_AREA = 0.5  # of a page's height; a title stands above
PROMINENT = 1.4  # times the usual height of a page's words
INDENT = 0.2  # share of the width that is left on both sides of a centred line
CENTRED = 0.06  # share of the width by which these may differ
SHARED_LINE = 0.25  # the same, where the line of one document runs on into that of another
ACROSS_THE_MIDDLE = 0.03  # share of words; of a sheet that shows two documents side by side

_NUMBERED = re.compile(r"\b(?:page|part)\s*(\d{1,3})\s*(?:of|/)\s*(\d{1,3})\b", re.IGNORECASE)
# What tells two documents of one type apart. The days on which people signed differ within one.
_PEOPLE = frozenset({"person", "investigator"})
_WHO = _PEOPLE | {
    "licence_number", "clia_number", "policy_number", "protocol_number", "site_number",
    "amendment_number", "lab_name",
}  # fmt: skip
_WHEN = frozenset({"completion_date", "approval_date"})

Numbering = frozenset[tuple[int, int]]  # (2, 3) for "Page 2 of 3"; a page may be numbered twice


@dataclass(frozen=True, slots=True)
class DocumentStart:
    """A document begins on this page, of this type; "" where its type was not recognised."""

    page: int
    slug: str = ""


class Title(NamedTuple):
    """A phrase that may be the title of a document of a type."""

    slug: str
    words: str


def find_document_starts(reading: DocumentReading) -> list[DocumentStart]:
    """Return where documents begin, in the order of the pages: on the first page one always does.

    Two starts on one page mean that the sheet shows two documents. Nothing else is asked about a
    file that holds one document: its type is then left open.
    """
    starts: list[PageReading] = []
    before: Numbering = frozenset()
    for page in reading.pages:
        numbering = _numbering(page)
        if halves := _documents_on_one_sheet(page):
            starts += halves
        elif not starts or _begins(page, numbering, before, starts[-1]):
            starts.append(page)
        before = numbering or before
    if len(starts) == 1:
        return [DocumentStart(starts[0].number)]
    return [DocumentStart(page.number, _recognised(page)) for page in starts]


def _begins(page: PageReading, numbering: Numbering, before: Numbering, first: PageReading) -> bool:
    """Whether a page begins a document, where `first` began the one that the page may belong to."""
    if any(number == 1 for number, _ in numbering):
        return True
    slug = _entitled(page)
    if not slug:
        return False
    current = _recognised(first)
    carries_on = any((number - 1, total) in before for number, total in numbering)
    if slug == current:
        return _tells_of_another(page, first, slug, _WHO if carries_on else _WHO | _WHEN)
    points = {score.slug: score.points for score in page_scores(page)}
    if carries_on and not current:
        return False
    lead = LEAD_IN_A_NUMBERING if carries_on else LEAD
    if points[slug] < points.get(current, 0) + lead:
        return False
    may_be_mentioned = slug in (TYPES[current].mentions if current else _mentioned())
    return not may_be_mentioned or _has_prominent_title(page, slug)


def _entitled(page: PageReading) -> str:
    """The type that a page is recognised as by itself, if one of its first lines is its title."""
    titles = {title.slug for title in _titles_of(page)}
    slug = _recognised(page) if titles else ""
    return slug if slug in titles else ""


def _has_prominent_title(page: PageReading, slug: str) -> bool:
    """Whether a title of this type is larger than the print of the page, or centred on it.

    The sections of a CV are neither, and hold the words of many a title.
    """
    usual = median(_height(word.box) for word in page.words)
    return any(
        _height(line) >= PROMINENT * usual or _is_centred(line, page.width)
        for title in _titles_of(page)
        if title.slug == slug
        for place in geometry.occurrences(page, title.words)
        for line in (geometry.around(geometry.run(page, place)),)
        if line.bottom < TITLE_AREA * page.height
    )


def _height(box: Box) -> float:
    return box.bottom - box.top


def _is_centred(line: Box, width: float) -> bool:
    """Whether as much of the page's width is left on one side of a line as on the other."""
    before, behind = line.left, width - line.right
    return min(before, behind) > INDENT * width and abs(before - behind) < CENTRED * width


def _recognised(page: PageReading) -> str:
    best = page_scores(page)[0]
    return best.slug if best.points >= MIN_TYPE_SCORE else ""


@cache
def _mentioned() -> frozenset[str]:
    """The types that documents of other types list: a CV lists licences and certificates."""
    return frozenset(slug for kind in TYPES.values() for slug in kind.mentions)


@cache
def _all_titles() -> tuple[Title, ...]:
    return tuple(
        Title(slug, words)
        for slug, kind in TYPES.items()
        for landmark in kind.landmarks
        if landmark.weight >= (MENTIONED_TITLE_WEIGHT if slug in _mentioned() else TITLE_WEIGHT)
        for words in landmark.phrases
    )


def _titles_of(page: PageReading) -> list[Title]:
    """The titles that are among the first lines of a page: on a scan perhaps misread."""
    lines = heading_lines(page)
    return [
        title
        for title in _all_titles()
        if (
            fuzzy_phrases.may_hold(page.text, title.words)
            and any(_is_title(line, title.words) for line in lines)
        )
        or (
            page.source in SCANS
            and fuzzy_phrases.resembles(
                title.words, (line for line in lines if _is_short(line, title.words))
            )
        )
    ]


def _is_title(line: str, words: str) -> bool:
    """Whether a line says little more than these words, or begins or ends with them.

    A line that does so is short, or sets them in capitals, with another column beside them.
    """
    match = fuzzy_phrases.phrase(words).search(line.strip())
    if match is None:
        return False
    if _is_short(line, words):
        return True
    is_brief = len(line.split()) <= MAX_WORDS and not re.search(r"[,;]|\.$", line.rstrip())
    stands_at_an_end = match.start() == 0 or match.end() == len(line.strip())
    return stands_at_an_end and (is_brief or match[0].isupper())


def _is_short(line: str, words: str) -> bool:
    return len(fuzzy_phrases.letters(words)) >= TITLE_SHARE * len(fuzzy_phrases.letters(line))


def _numbering(page: PageReading) -> Numbering:
    return frozenset((int(match[1]), int(match[2])) for match in _NUMBERED.finditer(page.text))


def _tells_of_another(
    page: PageReading, other: PageReading, slug: str, fields: frozenset[str] = _WHO | _WHEN
) -> bool:
    """Whether two pages of one type surely differ in one of these fields."""
    one, its = _telling(page, slug), _telling(other, slug)
    for name in fields & one.keys() & its.keys():
        if name in _PEOPLE and not names.may_be_same_person(one[name], its[name]):
            return True
        if name not in _PEOPLE and fuzzy_phrases.bare(one[name]) != fuzzy_phrases.bare(its[name]):
            return True
    return False


def _telling(page: PageReading, slug: str) -> dict[str, str]:
    """What is sure of a page by itself. Names in capitals may be the captions of a form."""
    values = read_fields(DocumentReading(MediaType.PDF, (page,)), TYPES[slug])
    return {
        value.name: value.value
        for value in values
        if value.is_sure and not (value.name in _PEOPLE and value.value.isupper())
    }


def _documents_on_one_sheet(page: PageReading) -> tuple[PageReading, ...]:
    """The halves of a sheet that shows two documents; none of a sheet that shows one."""
    lines, x, y = page.text.splitlines(), page.width / 2, page.height / 2
    titles = [each for each in _all_titles() if fuzzy_phrases.may_hold(page.text, each[1])]
    above, below = lines[: len(lines) // 3], lines[len(lines) // 3 :]
    if _are_of_two(page, _among(lines, titles, SHARED_LINE)) and _is_in_two_columns(page):
        halves = (_part(page, right=x), _part(page, left=x))
    elif (lower := _among(below, titles, TITLE_SHARE)) and _are_of_two(
        page, [*_among(above, titles, TITLE_SHARE), *lower]
    ):
        halves = (_part(page, bottom=y), _part(page, top=y))
    else:
        return ()
    one, other = map(_entitled, halves)
    are_two = one and other and (one != other or _tells_of_another(*halves, one))
    return halves if are_two else ()


def _among(lines: Sequence[str], titles: Iterable[Title], share: float) -> list[Title]:
    """The titles that make up so large a share of one of these lines, as often as they do."""
    found = []
    for title in titles:
        most = len(fuzzy_phrases.letters(title.words)) / share
        short = (line for line in lines if len(fuzzy_phrases.letters(line)) <= most)
        found += [title for line in short for _ in fuzzy_phrases.phrase(title.words).findall(line)]
    return found


def _are_of_two(page: PageReading, titles: Sequence[Title]) -> bool:
    """Whether they are titles of two types that a page shows, or one of them is there twice."""
    if len(titles) < 2:
        return False
    shown = {slug for slug in {title.slug for title in titles} if shows_type(page, TYPES[slug])}
    return len(shown) > 1 or any(titles.count(each) > 1 for each in titles if each.slug in shown)


def _is_in_two_columns(page: PageReading) -> bool:
    middle = page.width / 2
    crossing = sum(word.box.left < middle < word.box.right for word in page.words)
    return crossing <= ACROSS_THE_MIDDLE * len(page.words)


def _part(
    page: PageReading,
    *,
    left: float = -inf,
    top: float = -inf,
    right: float = inf,
    bottom: float = inf,
) -> PageReading:
    """The words of a page that stand within these edges, in points, as a page of its own."""
    area = Box(left, top, right, bottom)
    lines: list[list[Word]] = []
    for word in sorted(page.words, key=lambda word: word.box.top):
        if not area.contains_center_of(word.box):
            continue
        if lines and geometry.on_each_other(lines[-1][-1].box, word.box):
            lines[-1].append(word)
        else:
            lines.append([word])
    in_order = [sorted(line, key=lambda word: word.box.left) for line in lines]
    text = "\n".join(" ".join(word.text for word in line) for line in in_order)
    return replace(page, text=text, words=tuple(word for line in in_order for word in line))
