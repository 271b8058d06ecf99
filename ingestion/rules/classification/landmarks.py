"""Finds landmarks: the phrases that show the type of a document, and the points that they add.

Each landmark that is found adds its weight to the points of its type, once. The evidence is
readable, such as "STATEMENT OF INVESTIGATOR" on page 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple, Self

from audit.translation import gettext
from ingestion.reading.results import DocumentReading, MediaType, PageReading
from ingestion.rules import fuzzy_phrases
from ingestion.rules.classification.features import extract_heading
from ingestion.rules.document_types import (
    MIN_TYPE_SCORE,
    TYPES,
    DocumentType,
    Landmark,
    Phrases,
)
from ingestion.rules.fields.values import SCAN_SOURCES
from ingestion.rules.forms.boxes import find_forms
from ingestion.rules.fuzzy_phrases import compile_phrase, fold_letters

__all__ = [
    "MIN_TITLE_SHARE",
    "LandmarkMatch",
    "TypeScore",
    "find_landmark_letters",
    "has_type_landmarks",
    "is_mostly",
    "name_pages",
    "score_page",
    "score_types",
]

# Points of a landmark that may be a title. Only these are searched for when they are misread,
# because that search is slow.
MIN_TITLE_WEIGHT = 3
FORM_WEIGHT = 8  # points of a page whose print is that of a registered form
MIN_TITLE_SHARE = 0.5  # of the letters of a line that a title takes up
_COURSE_LINES = 4  # lines below the caption of a course that contain its name and its group
_MAX_FUZZY_PAGES = 3  # pages that are searched for misread landmarks


class LandmarkMatch(NamedTuple):
    """A landmark that was found, with the first page that shows it."""

    landmark: str
    page: int
    weight: int


@dataclass(frozen=True, slots=True)
class TypeScore:
    """The landmarks of one document type that a document shows."""

    slug: str
    matches: tuple[LandmarkMatch, ...] = ()

    @property
    def points(self) -> int:
        """Return the sum of the weights of the landmarks."""
        return sum([match.weight for match in self.matches]) if self.matches else 0

    @property
    def evidence(self) -> str:
        """Return the three landmarks with the most points, in words for a reviewer.

        One phrase may be several landmarks, in a title and anywhere. It is named once.
        """
        best = sorted(self.matches, key=lambda match: -match.weight)
        named = dict.fromkeys((match.landmark, match.page) for match in best)
        return name_pages(islice(named, 3))


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Collects the signs of the landmarks of all types, for a quick test of each landmark.

    Most landmarks do not occur at all. A phrase occurs on a page only if its folded letters do.
    """

    letters: frozenset[str]  # of the phrases that a page has
    letters_by_page: tuple[frozenset[str], ...]
    forms: Mapping[str, LandmarkMatch]  # the first page of a registered form, by document type

    @classmethod
    def of(cls, reading: DocumentReading, wanted: frozenset[str]) -> Self:
        by_page = tuple(_find_letters(page.text, wanted) for page in reading.pages)
        forms: dict[str, LandmarkMatch] = {}
        for page, form in find_forms(reading):
            forms.setdefault(form.document_type, LandmarkMatch(form.name, page.number, FORM_WEIGHT))
        return cls(by_page[0] if len(by_page) == 1 else frozenset().union(*by_page), by_page, forms)


@cache
def _all_letters() -> frozenset[str]:
    """Return the folded letters of the phrases of all landmarks."""
    return _join_letters(TYPES.values())


def _join_letters(kinds: Iterable[DocumentType]) -> frozenset[str]:
    return frozenset().union(*(kind.letters for kind in kinds))


def find_landmark_letters(text: str) -> frozenset[str]:
    """Return the folded letters of the phrases of landmarks that a text may contain."""
    return _find_letters(text, _all_letters())


@lru_cache(maxsize=64)
def _find_letters(text: str, wanted: frozenset[str]) -> frozenset[str]:
    """Return those of the wanted folded phrases that the letters of a text contain."""
    return frozenset(fuzzy_phrases.find_letters(text, wanted))


def score_types(reading: DocumentReading, types: Mapping[str, DocumentType]) -> list[TypeScore]:
    """Return the score of each type, the best first; equal scores stay in the order of the types.

    If a scan has too few points, misread landmarks are searched for as well.
    """
    wanted = _all_letters() if types is TYPES else _join_letters(types.values())
    evidence = _Evidence.of(reading, wanted)
    slugs = _known_slugs_by_letters() if types is TYPES else _slugs_by_letters(types)
    possible = set(evidence.forms).union(*(slugs.get(each, ()) for each in evidence.letters))
    for is_fuzzy in (False, True):
        scores = []
        for slug, kind in types.items():
            matches: Sequence[LandmarkMatch] = ()
            if is_fuzzy or slug in possible:
                matches = _find_landmarks(reading, evidence, kind, is_fuzzy=is_fuzzy)
            scores.append(TypeScore(slug, tuple(matches)) if matches else _no_score(slug))
        scores.sort(key=lambda score: -score.points)
        is_scan = any(page.source in SCAN_SOURCES for page in reading.pages)
        if scores[0].points >= MIN_TYPE_SCORE or not is_scan:
            break
    return scores


def score_page(page: PageReading, *, types: Mapping[str, DocumentType] = TYPES) -> list[TypeScore]:
    """Return the scores of a page as if it were a document by itself, the best first."""
    return score_types(_as_document(page), types)


def has_type_landmarks(page: PageReading, kind: DocumentType) -> bool:
    """Return whether a page by itself has enough landmarks of a type.

    It may have enough landmarks of another type as well.
    """
    document = _as_document(page)
    is_known = TYPES.get(kind.slug) is kind
    evidence = _Evidence.of(document, _all_letters() if is_known else kind.letters)
    matches = _find_landmarks(document, evidence, kind, is_fuzzy=False)
    return TypeScore("", tuple(matches)).points >= MIN_TYPE_SCORE


def is_mostly(line: str, phrase: str) -> bool:
    """Return whether a phrase takes up at least half of the letters of a line."""
    letter_count = len(fold_letters(line))
    return len(fold_letters(phrase)) >= MIN_TITLE_SHARE * letter_count


def name_pages(found: Iterable[tuple[str, int]]) -> str:
    """Return phrases with the pages on which they were found, for a reviewer."""
    sentence = gettext('"{phrase}" on page {page}')
    return ", ".join(sentence.format(phrase=phrase, page=page) for phrase, page in found)


@cache
def _known_slugs_by_letters() -> Mapping[str, Sequence[str]]:
    return _slugs_by_letters(TYPES)


def _slugs_by_letters(types: Mapping[str, DocumentType]) -> Mapping[str, Sequence[str]]:
    """Return the types that have landmarks with these folded letters."""
    slugs: dict[str, list[str]] = {}
    for slug, kind in types.items():
        for letters in kind.letters:
            slugs.setdefault(letters, []).append(slug)
    return slugs


@lru_cache(maxsize=256)  # of all types, most have no points
def _no_score(slug: str) -> TypeScore:
    return TypeScore(slug)


def _as_document(page: PageReading) -> DocumentReading:
    return DocumentReading(MediaType.PDF, (replace(page, number=1),))


def _find_landmarks(
    reading: DocumentReading, evidence: _Evidence, kind: DocumentType, *, is_fuzzy: bool
) -> list[LandmarkMatch]:
    """Return the landmarks of a type that a document shows; none if a required one is missing."""
    form, letters = evidence.forms.get(kind.slug), kind.letters & evidence.letters
    if not is_fuzzy and form is None and not letters:
        return []  # the usual case
    matches = [form] if form else []
    for landmark in kind.landmarks:
        match = None
        if is_fuzzy or not landmark.letters.isdisjoint(letters):
            match = _find_landmark(reading, evidence, kind, landmark, is_fuzzy=is_fuzzy)
        if match:
            matches.append(match)
        elif landmark.required:
            return []
    return matches


def _find_landmark(
    reading: DocumentReading,
    evidence: _Evidence,
    kind: DocumentType,
    landmark: Landmark,
    *,
    is_fuzzy: bool,
) -> LandmarkMatch | None:
    """Return a landmark with the first page that shows it, or None."""
    pages = reading.pages[:1] if landmark.where in {"heading", "title"} else reading.pages
    captions = kind.course_captions if landmark.where == "course" else ()
    for index, page in enumerate(pages):
        phrase = ""
        if letters := landmark.letters & evidence.letters_by_page[index]:
            phrases = [each for each in landmark.phrases if fold_letters(each) in letters]
            phrase = _find_phrase(page.text, landmark.where, tuple(phrases), captions)
        if not phrase and is_fuzzy and index < _MAX_FUZZY_PAGES:
            phrase = _find_misread_phrase(page, landmark, captions)
        if phrase:
            return LandmarkMatch(phrase.upper(), page.number, landmark.weight)
    return None


@lru_cache(maxsize=1024)
def _find_phrase(text: str, where: str, phrases: Phrases, captions: Phrases) -> str:
    """Return the first phrase of a landmark that a page shows where it has to stand, or "".

    `text` is that of the page, `phrases` are those whose letters it has, and `captions` are those
    of a course. The landmarks of a page are searched to divide a file and to classify it.
    """
    if where == "title":
        found = (phrase for phrase in phrases if _is_in_title(phrase, text))
    else:
        place = _text_of_place(text, where, captions)
        found = (phrase for phrase in phrases if compile_phrase(phrase).search(place))
    return next(found, "")


def _is_in_title(phrase: str, text: str) -> bool:
    """Return whether a phrase takes up most of a line of a page that may be its title."""
    letters = fold_letters(phrase)
    return any(
        letters in letters_of_line
        and len(letters) >= MIN_TITLE_SHARE * len(letters_of_line)
        and compile_phrase(phrase).search(line)
        for line, letters_of_line in _fold_heading(text)
    )


@lru_cache(maxsize=16)
def _fold_heading(text: str) -> Sequence[tuple[str, str]]:
    """Return the lines of a page that may contain a title, each with its folded letters."""
    lines = extract_heading(text).splitlines()
    return tuple(zip(lines, fuzzy_phrases.fold_words(lines), strict=True))


def _find_misread_phrase(page: PageReading, landmark: Landmark, captions: Phrases) -> str:
    """Return the first phrase of a landmark that a scan shows, perhaps misread, or ""."""
    if landmark.where == "title" or landmark.weight < MIN_TITLE_WEIGHT:
        return ""
    if page.source not in SCAN_SOURCES:
        return ""
    lines = _text_of_place(page.text, landmark.where, captions).splitlines()
    return next(
        (phrase for phrase in landmark.phrases if fuzzy_phrases.resembles_phrase(phrase, lines)), ""
    )


def _text_of_place(text: str, where: str, captions: Phrases) -> str:
    """Return the part of a page in which a landmark has to stand."""
    if where == "heading":
        return extract_heading(text)
    if where == "course":
        return "\n".join(_lines_below(text, captions))
    return text


@lru_cache(maxsize=16)
def _lines_below(text: str, captions: Phrases) -> list[str]:
    """Return the lines with one of these captions, and the next ones below them."""
    captions = tuple(each for each in captions if fuzzy_phrases.may_contain_phrase(text, each))
    if not captions:
        return []
    lines = [line for line in text.splitlines() if line.strip()]
    numbers = {
        number + below
        for number, line in enumerate(lines)
        if any(fuzzy_phrases.contains_phrase(line, caption) for caption in captions)
        for below in range(_COURSE_LINES + 1)
    }
    return [line for number, line in enumerate(lines) if number in numbers]
