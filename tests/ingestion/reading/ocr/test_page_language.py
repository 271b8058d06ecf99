"""Tests of the choice of the language in which OCR reads a page."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ingestion.reading import tasks
from ingestion.reading.images.render import PageRaster
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.ocr import page_language
from ingestion.reading.ocr.engines import OcrWord
from ingestion.reading.ocr.page import read_page_image
from ingestion.reading.ocr.page_language import (
    LanguageEngines,
    get_language_engines,
    join_characters,
)
from ingestion.reading.results import PageReading, TextSource
from tests.ingestion.reading.test_languages import TEXTS
from tests.marks import slower

FONTS = Path("/usr/share/fonts/truetype")
LATIN_FONT = FONTS / "dejavu/DejaVuSerif.ttf"
CJK_FONT = FONTS / "droid/DroidSansFallbackFull.ttf"
EAST_ASIAN_FONTS = {
    "jpn": CJK_FONT,
    "chi_sim": CJK_FONT,
    "kor": FONTS / "baekmuk/batang.ttf",
}
DPI = 200


def draw(language, *, turn=0, repeat=4):
    """Return the raster of a page with the text of a language, in lines of 40 characters."""
    is_east_asian = language in EAST_ASIAN_FONTS
    font = EAST_ASIAN_FONTS.get(language, LATIN_FONT)
    width = 30 if is_east_asian else 52
    picture = Image.new("L", (1700, 2200), 255)
    pencil, typeface = ImageDraw.Draw(picture), ImageFont.truetype(str(font), 40)
    text = TEXTS[language] if is_east_asian else TEXTS[language] + " "
    lines, top = [], 120
    for _ in range(repeat):
        line = ""
        for part in list(text) if is_east_asian else text.split():
            joined = f"{line}{part}" if is_east_asian else f"{line} {part}".strip()
            if len(joined) > width:
                lines.append(line)
                joined = part
            line = joined
        lines.append(line)
    for line in lines:
        pencil.text((120, top), line, font=typeface, fill=0)
        top += 66
    return PageRaster(np.ascontiguousarray(picture.rotate(turn, expand=True)), DPI)


def read(raster, languages, expected="eng"):
    engines = get_language_engines("auto", languages)
    page = PageReading(1, 0.0, 0.0, "", TextSource.OCR)
    return read_page_image(
        raster, page, engines.get(expected), 60.0, languages=engines, expected=expected
    )


@pytest.mark.parametrize(
    "language",
    [each if each == "fra" else slower(each) for each in ("fra", "deu", "por", "pol", "rus")],
)
def test_a_page_is_read_with_the_data_of_its_language(language):
    page = read(draw(language), f"eng+{language}")
    assert (page.language, page.is_language_missing) == (language, False)
    words = TEXTS[language].split()
    assert len(set(words) & set(page.text.split())) > 0.9 * len(set(words))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "turn"),
    # The detection of scripts takes short Japanese pages on their side or head for Korean ones.
    [("jpn", 0), *((language, turn) for language in ("chi_sim", "kor") for turn in (0, 180, 90))],
)
def test_a_page_of_east_asia_is_read_from_any_side(language, turn):
    page = read(draw(language, turn=turn), "eng+fra+jpn+chi_sim+kor+rus")
    assert page.language == language
    wanted = set(TEXTS[language]) - set(" 。，、")
    assert len(wanted & set(page.text)) > 0.85 * len(wanted)


@pytest.mark.parametrize("language", ["fra", slower("chi_sim"), slower("rus")])
def test_a_page_in_a_language_that_is_not_installed_says_which_it_is(language):
    page = read(draw(language), "eng")
    assert (page.language, page.is_language_missing) == (language, True)


def test_an_english_page_is_read_once_whatever_is_installed():
    class Counting(LanguageEngines):
        asked = ()

        def get(self, language):
            self.asked = (*self.asked, language)
            return super().get(language)

    engines = Counting("auto", "eng+fra+jpn")
    page = PageReading(1, 0.0, 0.0, "", TextSource.OCR)
    found = read_page_image(
        draw("eng"), page, engines.get("eng"), 60.0, languages=engines, expected="eng"
    )
    assert (found.language, engines.asked) == ("eng", ("eng",))


def test_a_page_that_was_expected_in_another_language_is_read_again_in_its_own():
    page = read(draw("eng"), "eng+fra", expected="fra")
    assert (page.language, page.is_language_missing) == ("eng", False)


def word(text, left, width=20, line=1):
    return OcrWord(text, 90.0, left, 100, width, 20, (1, 1, line))


def test_characters_of_a_line_are_joined_to_words_up_to_a_gap():
    read_words = [
        word("治", 0), word("験", 22), word("SLX-301", 48, 70), word("2026", 130, 40),
        word("日", 300), word("付", 0, line=2),
    ]  # fmt: skip
    assert [each.text for each in join_characters(read_words, 0.7)] == [
        "治験SLX-301",
        "2026",
        "日",
        "付",
    ]


def test_digits_between_the_characters_of_a_line_are_joined_if_they_touch_each_other():
    line = [word("番", 0), word("号", 24), word("4", 48, 10), word("1", 59, 10), word("2", 80, 10)]
    assert [each.text for each in join_characters(line, 0.7, 0.12)] == ["番号41", "2"]
    assert [each.text for each in join_characters(line, 0.7)] == ["番号4", "1", "2"]


def test_a_language_without_data_is_a_fault_of_the_installation():
    with pytest.raises(LookupError, match="tlh"):
        LanguageEngines("auto", "eng+tlh")


@pytest.mark.parametrize(("declared", "first"), [("fra", "fra"), ("", "eng"), ("jpn", "eng")])
def test_scans_are_read_in_the_declared_language_first_if_it_is_installed(
    tmp_path, monkeypatch, declared, first
):
    asked = []

    class Asked(LanguageEngines):
        def get(self, language):
            asked.append(language)
            return super().get(language)

    monkeypatch.setattr(page_language, "get_language_engines", Asked)
    path = tmp_path / "page.png"
    Image.fromarray(draw("fra", repeat=1).grey).save(path, dpi=(DPI, DPI))
    limits = ReadingLimits(languages="eng+fra", second_engine=None)
    probe = tasks.probe_document(path, tmp_path / "rewritten", limits)
    part = replace(probe, expected_language=declared).part(probe.scans)
    (page,) = tasks.read_scans(part, limits).pages
    assert (asked[0], page.language) == (first, "fra")
