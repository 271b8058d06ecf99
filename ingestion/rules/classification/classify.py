"""Which type of document this is, by the landmarks printed on it. Never a guess.

Each landmark that is found adds its weight to its type, once. The type with the highest
score wins if it reaches THRESHOLD and leads the next one by MARGIN; otherwise there is
no answer, and a person looks. The evidence can be read out: "STATEMENT OF INVESTIGATOR"
on page 1, and so on.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from ingestion.reading.results import (
    DocumentReading,
    MediaType,
    PageReading,
    TextSource,
)
from ingestion.rules import fuzzy_phrases
from ingestion.rules.document_types import (
    MIN_TYPE_SCORE,
    TYPES,
    DocumentType,
    Landmark,
)
from ingestion.rules.fields.extraction import SCANS

MIN_SCORE_MARGIN = 2
MIN_TITLE_WEIGHT = (
    3  # the weight of a landmark that may be a title, and is worth a slow look for misreadings
)
_HEADING_LINES = 12  # within which a title stands, below letterhead, stickers and page furniture
_COURSE_LINES = 4  # below a caption of a course within which its name and its group stand
_MAX_FUZZY_PAGES = 3  # that are searched for misread landmarks


class Fit(Enum):
    """How what was declared and what the pages show go together."""

    AGREED = "agreed"  #: as declared; or nothing was declared, and the pages are clear
    CONFLICT = "conflict"  #: the pages clearly show another type
    UNRECOGNIZED = "unrecognized"


@dataclass(frozen=True, slots=True)
class Sighting:
    landmark: str
    page: int
    weight: int


@dataclass(frozen=True, slots=True)
class Score:
    slug: str
    sightings: tuple[Sighting, ...] = ()

    @property
    def points(self) -> int:
        return sum(sighting.weight for sighting in self.sightings)

    @property
    def evidence(self) -> str:
        """The three most telling landmarks, in words for a reviewer."""
        best = sorted(self.sightings, key=lambda sighting: -sighting.weight)[:3]
        return ", ".join(f'"{seen.landmark}" on page {seen.page}' for seen in best)


@dataclass(frozen=True, slots=True)
class Classification:
    slug: str  # what the document is taken for; "" when nobody can tell
    fit: Fit
    best: Score


def classify(
    reading: DocumentReading, declared: str = "", *, types: Mapping[str, DocumentType] = TYPES
) -> Classification:
    scores = _scores(reading, types, patient=False)
    if scores[0].points < MIN_TYPE_SCORE and any(page.source in SCANS for page in reading.pages):
        scores = _scores(reading, types, patient=True)
    return _judge(declared, scores)


def page_scores(page: PageReading, *, types: Mapping[str, DocumentType] = TYPES) -> list[Score]:
    """Return the scores of a page as if it were a document by itself, the best first.

    Misread landmarks are searched for where a scanned page shows too few others.
    """
    alone = DocumentReading(MediaType.PDF, (replace(page, number=1),))
    scores = _scores(alone, types, patient=False)
    if scores[0].points < MIN_TYPE_SCORE and page.source in SCANS:
        scores = _scores(alone, types, patient=True)
    return scores


def shows_type(page: PageReading, kind: DocumentType) -> bool:
    """Whether a page by itself has enough landmarks of this type, which another may have too."""
    alone = DocumentReading(MediaType.PDF, (replace(page, number=1),))
    return (
        Score("", tuple(_sightings(alone, page.text, kind, patient=False))).points >= MIN_TYPE_SCORE
    )


def heading_lines(page: PageReading) -> list[str]:
    """Return the lines of a page within which a title stands."""
    return [line for line in page.text.splitlines() if line.strip()][:_HEADING_LINES]


def guess_type(filename: str, text: str = "") -> str:
    """A first choice for the upload form: by the text if it is clear, else by the file's name."""
    page = PageReading(1, 0, 0, text, TextSource.NATIVE)
    seen = classify(DocumentReading(MediaType.PDF, (page,))).slug if text else ""
    if seen:
        return seen
    words = f" {re.sub(r'[^a-z0-9]+', ' ', filename.casefold())} "
    hints = [(hint, kind.slug) for kind in TYPES.values() for hint in kind.filename]
    hints.sort(key=lambda pair: -len(pair[0]))  # "IRB approval" says more than "IRB"
    return next((slug for hint, slug in hints if f" {hint} " in words), "")


def _judge(declared: str, scores: list[Score]) -> Classification:
    best, runner_up = scores[0], scores[1] if len(scores) > 1 else Score("")
    by_slug = {score.slug: score.points for score in scores}
    if by_slug.get(declared, 0) >= max(MIN_TYPE_SCORE, best.points - MIN_SCORE_MARGIN + 1):
        return Classification(declared, Fit.AGREED, best)
    if best.points < max(MIN_TYPE_SCORE, runner_up.points + MIN_SCORE_MARGIN):
        return Classification("", Fit.UNRECOGNIZED, best)
    return Classification(best.slug, Fit.CONFLICT if declared else Fit.AGREED, best)


def _scores(
    reading: DocumentReading, types: Mapping[str, DocumentType], *, patient: bool
) -> list[Score]:
    """The best first; among equals, in the order of the file of types."""
    text = "\n".join(page.text for page in reading.pages)
    scores = [
        Score(slug, tuple(_sightings(reading, text, kind, patient=patient)))
        for slug, kind in types.items()
    ]
    return sorted(scores, key=lambda score: -score.points)


def _sightings(
    reading: DocumentReading, text: str, kind: DocumentType, *, patient: bool
) -> Iterator[Sighting]:
    """`text`: of all pages. Most landmarks are nowhere in it."""
    for landmark in kind.landmarks:
        if not patient and not any(
            fuzzy_phrases.may_hold(text, words) for words in landmark.phrases
        ):
            continue
        pages = reading.pages[:1] if landmark.where == "heading" else reading.pages
        for page in pages:
            if _shows(page, landmark, kind, patient=patient and page.number <= _MAX_FUZZY_PAGES):
                yield Sighting(landmark.phrases[0].upper(), page.number, landmark.weight)
                break


def _shows(page: PageReading, landmark: Landmark, kind: DocumentType, *, patient: bool) -> bool:
    text = _searched(page, landmark, kind)
    if any(fuzzy_phrases.holds(text, words) for words in landmark.phrases):
        return True
    if not patient or landmark.weight < MIN_TITLE_WEIGHT or page.source not in SCANS:
        return False
    return any(fuzzy_phrases.resembles(words, text.splitlines()) for words in landmark.phrases)


def _searched(page: PageReading, landmark: Landmark, kind: DocumentType) -> str:
    if landmark.where == "anywhere":
        return page.text
    return _heading(page) if landmark.where == "heading" else _course(page, kind)


def _heading(page: PageReading) -> str:
    return "\n".join(heading_lines(page))


def _course(page: PageReading, kind: DocumentType) -> str:
    """The lines that name the course: those with a caption of it, and the next few below each."""
    captions_of = (spec.labels for spec in kind.fields if spec.name == "course")
    labels = [label for each in captions_of for label in each if " " in label]  # "course" is a word
    lines = [line for line in page.text.splitlines() if line.strip()]
    captions = (
        at
        for at, line in enumerate(lines)
        if any(fuzzy_phrases.holds(line, label) for label in labels)
    )
    named = {at + below for at in captions for below in range(_COURSE_LINES + 1)}
    return "\n".join(line for at, line in enumerate(lines) if at in named)
