"""Makes all corrections of a page image, in their order."""

from collections.abc import Sequence
from dataclasses import replace

from ingestion.reading.images.binarise import ANALYSIS_DPI, Components, flatten_background
from ingestion.reading.images.coverage import find_letters, measure_faint_ink
from ingestion.reading.images.render import PageRaster
from ingestion.reading.results import Correction, CorrectionKind, PageReading, Word

from .dotted_lines import remove_dotted_lines
from .grain import MAX_GRAIN, enlarge, is_bilevel, measure_grain, smooth
from .light import even_out, is_uneven, measure_light, sharpen
from .line_shape import measure_line_shape
from .tone import Tone, measure_flat_tone, measure_tone, normalise_tone
from .variants import PageVariant, measure_skew

MIN_LETTERS = 30  # of a page whose geometry and grain are corrected


def normalise_page(raster: PageRaster, page: PageReading) -> tuple[PageVariant, Tone]:
    """Return a page with all corrections that it needs, which it names, and its original tone.

    A page on its side or upside down is not recognised here, because only OCR tells.
    """
    flat = flatten_background(raster)
    tone = measure_tone(raster, flat)
    corrections = list(tone.corrections)
    if corrections:
        raster = normalise_tone(raster, tone)
    bilevel = is_bilevel(raster.grey)
    light = None if bilevel else measure_light(raster.downsampled(ANALYSIS_DPI))
    is_photograph = light is not None and is_uneven(light)
    if light is not None and is_photograph:
        raster = even_out(raster, light)
        corrections.append(Correction(CorrectionKind.LIGHT))
    page = replace(page, corrections=(*page.corrections, *corrections))
    variant = PageVariant.of(raster, page, flat=None if corrections else flat)
    letters = find_letters(variant.flat)
    if len(letters.label) < MIN_LETTERS:
        return _without_dotted_lines(variant, letters), tone
    variant = level_lines(variant, letters, is_photograph=is_photograph)
    variant = _without_dotted_lines(variant, letters)
    return _refine(variant, bilevel=bilevel, sharp=not is_photograph), tone


def darken_faint_print(variant: PageVariant, words: Sequence[Word]) -> PageVariant | None:
    """Return a page on which the faint print that is in no word is dark; None if it has none."""
    noise_floor = measure_flat_tone(variant.flat.grey).noise_floor
    ink = measure_faint_ink(variant.flat, words, noise_floor)
    if ink is None:
        return None
    tone = Tone(is_inverted=False, noise_floor=noise_floor, ink=ink)
    return variant.corrected(normalise_tone(variant.raster, tone), CorrectionKind.CONTRAST)


def level_lines(
    variant: PageVariant, letters: Components, *, is_photograph: bool = False
) -> PageVariant:
    """Return a page turned back by its skew, and with lines that are straight and level."""
    if skew := measure_skew(letters):
        variant = variant.deskewed(skew)
        letters = find_letters(variant.flat)
    if shape := measure_line_shape(variant.flat, letters, is_photograph=is_photograph):
        variant = variant.straightened(shape)
    return variant


def _without_dotted_lines(variant: PageVariant, letters: Components) -> PageVariant:
    cleared = remove_dotted_lines(variant.raster, letters)
    return variant.corrected(cleared, CorrectionKind.DOTTED_LINES) if cleared else variant


def _refine(variant: PageVariant, *, bilevel: bool, sharp: bool) -> PageVariant:
    """Return a page without noise, and with sharp letters."""
    if bilevel:
        return variant.refined(smooth(variant.raster), CorrectionKind.SMOOTHED)
    if not sharp:
        return variant.refined(sharpen(variant.raster), CorrectionKind.SHARPENED)
    if measure_grain(variant.raster.grey) <= MAX_GRAIN:
        return variant
    variant = variant.refined(smooth(variant.raster), CorrectionKind.SMOOTHED)
    larger = enlarge(variant.raster)
    if larger is variant.raster:
        return variant
    return variant.refined(larger, CorrectionKind.ENLARGED, round(larger.dpi))
