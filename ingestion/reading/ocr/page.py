"""Reads one page from its raster by OCR.

The engine gets the corrected grey page (`images.normalise`), at a resolution that suits the size of
its print (`print_size`). `passes` read its words, and single lines that were omitted or misread are
read again (`second_pass`). What is no word is searched afterwards: marks, stamps, strike-outs and
boxes.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from ingestion.reading.forms.registration import find_form, may_be_form
from ingestion.reading.images.binarise import has_edges, is_blank
from ingestion.reading.images.coverage import measure_uncovered_share
from ingestion.reading.images.marks import find_marks
from ingestion.reading.images.normalise.picture import normalise_page
from ingestion.reading.images.render import PageRaster
from ingestion.reading.images.separator_codes import read_separator_codes
from ingestion.reading.images.squares import find_empty_squares
from ingestion.reading.images.strike_outs import find_strike_outs
from ingestion.reading.reading_stages import PageStages, Stage
from ingestion.reading.results import (
    AddedMark,
    AddedMarkKind,
    PageReading,
    TextSource,
    Word,
    drop_repetitions,
)

from .engines import Engine, OcrFailed, OcrWord
from .letter_shapes import correct_letters
from .page_language import LanguageEngines
from .passes import (
    OcrPass,
    PagePasses,
    doubt_diacritics,
    read_again,
    read_below_stamps,
    read_uncorrected,
)
from .second_pass import run_second_pass
from .stamps import find_scanned_stamps
from .time_budget import TimeBudget
from .word_corrections import correct_words, drop_drawn_words

if TYPE_CHECKING:
    from .second_engine.client import SecondEngine

SECOND_ENGINE_CANNOT_READ = frozenset({"rus", "kor"})  # and no other language with their scripts
# On a page of faint ink. Print that shines through from the back is mirrored and yields fewer.
MIN_FAINT_PAGE_WORDS = 5


def read_page_image(  # noqa: PLR0913 - the page, and the engines that read it
    raster: PageRaster,
    page: PageReading,
    engine: Engine,
    seconds: float,
    *,
    languages: LanguageEngines | None = None,
    expected: str = "",
    second_engine: "SecondEngine | None" = None,
    stages: PageStages | None = None,
) -> PageReading:
    """Return `page` with the words and marks of its raster added to those of its text layer.

    `seconds` is the processor time for OCR, without that of `second_engine`, which reads the page
    as well if the page was degraded or the first one is not sure about it. A page that was scanned
    upside down, sideways or far askew is returned upright: its boxes, width and height are those
    after the rotation. If the engine fails, the page has the failure as its error and all of its
    ink as marks, because some of it may be handwriting.

    With `languages`, a page in another language than `expected` is read again with the engine of
    its language; `engine` is that of the expected language. `stages` limits what is searched after
    the words.
    """
    stages = stages or PageStages(page.number)
    variant, tone = normalise_page(raster, page)
    if is_blank(variant.flat) and not has_edges(variant.raster):
        return replace(page, is_blank=not page.text)
    budget = TimeBudget(seconds)
    try:
        passes = PagePasses(variant, engine, budget, languages, expected)
        best = passes.read()
        engine = passes.engine
    except OcrFailed as error:
        return replace(
            variant.page,
            source=TextSource.OCR,
            dpi=round(raster.dpi),
            marks=find_marks(variant.flat, variant.page.words),
            page_map=variant.make_page_map(),
            error=str(error),
        )
    best = read_uncorrected(best, raster, page, tone, engine, budget).upright().in_rows()
    if tone.is_faint and best.certain_long_words < MIN_FAINT_PAGE_WORDS:
        return replace(page, is_blank=not page.text, source=TextSource.NATIVE, dpi=0)
    best = doubt_diacritics(read_below_stamps(best, engine, budget), raster)
    if second_engine and passes.found.language not in SECOND_ENGINE_CANNOT_READ:
        best = read_again(raster, best, second_engine, passes.found.language).in_rows()
        passes.identify_again(best.words)
    language = passes.found.language
    letters = correct_letters(best.words, best.variant.raster.grey, language)
    best = replace(best, words=correct_words(letters, language))
    found = _search_page(raster, page.text, best, engine, budget, stages)
    return replace(found, language=language, is_language_missing=passes.found.is_missing)


def _search_page(
    raster: PageRaster,
    text: str,
    best: OcrPass,
    engine: Engine,
    budget: TimeBudget,
    stages: PageStages,
) -> PageReading:
    """Return a page with its words, and with what else is found with their help.

    `raster` is the page before its correction, and `text` that of its text layer.
    """
    variant, dpi = best.variant, best.variant.raster.dpi
    first, first_text = _add_words(best.words, dpi, variant.page.words, text)
    run = stages.run
    marks = run(Stage.MARKS, lambda: find_marks(variant.flat, first)) or ()
    stamps = run(
        Stage.STAMPS,
        lambda: find_scanned_stamps(variant, best.words, marks, engine, budget),
    )
    struck = run(Stage.STRIKE_OUTS, lambda: find_strike_outs(variant.raster, variant.flat, first))
    strike_outs = (AddedMark(AddedMarkKind.STRUCK_OUT, box) for box in struck or ())
    ocr_words, omitted = run(
        Stage.OMITTED_WORDS,
        lambda: run_second_pass(variant.raster, best.words, first, marks, engine, budget),
    ) or (best.words, [])
    squares = run(Stage.CHECK_BOXES, lambda: find_empty_squares(variant.raster)) or ()
    found_words = drop_drawn_words(ocr_words, dpi, squares)
    if found_words == best.words:
        words, text = first, first_text
    else:
        words, text = _add_words(found_words, dpi, variant.page.words, text)
    if omitted:
        words, text = _add_words(omitted, dpi, words, text)
    uncovered = best.uncovered if words == first else measure_uncovered_share(variant.flat, words)
    forms = None
    if may_be_form(text):
        forms = run(Stage.FORM, lambda: find_form(words, lambda: variant.raster))
    codes = run(Stage.CODES, lambda: read_separator_codes(raster))
    return replace(
        variant.page,
        source=TextSource.OCR,
        text=text,
        words=words,
        marks=marks,
        empty_squares=squares,
        confidence=round(best.confidence, 1),
        uncovered=round(uncovered, 3),
        dpi=round(min(dpi, raster.dpi)),
        page_map=variant.make_page_map(),
        added_marks=drop_repetitions((*variant.page.added_marks, *(stamps or ()), *strike_outs)),
        forms=forms or (),
        separator_codes=codes or (),
        unfinished=stages.unfinished,
    )


def _add_words(
    ocr_words: Sequence[OcrWord], dpi: float, known: Sequence[Word], text: str
) -> tuple[tuple[Word, ...], str]:
    """Return the known words and the text, with the words of OCR added to both.

    A word of OCR is left out if a known word covers its centre, because it is the same word.
    """
    new = [
        (ocr_word, word)
        for ocr_word, word in ((each, each.to_word(dpi)) for each in ocr_words)
        if not any(other.box.contains_centre_of(word.box) for other in known)
    ]
    lines = groupby((ocr_word for ocr_word, _ in new), key=lambda word: word.line)
    new_text = "\n".join(" ".join(word.text for word in line) for _, line in lines)
    return (*known, *(word for _, word in new)), "\n".join(filter(None, (text, new_text)))
