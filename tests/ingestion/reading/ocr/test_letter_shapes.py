"""Tests of the correction of letters by the shape of their print, on rendered words."""

from io import BytesIO
from itertools import pairwise

import numpy as np
import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from ingestion.reading.ocr.engines import OcrWord
from ingestion.reading.ocr.letter_shapes import correct_letters, omits_diacritics

ENGLISH, FRENCH = "eng", "fra"
SIZE, DPI = 12, 200
LEFT, BASELINE = 20, 40  # points
PLAIN, SERIF = "Helvetica", "Times-Roman"


def render(text, font=PLAIN):
    """Return a picture of a line of print, and the box of its ink: left, top, right, bottom."""
    file = BytesIO()
    canvas = Canvas(file, pagesize=(300, 80))
    canvas.setFont(font, SIZE)
    canvas.drawString(LEFT, BASELINE, text)
    canvas.save()
    with pypdfium2.PdfDocument(file.getvalue()) as document:
        grey = np.array(document[0].render(scale=DPI / 72, grayscale=True).to_numpy()).squeeze()
    rows, columns = (np.flatnonzero((grey < 128).any(axis=axis)) for axis in (1, 0))
    return grey, (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def read(printed, text, *, font=PLAIN, language=ENGLISH, other=""):
    """Return what remains of the word `text` that OCR read from print."""
    grey, (left, top, right, bottom) = render(printed, font)
    word = OcrWord(text, 90.0, left, top, right - left, bottom - top, (1, 1, 1), other=other)
    return correct_letters([word], grey, language)


def read_texts(printed, text, **arguments):
    return [word.text for word in read(printed, text, **arguments)]


@pytest.mark.parametrize("word", ["Investigator", "Inc.", "Institution:", "Immunology,"])
def test_a_first_letter_without_a_dot_is_a_capital_i(word):
    assert read_texts(word, "i" + word[1:]) == [word]


@pytest.mark.parametrize("font", [PLAIN, SERIF])
@pytest.mark.parametrize("word", ["investigator", "inc.", "into", "its", "immunology,"])
def test_a_first_letter_with_a_dot_remains_small(word, font):
    assert read_texts(word, word, font=font) == [word]


@pytest.mark.parametrize("text", ["1,2,3,4", "7,8,9", "5,6", "11,12,1", "1,1,1,"])
@pytest.mark.parametrize("font", [PLAIN, SERIF])
def test_blanks_after_the_commas_of_a_list_are_restored(text, font):
    printed = text.replace(",", ", ").strip()
    found = read(printed, text, font=font)
    assert " ".join(word.text for word in found) == printed
    assert all(one.left + one.width < two.left for one, two in pairwise(found))


@pytest.mark.parametrize("text", ["1,2,3,4", "0,1", "12,5", "3,11", "1,1", "10,14,21"])
@pytest.mark.parametrize("font", [PLAIN, SERIF])
def test_numbers_that_are_printed_without_blanks_remain_one_word(text, font):
    assert read_texts(text, text, font=font) == [text]


def test_a_list_that_the_engines_read_differently_remains_one_word_with_both_readings():
    (word,) = read("1, 2", "1,2", other="4,2")
    assert (word.text, word.other) == ("1,2", "4,2")


def test_the_letters_of_a_word_show_what_a_letter_is():
    assert read_texts("SPECIMEN", "SPECiMEN") == ["SPECIMEN"]
    assert read_texts("SPECIMEN", "SPECiMEN", language=FRENCH) == ["SPECIMEN"]
    assert read_texts("Ireland", "lreland") == ["Ireland"]
    assert read_texts("II,", "Il,") == ["II,"]
    assert read_texts("312.53(c))", "312.53(¢))") == ["312.53(c))"]
    assert read_texts("(10^9/L)", "(1049/L)") == ["(10^9/L)"]
    assert read_texts("10^12/L", "10A12/L") == ["10^12/L"]


@pytest.mark.parametrize(
    "word", ["Il", "lles", "lb", "llama", "lilting", "DiGeorge", "pH", "5¢", "Ill", "1049", "104/L"]
)
def test_words_that_may_be_right_remain(word):
    assert read_texts(word, word, language=FRENCH if word == "Il" else ENGLISH) == [word]


def test_a_word_at_the_edge_of_the_page_and_without_ink_remains():
    blank = np.full((20, 20), 255, np.uint8)
    words = [
        OcrWord(text, 90.0, left, 0, 5, 5, (1, 1, 1))
        for text, left in (("inside", 0), ("1,2", 16), ("inside", 40))
    ]
    assert correct_letters(words, blank, ENGLISH) == words


def test_characters_of_chinese_become_those_of_japanese_on_a_page_in_japanese():
    words = [OcrWord("治験審查結果", 90.0, 10, 10, 120, 20, (1, 1, 1))]
    blank = np.full((100, 200), 255, np.uint8)
    assert correct_letters(words, blank, "jpn")[0].text == "治験審査結果"
    assert correct_letters(words, blank, "chi_sim") == words


def is_in_doubt(printed, text, *, font=PLAIN):
    """Return whether the word `text` that OCR read lacks diacritics of its print."""
    grey, (left, top, right, bottom) = render(printed, font)
    word = OcrWord(text, 92.0, left, top, right - left, bottom - top, (1, 1, 1))
    return omits_diacritics(word, grey)


@pytest.mark.parametrize("font", [PLAIN, SERIF])
@pytest.mark.parametrize(
    ("printed", "text"),
    [("Jörg", "Jorg"), ("Núñez,", "Nunez,"), ("Köln", "Kéln"), ("MÜLLER", "MULLER")],
)
def test_a_name_with_more_marks_in_print_than_in_its_letters_is_in_doubt(printed, text, font):
    assert is_in_doubt(printed, text, font=font)


@pytest.mark.parametrize("font", [PLAIN, SERIF])
@pytest.mark.parametrize(
    "word", ["Jörg", "Núñez,", "Investigator", "Björn-Jacobi", "Weber", "Initials:", "Fifth"]
)
def test_a_name_whose_letters_need_the_marks_of_its_print_is_not_in_doubt(word, font):
    assert not is_in_doubt(word, word, font=font)


def test_numbers_and_words_in_small_letters_are_not_searched_for_diacritics():
    assert not is_in_doubt("für", "fur")
    assert not is_in_doubt("1ö", "1o")
