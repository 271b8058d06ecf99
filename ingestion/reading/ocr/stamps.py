"""Finds the stamps of a scanned page, in lines of OCR and in areas that are read again."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import count, groupby
from statistics import median

import numpy as np

from ingestion.reading.images.coloured_ink import find_coloured_areas, iter_ink_layers
from ingestion.reading.images.letter_lines import find_letter_lines, turn_line_upright
from ingestion.reading.images.normalise.variants import PageVariant
from ingestion.reading.images.render import GreyArray
from ingestion.reading.images.stamps import StampArea, find_stamp_areas
from ingestion.reading.images.upright_ink import LETTER_PIXELS
from ingestion.reading.results import AddedMark, AddedMarkKind, Box, compute_bounding_box
from ingestion.reading.stamp_words import STAMP_PHRASES, StampLine, read_stamp_line

from .engines import Engine, OcrFailed, OcrWord, SegmentationMode
from .time_budget import TimeBudget

MIN_STAMP_HEIGHT_RATIO = 1.7  # of the height of a stamp's word to the median of the page
MIN_STAMP_CONFIDENCE = 30.0  # 0 to 100, of the words of a stamp with a short phrase
MIN_LONG_PHRASE = 7  # letters of a phrase that no other word resembles
MIN_CAPITAL_SHARE = 0.75  # of the letters of a misread word
LONG_WORDS = (
    *(phrase.upper() for phrase in STAMP_PHRASES if len(phrase) >= MIN_LONG_PHRASE),
    "CONTROLLED",
    "UNCONTROLLED",
    "CERTIFIED",
)
MIN_PHRASE_SIMILARITY = 0.85  # of a misread phrase, from 0 to 1
# Of a word of a title, which is no stamp.
MIN_TITLE_CONFIDENCE, MIN_TITLE_LETTERS, MAX_TITLE_HEIGHT_RATIO = 80.0, 3, 4.0
MIN_SECONDS_LEFT = 1.0  # for one area
MIN_CERTAIN_LETTERS = 4  # of a word that shows that its line was read
MIN_WORD_SHARE = 0.65  # of a line's height that a word of the same line has
MIN_READ_SHARE = 0.6  # of the letters of an image that need not be read in another mode
MAX_LINES_PER_PAGE = 10  # of coloured ink that are read
INK_LIMIT = 128  # of 255, in a layer of coloured ink
LINE_DPI = 300  # that OCR is told: a letter of a line has 36 pixels


def find_scanned_stamps(
    variant: PageVariant,
    words: Sequence[OcrWord],
    marks: Sequence[Box],
    engine: Engine,
    budget: TimeBudget,
) -> list[AddedMark]:
    """Return the stamps of a scanned page.

    `words` are those of OCR, and `marks` are the marks of the page.
    """
    dpi = variant.raster.dpi
    found = list(_stamps_in_lines(words, dpi))
    large = _large_words(words, dpi)
    found += _coloured_stamps(variant, words, engine, budget)
    for area in find_stamp_areas(variant.raster, variant.flat, marks, large):
        if any(mark.box.intersects(area.box) for mark in found):
            continue
        seconds = budget.remaining
        if seconds < MIN_SECONDS_LEFT:
            break
        try:
            found += _read_area(area, engine, seconds)
        except OcrFailed:
            break  # the results so far remain
    return found


def _coloured_stamps(
    variant: PageVariant, words: Sequence[OcrWord], engine: Engine, budget: TimeBudget
) -> Iterator[AddedMark]:
    """Yield the stamps in coloured ink, which are free of the print below them."""
    areas = find_coloured_areas(variant.raster)
    certain = _certain_words(words, variant.raster.dpi) if areas else []
    reads = count()
    for area in areas:
        for layer in iter_ink_layers(variant.raster, area):
            stamps = []
            for line in find_letter_lines(np.asarray(layer.grey < INK_LIMIT, np.uint8), layer.dpi):
                box = layer.to_page(line.box)
                is_read = any(_is_line_of(word, box) for word in certain)
                image = None if is_read else turn_line_upright(layer.grey, line)
                if image is None:
                    continue
                if next(reads) >= MAX_LINES_PER_PAGE:
                    return
                if stamp := _read_line(image, engine, budget):
                    stamps.append(AddedMark(stamp.kind, box, stamp.phrase))
            yield from stamps
            if stamps:
                break


def _is_line_of(word: Box, line: Box) -> bool:
    """Return whether a word is a part of a line, and not print that the line crosses."""
    height = line.bottom - line.top
    return line.contains_centre_of(word) and word.bottom - word.top > MIN_WORD_SHARE * height


def _read_line(image: GreyArray, engine: Engine, budget: TimeBudget) -> StampLine | None:
    """Return the stamp that the upright image of a line shows, or None."""
    seconds = budget.remaining
    if seconds < MIN_SECONDS_LEFT:
        return None
    try:
        return read_stamp_image(image, LINE_DPI, engine, seconds, (SegmentationMode.SINGLE_LINE,))
    except OcrFailed:
        return None


def _certain_words(words: Sequence[OcrWord], dpi: float) -> list[Box]:
    """Return the boxes of words that were read with certainty and are no words of stamps."""
    return [
        word.to_word(dpi).box
        for word in words
        if word.confidence >= MIN_TITLE_CONFIDENCE
        and sum(map(str.isalpha, word.text)) >= MIN_CERTAIN_LETTERS
        and read_stamp_line(word.text) is None
    ]


def _large_words(words: Sequence[OcrWord], dpi: float) -> list[Box]:
    """Return the boxes of words that are larger than print and were read with certainty."""
    usual = median(word.height for word in words) if words else 0
    return [
        word.to_word(dpi).box
        for word in words
        if word.confidence >= MIN_TITLE_CONFIDENCE
        and len(word.text) >= MIN_TITLE_LETTERS
        and usual < word.height < MAX_TITLE_HEIGHT_RATIO * usual
        and read_stamp_line(word.text) is None
    ]


def _stamps_in_lines(words: Sequence[OcrWord], dpi: float) -> Iterator[AddedMark]:
    """Yield the lines of OCR that consist of the words of a stamp and are larger than print."""
    heights = [word.height for word in words]
    usual = median(heights) if heights else 0
    for _, line in groupby(words, key=lambda word: word.line):
        on_line = list(line)
        stamp = read_stamp_line(" ".join(word.text for word in on_line))
        if stamp is None or stamp.phrase == "SAMPLE":
            continue
        is_large = max(word.height for word in on_line) >= MIN_STAMP_HEIGHT_RATIO * usual
        is_heading = stamp.is_capital and stamp.kind in {
            AddedMarkKind.DRAFT,
            AddedMarkKind.VOID,
            AddedMarkKind.SUPERSEDED,
        }
        if (is_large and len(words) > len(on_line)) or is_heading:
            box = compute_bounding_box(word.to_word(dpi).box for word in on_line)
            yield AddedMark(stamp.kind, box, stamp.phrase)


def _read_area(area: StampArea, engine: Engine, seconds: float) -> Iterator[AddedMark]:
    """Yield the stamp that an area shows. Raises OcrFailed."""
    if stamp := read_stamp_image(area.image, area.dpi, engine, seconds):
        yield AddedMark(stamp.kind, area.box, stamp.phrase)


def read_stamp_image(
    image: GreyArray,
    dpi: int,
    engine: Engine,
    seconds: float,
    modes: Sequence[SegmentationMode] = (SegmentationMode.SINGLE_COLUMN,),
    letters: int | None = None,
) -> StampLine | None:
    """Return the stamp that an upright image shows, or None. Raises OcrFailed.

    `seconds` is the time limit of one reading. The image is read in each of the modes until a
    stamp is found, or until most of its letters were read with certainty. `letters` is their
    number, if it is known and they have the size for OCR.
    """
    for mode in modes:
        words = engine.recognise(image, dpi, seconds, mode)
        for _, line in groupby(words, key=lambda word: word.line):
            on_line = list(line)
            text = " ".join(_correct_stamp_word(word.text) for word in on_line)
            stamp = read_stamp_line(text)
            if stamp is None or not stamp.is_capital:
                continue
            confidence = max(word.confidence for word in on_line)
            if confidence >= MIN_STAMP_CONFIDENCE or len(stamp.phrase) >= MIN_LONG_PHRASE:
                return stamp
        if letters and _count_certain_letters(words) >= MIN_READ_SHARE * letters:
            break
    return None


def _count_certain_letters(words: Sequence[OcrWord]) -> int:
    """Return how many characters were read with certainty, apart from those of smaller lines."""
    return sum(
        sum(map(str.isalnum, word.text))
        for word in words
        if word.confidence >= MIN_TITLE_CONFIDENCE and word.height > MIN_WORD_SHARE * LETTER_PIXELS
    )


def _correct_stamp_word(word: str) -> str:
    """Return the long word of stamps that a word in capitals resembles, or the word itself."""
    capitals = sum(map(str.isupper, word))
    if len(word) < MIN_LONG_PHRASE or capitals < MIN_CAPITAL_SHARE * len(word):
        return word
    ratios = [
        (SequenceMatcher(None, word.upper(), phrase).ratio(), phrase) for phrase in LONG_WORDS
    ]
    ratio, phrase = max(ratios)
    return phrase if ratio >= MIN_PHRASE_SIMILARITY else word
