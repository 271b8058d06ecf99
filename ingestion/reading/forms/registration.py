"""Recognises a page as a page of a registered form, by the places of its printed words.

The words of the page are matched with those of each blank page. Their places give the transform
from the blank page to this one, whether it was scanned askew, cropped, reduced or photographed. A
page is recognised by the share of the printed words that are in their places. The first test is a
search for a few phrases in the text, so that other pages cost next to nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from ingestion.reading.images.render import PageRaster
from ingestion.reading.results import Box, MeasuredBox, RegisteredPage, Word

from .catalogue import (
    BlankForm,
    BlankPage,
    Point,
    find_centre,
    fold_signs,
    list_signs,
    read_registered_forms,
)
from .measurement import Transform, measure_boxes

MAX_SAME_WORDS = 3  # occurrences of a word on a page; more say little about where the page is
MIN_ANCHOR_LETTERS = 3  # shorter words are often misread
MIN_ANCHORS = 12  # pairs of words that agree about the transform
MAX_ANCHOR_ERROR = 4.0  # points by which they may disagree
MAX_WORD_ERROR = 4.0  # points between a word of the blank form and the same word of the page
MIN_MATCH = 0.55  # share of the words of the blank page; OCR misreads some of a poor scan
MAX_MATCH_DIFFERENCE = 0.05  # between editions that print the same words in the same places
MIN_SCALE, MAX_SCALE = 0.4, 2.5  # of the page to the blank page
MAX_SHEAR = 0.12  # of a photograph; 0.1 is 6 degrees
# Around a box: its caption is inside or near. OCR may omit small print next to it, or read a square
# and its caption as one word.
DISTANCES_AROUND = (0.0, 24.0, 72.0)  # points
MIN_WORDS_AROUND = 3
MIN_ANCHORED_SHARE = 0.6  # of the printed words around a box that are in their places


class _Candidate(NamedTuple):
    """A page of a registered form that a page may be."""

    form: BlankForm
    blank: BlankPage
    transform: Transform
    found: tuple[bool, ...]  # for each of its words, whether the page has it in its place
    placed: float  # share in their places of the words that the blank page and the page have once
    is_edition_certain: bool

    @property
    def match(self) -> float:
        """Return the share of the words of the blank page that are in their places."""
        return sum(self.found) / len(self.found)


def may_be_form(text: str) -> bool:
    """Return whether the text of a page contains a phrase of a registered form."""
    folded = fold_signs(text)
    return any(sign in folded for sign in list_signs())


def find_form(
    words: Sequence[Word], render: Callable[[], PageRaster]
) -> tuple[RegisteredPage, ...]:
    """Return the page of a registered form that a page is, with its boxes, or an empty tuple.

    `render` is called only for a page of a form. It returns the raster in which the words were
    read, with the same corner.
    """
    candidates = _find_candidates(words)
    if not candidates:
        return ()
    best = max(candidates, key=lambda each: (each.match, each.is_edition_certain))
    # Editions that print the same words in the same places differ in the edition itself.
    near = [each for each in candidates if each.match > best.match - MAX_MATCH_DIFFERENCE]
    best = next((each for each in near if each.is_edition_certain), best)
    boxes = tuple(
        MeasuredBox(*measured[:-1], is_anchored=_is_anchored(best, printed.area))
        for measured, printed in zip(
            measure_boxes(best.blank, best.transform, words, render()),
            best.blank.boxes,
            strict=True,
        )
    )
    return (
        RegisteredPage(
            best.form.key,
            best.blank.number,
            round(best.match, 3),
            best.is_edition_certain,
            boxes,
            round(best.placed, 3),
        ),
    )


def _find_candidates(words: Sequence[Word]) -> list[_Candidate]:
    """Return the pages of forms that a page may be, without those that match clearly worse."""
    texts = [fold_signs(word.text) for word in words]
    by_text: dict[str, list[Point]] = defaultdict(list)
    for text, word in zip(texts, words, strict=True):
        by_text[text].append(find_centre(word.box))
    pages = list(_pages_of_forms("".join(texts)))
    matches = [blank.share_of_words(by_text) for _, blank in pages]
    best_match = 0.0
    found: dict[int, _Candidate] = {}
    # The page with the most words in common comes first, so that most others are not aligned.
    for number in sorted(range(len(pages)), key=lambda each: -matches[each]):
        if matches[number] < MIN_MATCH or matches[number] <= best_match - MAX_MATCH_DIFFERENCE:
            break  # without an alignment, which takes long
        candidate = _find_candidate(*pages[number], by_text)
        if candidate and candidate.match >= MIN_MATCH:
            best_match = max(best_match, candidate.match)
            found[number] = candidate
    return [found[number] for number in sorted(found)]


def _find_candidate(
    form: BlankForm, blank: BlankPage, by_text: Mapping[str, Sequence[Point]]
) -> _Candidate | None:
    """Return a page of a form with its place on a page, or None if it cannot be aligned."""
    transform = _align(blank, by_text)
    if transform is None:
        return None
    found = _find_in_place(blank, transform, by_text)
    edition = fold_signs(form.edition)
    is_certain = not edition or any(
        is_found
        for is_found, (text, _) in zip(found, blank.read_words, strict=True)
        if text == edition
    )
    placed = _placed_share(blank, found, by_text)
    return _Candidate(form, blank, transform, found, placed, is_certain)


def _pages_of_forms(text: str) -> Iterator[tuple[BlankForm, BlankPage]]:
    """Yield the pages of the forms that have a sign in a text, in all of their editions.

    `text` is that of the words. If it has no sign, because the words are in another order than the
    text, yield all pages.
    """
    pages = [(form, blank) for form in read_registered_forms().values() for blank in form.pages]
    names = {form.name for form, blank in pages if any(sign in text for sign in blank.folded_signs)}
    yield from ((form, blank) for form, blank in pages if not names or form.name in names)


def _is_anchored(candidate: _Candidate, area: Box) -> bool:
    """Return whether the print in and around an area of the blank page is in its place.

    Elsewhere the page may be folded, cut off or pasted over, or print another box there.
    """
    words = tuple(zip(candidate.found, candidate.blank.read_words, strict=True))
    left, top, right, bottom = area
    for distance in DISTANCES_AROUND:
        around = Box(left - distance, top - distance, right + distance, bottom + distance)
        found = [is_found for is_found, (_, box) in words if around.intersects(box)]
        if len(found) >= MIN_WORDS_AROUND and sum(found) >= MIN_ANCHORED_SHARE * len(found):
            return True
    return False


def _align(blank: BlankPage, by_text: Mapping[str, Sequence[Point]]) -> Transform | None:
    """Return the transform from a blank page to a page, or None if it is not the same form.

    OpenCV draws the same samples for the same input, so the result is deterministic.
    """
    pairs = [
        pair
        for text, centres in blank.centres_by_text.items()
        if text in by_text
        and len(text) >= MIN_ANCHOR_LETTERS
        and len(centres) <= MAX_SAME_WORDS
        and len(by_text[text]) <= MAX_SAME_WORDS
        for pair in product(centres, by_text[text])
    ]
    if len(pairs) < MIN_ANCHORS:
        return None
    source, target = (np.array(points) for points in zip(*pairs, strict=True))
    affine, inliers = cv2.estimateAffine2D(
        source, target, method=cv2.RANSAC, ransacReprojThreshold=3 * MAX_ANCHOR_ERROR
    )
    if affine is None or np.count_nonzero(inliers) < MIN_ANCHORS or not _is_plausible(affine):
        return None
    kept = inliers.ravel() > 0
    homography, agreeing = cv2.findHomography(
        source[kept], target[kept], cv2.RANSAC, MAX_ANCHOR_ERROR
    )
    if homography is None or np.count_nonzero(agreeing) < MIN_ANCHORS:
        return None
    return np.asarray(homography, np.float64)


def _is_plausible(affine: NDArray[np.float64]) -> bool:
    """Return whether a sheet can be scanned or photographed like this, upright."""
    (a, b, _), (c, d, _) = affine
    scales_agree = MIN_SCALE < a < MAX_SCALE and MIN_SCALE < d < MAX_SCALE
    return bool(scales_agree and max(abs(b), abs(c)) < MAX_SHEAR * a and abs(a - d) < 0.2 * a)


def _find_in_place(
    blank: BlankPage, transform: Transform, by_text: Mapping[str, Sequence[Point]]
) -> tuple[bool, ...]:
    """Return for each printed word with letters or digits whether the page has it in its place."""
    centres = np.array([[find_centre(box) for _, box in blank.read_words]])
    places = cv2.perspectiveTransform(centres, transform)[0].tolist()
    max_error = MAX_WORD_ERROR * max(abs(transform[0, 0]), 1.0)
    return tuple(
        any(
            abs(x - place[0]) <= max_error and abs(y - place[1]) <= max_error
            for x, y in by_text.get(text, ())
        )
        for (text, _), place in zip(blank.read_words, places, strict=True)
    )


def _placed_share(
    blank: BlankPage, found: Sequence[bool], by_text: Mapping[str, Sequence[Point]]
) -> float:
    """Return the share in their places of the words that the blank page and the page have once.

    Words that OCR misread do not count, so a poor scan of the form differs from another form.
    """
    printed = Counter(text for text, _ in blank.read_words)
    once = [
        is_found
        for is_found, (text, _) in zip(found, blank.read_words, strict=True)
        if len(text) >= MIN_ANCHOR_LETTERS and printed[text] == len(by_text.get(text, ())) == 1
    ]
    return sum(once) / max(len(once), 1)
