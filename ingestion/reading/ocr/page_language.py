"""Chooses the language in which OCR reads a page, and the engine of that language.

A page is read in the language of the page before it, or in the first language of the installation.
What was read shows whether it is in another language, and then the page is read again with the data
of that language. A page of another script yields nothing that can be identified: Tesseract's
detection of scripts names its script, and the languages of that script are tried.

So a page in the first language is read once, as if no other language were installed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from statistics import fmean

from ingestion.reading.images.render import GreyArray, PageRaster
from ingestion.reading.languages import (
    LANGUAGES_OF_SCRIPTS,
    UNKNOWN,
    UNSPACED,
    identify_language,
)

from .engines import (
    MIN_WORD_CONFIDENCE,
    Engine,
    OcrWord,
    SegmentationMode,
    detect_script,
    get_engine,
)
from .language_data import find_tessdata

# Mean confidence of a page, 0 to 100, below which it may be in another script. Pages in other
# scripts that were read with the data of English had 13 to 40.
MAX_CONFIDENCE_OF_OTHER_SCRIPT = 60.0
MIN_WORDS_OF_OTHER_SCRIPT = 8  # of a page whose script is detected; fewer are a drawing or a stamp
# For a script of which no language is installed there is no second reading that could confirm the
# detection, so it has to be clearer: a page of few or faint letters is not called foreign.
MAX_CONFIDENCE_OF_MISSING_SCRIPT = 50.0
MIN_WORDS_OF_MISSING_SCRIPT = 20
MIN_ROTATION_CERTAINTY = 5.0  # by Tesseract's own measure; pages of text have 8 and more
MIN_SCRIPT_CERTAINTY = 0.5  # of pages in a script of East Asia: 0.9 to 1.5
LATIN = "Latin"
KOREAN = "kor"
SCRIPT_DPI = 200  # at which a script is detected; more takes longer and shows no more
# Heights of a character between the characters of a word
UNSPACED_WORD_GAP, KOREAN_WORD_GAP = 0.7, 0.22
KEPT_ENGINES = 3  # of other languages, in a process; each takes 20 to 60 MB


@dataclass(frozen=True, slots=True)
class FoundLanguage:
    """The language of a page. `is_missing` if its data is not installed."""

    language: str  # UNKNOWN if it could not be identified
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class PossibleLanguages:
    """The languages in which a page may be that was read badly, by the script that it shows.

    `missing` is the language of a script of which no language is installed, and UNKNOWN otherwise.
    """

    candidates: tuple[str, ...] = ()
    rotation: int = 0  # degrees clockwise by which the page has to be rotated
    missing: str = UNKNOWN


class EastAsianEngine:
    """An engine for a language of East Asia, which joins the characters of a line to words.

    Tesseract returns most characters as words of their own. `max_gap` is the largest gap within a
    word, in heights of a character: in Korean there are spaces between words, in Japanese and
    Chinese there are none. If `is_single_column`, Tesseract does not look for columns, because it
    would omit lines of Korean text.
    """

    def __init__(self, engine: Engine, max_gap: float, *, is_single_column: bool) -> None:
        self._engine, self._max_gap = engine, max_gap
        self._is_single_column = is_single_column
        self.version = engine.version

    def recognise(
        self,
        grey: GreyArray,
        dpi: int,
        seconds: float,
        mode: SegmentationMode = SegmentationMode.AUTO,
    ) -> list[OcrWord]:
        """Return the words of a raster in reading order. Raises OcrTimeout and OcrFailed."""
        if self._is_single_column and mode is SegmentationMode.AUTO:
            mode = SegmentationMode.SINGLE_COLUMN
        found = self._engine.recognise(grey, dpi, seconds, mode)
        return list(join_characters(found, self._max_gap))


class LanguageEngines:
    """The engines of the languages that are installed. The first language is the usual one.

    Raises LookupError for a language whose data is not installed.
    """

    def __init__(self, name: str, languages: str) -> None:
        self._name = name
        self.languages = tuple(languages.split("+"))
        find_tessdata(languages)
        self.first_language = self.languages[0]
        first = get_engine(name, self.first_language)
        self.version = first.version.removesuffix(self.first_language) + languages

    def choose_first(self, expected: str) -> str:
        """Return the expected language if it is installed, otherwise the usual one."""
        return expected if expected in self.languages else self.first_language

    def get(self, language: str) -> Engine:
        """Return the engine of an installed language, or of the first one for any other."""
        if language not in self.languages or language == self.first_language:
            language = self.first_language
            return _adapt(get_engine(self._name, language), language)
        return _get_other_engine(self._name, language)

    def identify_by_script(self, words: Sequence[OcrWord]) -> FoundLanguage:
        """Return the language of words that were read with the data of another script.

        Its letters decide, so that words of low confidence count too.
        """
        language = identify_language(" ".join(word.text for word in words))
        return FoundLanguage(language)

    def identify(self, words: Sequence[OcrWord]) -> FoundLanguage:
        """Return the language of words, by those that were read with certainty.

        Most words of another script are misread, and a few of them look like words of a language.
        """
        if _mean_confidence(words) < MAX_CONFIDENCE_OF_OTHER_SCRIPT:
            return FoundLanguage(UNKNOWN)
        certain = (word.text for word in words if word.confidence >= MIN_WORD_CONFIDENCE)
        text = " ".join(certain)
        language = identify_language(text)
        if not language or language in self.languages:
            return FoundLanguage(language)
        # The document is held for a language that is missing, so that must be certain.
        is_missing = identify_language(text, is_certain=True) == language
        return FoundLanguage(language if is_missing else UNKNOWN, is_missing)

    def list_candidates(
        self, words: Sequence[OcrWord], raster: PageRaster, current: str, seconds: float
    ) -> PossibleLanguages:
        """Return the languages to try for a page of which little was read as `current`."""
        confidence = _mean_confidence(words)
        is_readable = confidence >= MAX_CONFIDENCE_OF_OTHER_SCRIPT
        if is_readable or len(words) < MIN_WORDS_OF_OTHER_SCRIPT:
            return PossibleLanguages()
        smaller = raster.downsampled(SCRIPT_DPI)
        found = detect_script(self._name, smaller.grey, round(smaller.dpi), seconds)
        if found is None:
            return PossibleLanguages()
        is_rotation_certain = found.rotation_certainty >= MIN_ROTATION_CERTAINTY
        rotation = found.rotation if is_rotation_certain else 0
        if found.script == LATIN:
            is_other = any(current in names for names in LANGUAGES_OF_SCRIPTS.values())
            return PossibleLanguages((self.first_language,) if is_other else (), rotation)
        languages = LANGUAGES_OF_SCRIPTS.get(found.script, ())
        installed = tuple(each for each in languages if each in self.languages)
        if installed or not languages:
            return PossibleLanguages(installed, rotation)  # a second reading confirms the script
        is_clear = (
            is_rotation_certain
            and found.script_certainty >= MIN_SCRIPT_CERTAINTY
            and confidence < MAX_CONFIDENCE_OF_MISSING_SCRIPT
            and len(words) >= MIN_WORDS_OF_MISSING_SCRIPT
        )
        return PossibleLanguages(missing=languages[0] if is_clear else UNKNOWN)


@cache
def get_language_engines(name: str, languages: str) -> LanguageEngines:
    """Return the engines of this process. Raises LookupError for a language without data."""
    return LanguageEngines(name, languages)


@lru_cache(maxsize=KEPT_ENGINES)
def _get_other_engine(name: str, language: str) -> Engine:
    return _adapt(get_engine.__wrapped__(name, language), language)


def _adapt(engine: Engine, language: str) -> Engine:
    """Return an engine with what its language needs."""
    if language == KOREAN:
        return EastAsianEngine(engine, KOREAN_WORD_GAP, is_single_column=True)
    if language in UNSPACED:
        return EastAsianEngine(engine, UNSPACED_WORD_GAP, is_single_column=False)
    return engine


def _mean_confidence(words: Sequence[OcrWord]) -> float:
    return fmean([word.confidence for word in words]) if words else 0.0


def join_characters(
    words: Iterable[OcrWord], max_gap: float, max_letter_gap: float = -1.0
) -> Iterator[OcrWord]:
    """Yield the words of a text in characters of East Asia: what stands in a line without a gap.

    `max_gap` is in heights of a character, and `max_letter_gap` is that between two Latin letters
    or digits; by default, they are never joined. The confidence of a word is the lowest of its
    parts.
    """
    joined: OcrWord | None = None
    for word in words:
        if joined is not None and _is_continued(joined, word, max_gap, max_letter_gap):
            right, bottom = (
                word.left + word.width,
                max(joined.top + joined.height, word.top + word.height),
            )
            top = min(joined.top, word.top)
            joined = replace(
                joined,
                text=joined.text + word.text,
                confidence=min(joined.confidence, word.confidence),
                top=top,
                width=right - joined.left,
                height=bottom - top,
            )
            continue
        if joined is not None:
            yield joined
        joined = word
    if joined is not None:
        yield joined


def _is_continued(one: OcrWord, other: OcrWord, max_gap: float, max_letter_gap: float) -> bool:
    """Return whether a word continues the one before it."""
    if one.line != other.line:
        return False
    is_latin = one.text[-1].isascii() and other.text[0].isascii()
    gap = (other.left - one.left - one.width) / max(one.height, other.height)
    return gap <= max_letter_gap if is_latin else gap < max_gap
