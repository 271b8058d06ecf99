"""The order of words in tables, in forms, in columns and on sheets with two pages."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ingestion.reading.ocr.engines import OcrWord
from ingestion.reading.ocr.row_order import order_rows

PAGE = (1000, 1400)  # width and height in pixels
LANDSCAPE = (1400, 1000)


def line_of(text, left, top, block, line=1):
    words = []
    for word in text.split():
        words.append(OcrWord(word, 90.0, left, top, 10 * len(word), 20, (block, 1, line)))
        left += 10 * len(word) + 10
    return words


def column(texts, left, block, *, pitch, top=100, rise=0):
    return [
        word
        for number, text in enumerate(texts)
        for word in line_of(text, left, top + pitch * number + rise, block, number)
    ]


def texts_of(words):
    return " ".join(word.text for word in words)


def test_the_cells_of_a_table_that_was_read_by_columns_are_in_rows():
    names, dates = ["Ann Lee", "Bo Li", "Cy Ng", "Di Ro"], ["May", "June", "July", "August"]
    words = [*column(names, 80, 1, pitch=50), *column(dates, 600, 2, pitch=50, rise=6)]
    found = order_rows(words, *PAGE)
    assert texts_of(found) == "Ann Lee May Bo Li June Cy Ng July Di Ro August"
    assert sorted(found, key=lambda word: word.text) == sorted(words, key=lambda word: word.text)


def test_the_lines_of_text_in_columns_keep_their_order():
    text = ["one two three four"] * 8
    words = [*column(text, 80, 1, pitch=27), *column(text, 600, 2, pitch=27)]
    assert order_rows(words, *PAGE) == words


def test_pages_side_by_side_on_a_sheet_keep_their_order():
    left, right = ["Meeting", "Present", "Absent"], ["Licence", "Issued", "Expires"]
    words = [*column(left, 80, 1, pitch=60), *column(right, 800, 2, pitch=60)]
    assert order_rows(words, *LANDSCAPE) == words
    on_quarters = [*column(left, 80, 1, pitch=60), *column(right, 600, 10_001, pitch=60)]
    assert order_rows(on_quarters, *PAGE) == on_quarters


def test_a_table_with_words_of_high_boxes_is_in_rows():
    names, dates = ["Ann Lee", "Bo Li", "Cy Ng", "Di Ro"], ["May", "June", "July", "August"]
    dates_in_high_boxes = [
        replace(word, top=word.top - 15, height=50) for word in column(dates, 600, 2, pitch=50)
    ]
    found = order_rows([*column(names, 80, 1, pitch=50), *dates_in_high_boxes], *PAGE)
    assert texts_of(found) == "Ann Lee May Bo Li June Cy Ng July Di Ro August"


def test_a_line_that_was_read_behind_those_below_it_moves_before_them():
    words = [
        *line_of("Letterhead of the centre", 80, 100, 1),
        *line_of("has completed the course", 80, 300, 2),
        *line_of("Good Clinical Practice", 80, 350, 3),
        *line_of("This certifies that Ann Lee", 80, 200, 4),
    ]
    assert texts_of(order_rows(words, *PAGE)) == (
        "Letterhead of the centre This certifies that Ann Lee has completed the course "
        "Good Clinical Practice"
    )


def test_lines_in_columns_keep_their_order_if_some_have_space_around_them():
    text = ["one two three four"] * 8
    headings = ["Aims", "Scope", "Risks"]
    words = [
        *column(headings, 80, 1, pitch=60),
        *column(text, 80, 2, pitch=27, top=400),
        *column(headings, 600, 3, pitch=60),
        *column(text, 600, 4, pitch=27, top=400),
    ]
    assert order_rows(words, *PAGE) == words


def test_words_that_are_in_rows_already_remain_as_they_are():
    words = [
        word
        for number in range(5)
        for word in (
            *line_of("Name of person", 80, 100 + 50 * number, 2 * number),
            *line_of("Value", 600, 100 + 50 * number, 2 * number + 1),
        )
    ]
    assert order_rows(words, *PAGE) == words


@given(
    st.lists(
        st.tuples(st.integers(0, 900), st.integers(0, 1300), st.integers(1, 6)),
        min_size=3,
        max_size=30,
    )
)
def test_no_word_is_lost_or_repeated(places):
    words = [
        word
        for number, (left, top, count) in enumerate(places)
        for word in line_of("word " * count, left, top, number)
    ]
    assert Counter(order_rows(words, *PAGE)) == Counter(words)


def test_the_rows_of_a_table_that_is_askew_are_found():
    names, dates = ["Ann Lee Ray", "Bo Li", "Cy Ng", "Di Ro"], ["May", "June", "July", "August"]
    words = [*column(names, 80, 1, pitch=40), *column(dates, 900, 2, pitch=40, rise=33)]
    askew = [replace(word, top=word.top + round(0.04 * (word.left - 80))) for word in words[:3]]
    found = order_rows([*askew, *words[3:]], *PAGE)
    assert texts_of(found) == "Ann Lee Ray May Bo Li June Cy Ng July Di Ro August"
