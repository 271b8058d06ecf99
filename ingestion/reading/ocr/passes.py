"""Reads the words of a page in passes, and keeps the best one.

The first pass reads the page as it is. If the engine has low confidence in its words, or omitted
much ink, others read variants of the page (`normalise.variants`), or read it in another language
(`page_language`). The second engine also reads degraded pages, pages in small print, and those of
which Tesseract is not sure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ingestion.reading.images.binarise import flatten_background
from ingestion.reading.images.coverage import find_letters, measure_uncovered_share
from ingestion.reading.images.normalise.picture import darken_faint_print, level_lines
from ingestion.reading.images.normalise.tone import Tone, normalise_tone
from ingestion.reading.images.normalise.variants import PageVariant
from ingestion.reading.images.quality import is_degraded
from ingestion.reading.images.render import GreyArray, PageRaster
from ingestion.reading.languages import IN_HAN_CHARACTERS, UNKNOWN, UNSPACED
from ingestion.reading.results import CorrectionKind, PageReading

from .engines import (
    DISPUTED_CONFIDENCE,
    MIN_WORD_CONFIDENCE,
    Engine,
    OcrFailed,
    OcrTimeout,
    OcrWord,
)
from .letter_shapes import omits_diacritics
from .page_language import FoundLanguage, LanguageEngines
from .print_size import has_small_print, is_reduced, read_print
from .row_order import order_rows
from .second_engine.combine import combine_pages
from .stamped_print import read_stamped_print
from .time_budget import TimeBudget

if TYPE_CHECKING:
    from .second_engine.client import SecondEngine

MIN_PAGE_CONFIDENCE = 70.0  # mean of a page's words, 0 to 100; below it may be upside down
MAX_UNCOVERED_SHARE = 0.1  # of a page's letters that are in no word; above, much was omitted
# Of a page that the second engine does not read: the share of its characters in words of high
# confidence, and of its letters that are in no word.
MIN_CERTAIN_SHARE, MAX_CERTAIN_UNCOVERED = 0.96, 0.05
FIRST_PASS_TIME_SHARE = 0.6  # of a page's time; the rest is for a pass at low resolution
MIN_RETRY_TIME_SHARE = 0.5  # of a page's time that must be left for another pass
# Mean confidence, 0 to 100, of a page that was read in another script: from which on its script is
# confirmed, and from which on no other language of the script is tried
MIN_CONFIDENCE_OF_SCRIPT, MIN_CONFIDENCE_OF_LANGUAGE = 50.0, 75.0
MIN_GAIN = 1.1  # in characters of high confidence, of the page as it was scanned
MIN_COUNTED_WORD_LETTERS = 3
# Words from this length on show by their shape whether a page lies on its side.
MIN_ORIENTED_WORD_CHARACTERS = 4
MIN_SIDEWAYS_RATIO = 1.5  # height to width of a word on a page that lies on its side


@dataclass(frozen=True, slots=True)
class OcrPass:
    """The words that one pass of the engine read from a variant of the page."""

    variant: PageVariant
    words: list[OcrWord]
    uncovered: float  # share of the letters that are in no word, from 0 to 1
    cleared: GreyArray | None = None  # the page without coloured ink across its print
    omits_diacritics: bool = False  # whether names have marks in print that were not read

    @property
    def confidence(self) -> float:
        """Return the mean confidence of the words, from 0 to 100."""
        return float(np.mean([word.confidence for word in self.words])) if self.words else 0.0

    @property
    def certain_characters(self) -> int:
        """Return the number of characters in words of high confidence."""
        return sum(len(word.text) for word in self.words if word.confidence >= MIN_WORD_CONFIDENCE)

    @property
    def is_good(self) -> bool:
        """Return whether no other pass is needed."""
        return self.confidence >= MIN_PAGE_CONFIDENCE and self.uncovered <= MAX_UNCOVERED_SHARE

    @property
    def is_certain(self) -> bool:
        """Return whether a second engine could hardly read more or better."""
        characters = sum(len(word.text) for word in self.words)
        return (
            not self.omits_diacritics
            and self.certain_characters >= MIN_CERTAIN_SHARE * characters
            and self.uncovered <= MAX_CERTAIN_UNCOVERED
        )

    @property
    def certain_long_words(self) -> int:
        """Return the number of words of three letters or more that were read with certainty."""
        return sum(
            word.confidence >= MIN_WORD_CONFIDENCE
            and len(word.text) >= MIN_COUNTED_WORD_LETTERS
            and word.text.isalpha()
            for word in self.words
        )

    def upright(self) -> "OcrPass":
        """Return the pass with its page upright.

        Tesseract also reads a page that lies on its right side, but does not rotate the boxes.
        """
        long_words = [word for word in self.words if len(word.text) >= MIN_ORIENTED_WORD_CHARACTERS]
        sideways = sum(word.height > MIN_SIDEWAYS_RATIO * word.width for word in long_words)
        if not long_words or sideways < len(long_words) / 2:
            return self
        raster_width = self.variant.raster.grey.shape[1]
        words = [
            replace(
                word,
                left=word.top,
                top=raster_width - word.left - word.width,
                width=word.height,
                height=word.width,
            )
            for word in self.words
        ]
        return replace(self, variant=self.variant.rotated(270), words=words)

    def in_rows(self) -> "OcrPass":
        """Return the pass with the cells of each row of a table behind each other."""
        height, width = self.variant.raster.grey.shape
        return replace(self, words=order_rows(self.words, width, height))


class PagePasses:
    """Reads a page in passes, until it is read well and in its language.

    `engine` is that of the language in which the page was read at last, and `found` is its
    language.
    """

    def __init__(
        self,
        variant: PageVariant,
        engine: Engine,
        budget: TimeBudget,
        languages: LanguageEngines | None,
        expected: str,
    ) -> None:
        self.engine, self.found = engine, FoundLanguage(UNKNOWN)
        self._variant, self._budget = variant, budget
        self._languages, self._current = languages, expected

    def read(self) -> OcrPass:
        """Return the best of all passes. Raises OcrFailed if the first pass fails."""
        first = self._read_first()
        passes = [first]
        if self._languages:
            self.found = self._languages.identify(first.words)
            if not self.found.language:
                passes = [self._try_scripts(first, self._languages)]
        for other in _other_variants(self._variant, passes):
            if self._budget.remaining < self._budget.seconds * MIN_RETRY_TIME_SHARE:
                break
            try:
                passes.append(_run_pass(other, self.engine, self._budget.remaining))
            except OcrFailed:
                break  # the results of the passes before remain
        best = _best_of(passes)
        return self._read_in_its_language(best, self._languages) if self._languages else best

    def _read_first(self) -> OcrPass:
        """Return the pass of the page in the expected language. Raises OcrFailed.

        If a page is read badly at a lower resolution, it is read at its own one too.
        """
        try:
            first = _run_pass(
                self._variant, self.engine, self._budget.seconds * FIRST_PASS_TIME_SHARE
            )
        except OcrTimeout:
            low = self._variant.at_low_resolution()
            seconds = self._budget.seconds * (1 - FIRST_PASS_TIME_SHARE)
            return _run_pass(low, self.engine, seconds, may_resize=False)
        if first.is_good or not is_reduced(self._variant):
            return first
        try:
            whole = _run_pass(self._variant, self.engine, self._budget.remaining, may_resize=False)
        except OcrFailed:
            return first
        return _best_of((first, whole))

    def identify_again(self, words: Sequence[OcrWord]) -> None:
        """Tell Japanese from Chinese by the words of the second engine.

        Data of Chinese has no kana, so that a page in Japanese looks like Chinese. The language of
        a page that Tesseract read badly is not known before.
        """
        if self._languages is None or self.found.language not in {UNKNOWN, *UNSPACED}:
            return
        found = self._languages.identify_by_script(words)
        if found.language in UNSPACED and found.language in self._languages.languages:
            self.found = found

    def _try_scripts(self, first: OcrPass, languages: LanguageEngines) -> OcrPass:
        """Return the best pass in the languages of the script of a page that was read badly."""
        possible = languages.list_candidates(
            first.words, self._variant.raster, self._current, self._budget.remaining
        )
        if possible.missing:
            self.found = FoundLanguage(possible.missing, is_missing=True)
        if not possible.candidates:
            return first
        variant = self._variant
        upright = variant.rotated(possible.rotation) if possible.rotation else variant
        best = first
        for language in possible.candidates:
            engine = languages.get(language)
            try:
                read = _run_pass(upright, engine, self._budget.remaining)
            except OcrFailed:
                break
            found = languages.identify_by_script(read.words)
            is_in_script = found.language in possible.candidates
            is_legible = read.confidence >= MIN_CONFIDENCE_OF_SCRIPT
            is_confirmed = (is_in_script and is_legible) or language == languages.first_language
            if is_confirmed and read.confidence > best.confidence:
                best, self.engine, self._current = read, engine, language
                self.found = found
            if found.language == language and read.confidence >= MIN_CONFIDENCE_OF_LANGUAGE:
                break  # otherwise another language of the script may be read better
        self._variant = best.variant
        return best

    def _read_in_its_language(self, best: OcrPass, languages: LanguageEngines) -> OcrPass:
        """Return the pass, or another one if the page is in another installed language."""
        found = languages.identify(best.words)
        if not found.language:
            return best
        self.found = found
        if found.is_missing or found.language == self._current:
            return best
        engine = languages.get(found.language)
        try:
            read = _run_pass(best.variant, engine, self._budget.remaining)
        except OcrFailed:
            return best
        confirmed = languages.identify(read.words)
        if confirmed.language != found.language:
            return best  # a page in two languages, which was read well in one of them
        self.engine, self._current = engine, found.language
        return read


def _other_variants(variant: PageVariant, passes: Sequence[OcrPass]) -> Iterator[PageVariant]:
    """Yield variants that may be read better. The caller appends each result to `passes`.

    The variants end as soon as the page has been read well.
    """
    first = passes[0]
    words = [word.to_word(first.variant.raster.dpi) for word in first.words]
    if darker := darken_faint_print(first.variant, (*first.variant.page.words, *words)):
        yield darker
    if first.is_good:
        return
    for degrees in (180, 270):
        if max(each.confidence for each in passes) >= MIN_PAGE_CONFIDENCE:
            break
        rotated = variant.rotated(degrees)
        yield level_lines(rotated, find_letters(rotated.flat))
    if (best := _best_of(passes)).uncovered > MAX_UNCOVERED_SHARE:
        yield best.variant.evenly_lit()


def _best_of(passes: Sequence[OcrPass]) -> OcrPass:
    return max(passes, key=lambda each: each.certain_characters)


def _run_pass(
    variant: PageVariant, engine: Engine, seconds: float, *, may_resize: bool = True
) -> OcrPass:
    raster = variant.raster
    if may_resize:
        ocr_words = read_print(variant, engine, seconds)
    else:
        ocr_words = engine.recognise(raster.grey, round(raster.dpi), seconds)
    words = (*variant.page.words, *(word.to_word(raster.dpi) for word in ocr_words))
    return OcrPass(variant, ocr_words, measure_uncovered_share(variant.flat, words))


def read_uncorrected(
    best: OcrPass,
    raster: PageRaster,
    page: PageReading,
    tone: Tone,
    engine: Engine,
    budget: TimeBudget,
) -> OcrPass:
    """Return a pass of the page as it was scanned, if more of it is read than of the corrected one.

    It is tried only if the corrected page was read badly. So no correction makes a page worse than
    the engine alone reads it. The ink of the page is analysed in its corrected `tone`, because a
    faint signature would be taken for paper.
    """
    if best.is_good or best.variant.page.corrections == page.corrections:
        return best
    flat = flatten_background(normalise_tone(raster, tone)) if tone.corrections else None
    variant = PageVariant.of(raster, page, flat=flat)
    try:
        plain = _run_pass(variant, engine, budget.remaining, may_resize=False)
    except OcrFailed:
        return best
    is_better = plain.certain_characters > MIN_GAIN * best.certain_characters
    return plain if is_better else best


def read_below_stamps(best: OcrPass, engine: Engine, budget: TimeBudget) -> OcrPass:
    """Return the pass with the print below coloured ink, which is a correction of the page."""
    variant = best.variant
    found = read_stamped_print(variant.raster, best.words, engine, budget)
    if found is None:
        return best
    words = (*variant.page.words, *(word.to_word(variant.raster.dpi) for word in found.words))
    return OcrPass(
        variant.refined(variant.raster, CorrectionKind.COLOURED_INK),
        found.words,
        measure_uncovered_share(variant.flat, words),
        found.grey,
    )


def doubt_diacritics(best: OcrPass, original: PageRaster) -> OcrPass:
    """Return the pass with low confidence for names whose diacritics were not read.

    On a degraded page, dust looks like diacritics. `original` is the raster before it was
    corrected.
    """
    grey = best.variant.raster.grey
    omitted = [omits_diacritics(word, grey) for word in best.words]
    if not any(omitted) or is_degraded(original.grey):
        return best
    words = [
        replace(word, confidence=min(word.confidence, DISPUTED_CONFIDENCE)) if is_omitted else word
        for word, is_omitted in zip(best.words, omitted, strict=True)
    ]
    return replace(best, words=words, omits_diacritics=True)


def read_again(
    original: PageRaster, best: OcrPass, engine: "SecondEngine", language: str
) -> OcrPass:
    """Return a pass with the words of both engines.

    Return `best` if the second engine could hardly read the page better, or if it fails. It reads
    each page in Chinese or Japanese, where Tesseract may omit characters. `original` is the raster
    before it was corrected.
    """
    if best.is_certain and not (
        language in IN_HAN_CHARACTERS or is_degraded(original.grey) or has_small_print(best.variant)
    ):
        return best
    raster = best.variant.raster
    try:
        found = engine.read_page(raster.grey if best.cleared is None else best.cleared)
    except OcrFailed:
        return best
    combined = combine_pages(best.words, found)
    words = (*best.variant.page.words, *(word.to_word(raster.dpi) for word in combined))
    return OcrPass(best.variant, combined, measure_uncovered_share(best.variant.flat, words))
