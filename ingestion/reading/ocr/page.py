"""Reading a page from its picture.

The plain grey page goes to tesseract: nearly everything that tutorials do to it first makes it
worse (reading.md, section 4.2). A bilevel fax is smoothed. Only a page that comes out badly is
looked at in other ways (`views`): when the engine is unsure of its words, or passed over much ink.
What it passed over or misread here and there is looked at once more (`again`).
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from ingestion.reading.images.binarise import (
    has_edges,
    is_blank,
    measure_tone,
    normalise_tone,
)
from ingestion.reading.images.coverage import uncovered_share
from ingestion.reading.images.marks import find_marks
from ingestion.reading.images.render import PageRaster
from ingestion.reading.images.squares import find_empty_squares
from ingestion.reading.images.variants import PageVariant, measure_skew, smooth_bilevel
from ingestion.reading.results import PageReading, TextSource, Word

from .engines import (
    MIN_UPRIGHT_CONFIDENCE,
    Engine,
    OcrFailed,
    OcrTimeout,
    OcrWord,
)
from .second_pass import run_second_pass

MAX_UNCOVERED_SHARE = (
    0.1  # share of a page's letters that are in no word; above, much was passed over
)
FIRST_PASS_TIME_SHARE = 0.6  # of the page's time is the first look's; the rest is for a coarser one
FEWEST_WORDS = (
    5  # on a page of faint ink; from print that shines through, mirrored, one reads fewer
)
RETRY_TIME_SHARE = 0.5  # of the page's time that must be left for another try


@dataclass(frozen=True, slots=True)
class OcrPass:
    """What one pass of the engine read."""

    view: PageVariant
    tokens: list[OcrWord]
    uncovered: float  # share of the letters that are in no word, from 0 to 1

    @property
    def confidence(self) -> float:
        return float(np.mean([token.confidence for token in self.tokens])) if self.tokens else 0.0

    @property
    def good_characters(self) -> int:
        return sum(
            len(token.text) for token in self.tokens if token.confidence >= MIN_UPRIGHT_CONFIDENCE
        )

    @property
    def is_good(self) -> bool:
        return self.confidence >= MIN_UPRIGHT_CONFIDENCE and self.uncovered <= MAX_UNCOVERED_SHARE


def read_page_image(
    picture: PageRaster, page: PageReading, engine: Engine, seconds: float
) -> PageReading:
    """`page`, with what can be read on its picture added to what its text layer has.

    A page that was scanned upside down, sideways or far askew is given upright: its boxes, width
    and height are those of the turned page. One that the engine fails at is given with that as its
    error: with all its ink as marks, for some of it may be somebody's hand.
    """
    tone = measure_tone(picture)
    view = PageVariant.of(normalise_tone(picture, tone), page)
    if is_blank(view.sheet) and not has_edges(view.picture):
        return replace(page, is_blank=not page.text)
    deadline = time.monotonic() + seconds
    page = replace(page, source=TextSource.OCR, dpi=round(picture.dpi))
    try:
        best = _upright(_best_pass(view, engine, seconds))
    except OcrFailed as error:
        return replace(page, marks=find_marks(view.sheet, page.words), error=str(error))
    if tone.is_faint and _count_words(best) < FEWEST_WORDS:
        return replace(page, is_blank=not page.text, source=TextSource.NATIVE, dpi=0)
    view = best.view
    first, _ = _added(view, best.tokens, view.page.words, page.text)
    marks = find_marks(view.sheet, first)
    tokens, passed_over = run_second_pass(view.picture, best.tokens, first, marks, engine, deadline)
    words, text = _added(view, tokens, view.page.words, page.text)
    words, text = _added(view, passed_over, words, text)
    uncovered = best.uncovered if words == first else uncovered_share(view.sheet, words)
    return replace(
        view.page,
        source=TextSource.OCR,
        text=text,
        words=words,
        marks=marks,
        empty_squares=find_empty_squares(view.picture),
        confidence=round(best.confidence, 1),
        uncovered=round(uncovered, 3),
        dpi=round(view.picture.dpi),
    )


def _count_words(read: OcrPass) -> int:
    """Words of three letters or more that the engine is sure of."""
    return sum(
        token.confidence >= MIN_UPRIGHT_CONFIDENCE and len(token.text) > 2 and token.text.isalpha()
        for token in read.tokens
    )


def _best_pass(view: PageVariant, engine: Engine, seconds: float) -> OcrPass:
    """Raises OcrFailed if even the first look fails."""
    deadline = time.monotonic() + seconds
    passes = [_first_pass(view, engine, seconds)]
    for other in _other_views(view, passes):
        left = deadline - time.monotonic()
        if left < seconds * RETRY_TIME_SHARE:
            break
        try:
            passes.append(_pass(other, engine, left))
        except OcrFailed:
            break  # what was read before stands
    return _best(passes)


def _first_pass(view: PageVariant, engine: Engine, seconds: float) -> OcrPass:
    began = time.monotonic()
    try:
        return _pass(view, engine, seconds * FIRST_PASS_TIME_SHARE)
    except OcrTimeout:
        return _pass(view.coarsened(), engine, seconds - (time.monotonic() - began))


def _other_views(view: PageVariant, passes: Sequence[OcrPass]) -> Iterator[PageVariant]:
    """What may be read better, as long as it has not been read well."""
    if passes[0].is_good:
        return
    if skew := measure_skew(view.sheet):
        view = view.deskewed(skew)
        yield view
    for turn in (180, 270):
        if max(each.confidence for each in passes) >= MIN_UPRIGHT_CONFIDENCE:
            break
        yield view.rotated(turn)
    if (best := _best(passes)).uncovered > MAX_UNCOVERED_SHARE:
        yield best.view.evenly_lit()


def _best(passes: Sequence[OcrPass]) -> OcrPass:
    return max(passes, key=lambda each: each.good_characters)


def _pass(view: PageVariant, engine: Engine, seconds: float) -> OcrPass:
    picture = view.picture
    tokens = engine.recognise(smooth_bilevel(picture.grey), round(picture.dpi), seconds)
    words = (*view.page.words, *_words(tokens, picture.dpi))
    return OcrPass(view, tokens, uncovered_share(view.sheet, words))


def _upright(read: OcrPass) -> OcrPass:
    """Tesseract reads a page that lies on its right side, but leaves the boxes lying."""
    lengths = [token for token in read.tokens if len(token.text) > 3]
    lying = sum(token.height > 1.5 * token.width for token in lengths)
    if not lengths or lying < len(lengths) / 2:
        return read
    wide = read.view.picture.grey.shape[1]
    tokens = [
        replace(
            token,
            left=token.top,
            top=wide - token.left - token.width,
            width=token.height,
            height=token.width,
        )
        for token in read.tokens
    ]
    return replace(read, view=read.view.rotated(270), tokens=tokens)


def _added(
    view: PageVariant, tokens: Sequence[OcrWord], own: Sequence[Word], text: str
) -> tuple[tuple[Word, ...], str]:
    """The text layer's words stand; of the picture's, those that are not drawn by it."""
    placed = zip(tokens, _words(tokens, view.picture.dpi), strict=True)
    new = [
        each for each in placed if not any(word.box.contains_center_of(each[1].box) for word in own)
    ]
    lines = _lines(token for token, _ in new)
    return (*own, *(word for _, word in new)), "\n".join(filter(None, (text, lines)))


def _words(tokens: Iterable[OcrWord], dpi: float) -> list[Word]:
    return [token.to_word(dpi) for token in tokens]


def _lines(tokens: Iterable[OcrWord]) -> str:
    lines = groupby(tokens, key=lambda token: token.line)
    return "\n".join(" ".join(token.text for token in line) for _, line in lines)
