"""Reads print that is crossed by a stamp or another mark in coloured ink.

The page is read as it is first. Where coloured ink crosses print, the lines are read again without
it, and replace those that were read before if they are better. Words of the ink itself that were
read with certainty remain, because a stamp may say that a document is approved or received.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from ingestion.reading.images.binarise import flatten_background
from ingestion.reading.images.coloured_ink import clear_coloured_ink, find_coloured_areas
from ingestion.reading.images.coverage import find_letters
from ingestion.reading.images.render import POINTS_PER_INCH, GreyArray, PageRaster
from ingestion.reading.results import Box, compute_bounding_box

from .engines import MIN_WORD_CONFIDENCE, Engine, OcrFailed, OcrWord
from .time_budget import TimeBudget

MIN_LETTERS = 4  # of print that remain in an area; a signature above a rule has none
BAND_MARGIN_POINTS = 10.0  # above and below an area
LINE_MARGIN_POINTS, MAX_LINE_POINTS = 2.0, 30.0  # of a line that is not cut
MAX_BANDS = 3  # of a page that are read again
MIN_SECONDS_LEFT = 1.0  # for one band
DARK_SHARE = 0.6  # of the brightness of the paper, below which a pixel is ink
MAX_PRINT_SHARE = 0.35  # of the ink of a word that remains without colour: the word is of a stamp


@dataclass(frozen=True, slots=True)
class ClearedPrint:
    """The words of a page, and its grey pixels without the coloured ink that crosses print."""

    words: list[OcrWord]
    grey: GreyArray


def read_stamped_print(
    raster: PageRaster, words: Sequence[OcrWord], engine: Engine, budget: TimeBudget
) -> ClearedPrint | None:
    """Return the words of a page after lines with coloured ink were read again without it.

    Return None if no coloured ink crosses print, or if the lines were read well nevertheless.
    """
    areas = _merge(find_coloured_areas(raster))
    areas = [area for area in areas if _is_doubtful(area, words, raster.dpi)]
    cleared = clear_coloured_ink(raster, areas) if areas else None
    if cleared is None:
        return None
    areas = [area for area in areas if _has_letters(cleared, raster.dpi, area)]
    result = list(words)
    for index, area in enumerate(areas[:MAX_BANDS]):
        try:
            read = _read_band(cleared, raster.dpi, area, result, engine, budget)
        except OcrFailed:
            break  # the results so far remain
        # Numbers below those of the second pass, which has up to six areas.
        read = [replace(word, line=(-100 - index, *word.line[1:])) for word in read]
        result = _merge_lines(result, read, area, raster, cleared)
    return ClearedPrint(result, cleared) if areas and result != list(words) else None


def _merge(areas: Sequence[Box]) -> list[Box]:
    """Return the areas, those that overlap as one, from top to bottom."""
    merged: list[Box] = []
    for area in areas:
        near = [other for other in merged if other.intersects(area)]
        merged = [other for other in merged if other not in near]
        merged.append(compute_bounding_box([area, *near]))
    return sorted(merged, key=lambda area: area.top)


def _is_doubtful(area: Box, words: Sequence[OcrWord], dpi: float) -> bool:
    """Return whether a word in an area was read without certainty, or none was read."""
    inside = [word for word in words if area.intersects(word.to_word(dpi).box)]
    return not inside or any(word.confidence < MIN_WORD_CONFIDENCE for word in inside)


def _has_letters(grey: GreyArray, dpi: float, area: Box) -> bool:
    """Return whether an area without its coloured ink shows letters."""
    scale = dpi / POINTS_PER_INCH
    left, top, right, bottom = (max(round(edge * scale), 0) for edge in area)
    cut = PageRaster(np.ascontiguousarray(grey[top:bottom, left:right]), dpi)
    return bool(cut.grey.size) and len(find_letters(flatten_background(cut)).label) >= MIN_LETTERS


def _read_band(
    grey: GreyArray,
    dpi: float,
    area: Box,
    words: Sequence[OcrWord],
    engine: Engine,
    budget: TimeBudget,
) -> list[OcrWord]:
    """Return the words of the lines beside an area, in pixels of the page. Raises OcrFailed.

    No line of the words that were read with certainty is cut.
    """
    seconds = budget.remaining
    if seconds < MIN_SECONDS_LEFT:
        raise OcrFailed("no time is left")
    scale = dpi / POINTS_PER_INCH
    top = max(int((area.top - BAND_MARGIN_POINTS) * scale), 0)
    bottom = int((area.bottom + BAND_MARGIN_POINTS) * scale)
    margin = int(LINE_MARGIN_POINTS * scale)
    lines = [
        (word.top - margin, word.top + word.height + margin)
        for word in words
        if word.confidence >= MIN_WORD_CONFIDENCE and word.height < MAX_LINE_POINTS * scale
    ]
    top = max(min((start for start, end in lines if start < top < end), default=top), 0)
    bottom = max((end for start, end in lines if start < bottom < end), default=bottom)
    found = engine.recognise(np.ascontiguousarray(grey[top:bottom]), round(dpi), seconds)
    return [replace(word, top=word.top + top) for word in found]


def _merge_lines(
    words: list[OcrWord],
    read: Sequence[OcrWord],
    area: Box,
    raster: PageRaster,
    cleared: GreyArray,
) -> list[OcrWord]:
    """Return the words of a page with the lines that cross an area replaced, if they are better.

    `read` are the words of the band around the area without its ink.
    """
    of_ink = [
        word
        for word in words
        if area.contains_centre_of(word.to_word(raster.dpi).box)
        and word.confidence >= MIN_WORD_CONFIDENCE
        and _is_coloured(word, raster, cleared)
    ]
    kept = [word for word in words if word not in of_ink]
    for _, line in groupby(read, key=lambda word: word.line):
        new = list(line)
        box = compute_bounding_box(word.to_word(raster.dpi).box for word in new)
        if not area.intersects(box) or not area.top <= (box.top + box.bottom) / 2 <= area.bottom:
            continue
        old = [word for word in kept if box.contains_centre_of(word.to_word(raster.dpi).box)]
        if _certain_characters(new) <= _certain_characters(old):
            continue
        place = kept.index(old[0]) if old else _place_below(kept, box, raster.dpi)
        kept = [
            *(word for word in kept[:place] if word not in old),
            *new,
            *(word for word in kept[place:] if word not in old),
        ]
    certain = [
        word
        for word in kept
        if word.confidence >= MIN_WORD_CONFIDENCE
        or word in read
        or not area.contains_centre_of(word.to_word(raster.dpi).box)
    ]
    numbered = [replace(word, line=(-200, *word.line[1:])) for word in of_ink]
    return [*certain, *numbered]


def _is_coloured(word: OcrWord, raster: PageRaster, cleared: GreyArray) -> bool:
    """Return whether most ink of a word vanishes with the coloured ink."""
    cut = np.s_[word.top : word.top + word.height, word.left : word.left + word.width]
    limit = DARK_SHARE * float(np.median(raster.grey[::8, ::8]))
    ink = np.count_nonzero(raster.grey[cut] < limit)
    return bool(np.count_nonzero(cleared[cut] < limit) < MAX_PRINT_SHARE * ink)


def _certain_characters(words: Sequence[OcrWord]) -> int:
    return sum(len(word.text) for word in words if word.confidence >= MIN_WORD_CONFIDENCE)


def _place_below(words: Sequence[OcrWord], box: Box, dpi: float) -> int:
    """Return the index behind the last word that ends above a line and is above a part of it."""
    above = [
        index
        for index, word in enumerate(words)
        if (place := word.to_word(dpi).box).bottom <= (box.top + box.bottom) / 2
        and place.left < box.right
        and box.left < place.right
    ]
    return above[-1] + 1 if above else 0
