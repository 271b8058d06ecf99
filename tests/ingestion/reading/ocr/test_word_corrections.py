"""Tests of the correction of words that OCR read from rules, check boxes and signatures."""

from hypothesis import given
from hypothesis import strategies as st

from ingestion.reading.ocr.engines import OcrWord
from ingestion.reading.ocr.word_corrections import correct_words, drop_drawn_words
from ingestion.reading.results import Box

HEIGHT = 20  # pixels, of the letters of these pages
FRENCH = "fra"


def word(text, left, line, *, width=0, height=HEIGHT, confidence=90.0):
    bottom = 100 + 40 * line
    width = width or 10 * len(text)
    return OcrWord(text, confidence, left, bottom - height, width, height, (1, 1, line))


def line_of(*words, line=1, gap=8):
    """Return words beside each other. Each is a text, or a text with arguments of `word`."""
    found, left = [], 0
    for each in words:
        text, arguments = each if isinstance(each, tuple) else (each, {})
        found.append(word(text, left, line, **arguments))
        left += found[-1].width + gap
    return found


def texts_of(words):
    return " ".join(word.text for word in words)


NARROW = {"width": 4}
TALL = {"width": 4, "height": 60}
SHORT = {"width": 3, "height": 8}
UNSURE = {"confidence": 30.0}


def correct(*words, language="eng"):
    usual = line_of(*["usual"] * 9, line=9)  # so that the height of the page's letters is known
    return texts_of(correct_words([*line_of(*words), *usual], language)).removesuffix(" usual" * 9)


def test_a_bar_of_letter_height_before_a_word_in_small_letters_is_the_pronoun():
    assert correct(("|", NARROW), "have", "read") == "I have read"
    assert correct(("J", NARROW), "agree") == "I agree"


def test_no_other_language_has_that_pronoun():
    assert correct(("l", NARROW), "homme", language=FRENCH) == "l homme"


def test_a_wide_letter_and_a_number_remain_before_a_word_in_small_letters():
    assert correct("J", "agree") == "J agree"
    assert correct(("1", NARROW), "year") == "1 year"


def test_a_narrow_number_before_a_verb_is_the_pronoun_where_no_number_can_be():
    assert correct(("1", NARROW), "have", "read") == "I have read"
    assert correct("site.", ("1", NARROW), "will") == "site. I will"
    assert correct("Cohort", ("1", NARROW), "will") == "Cohort 1 will"


def test_pieces_of_a_rule_are_no_words():
    assert correct("Name", ("|", TALL), "Date") == "Name Date"
    assert correct("Name", ("i", SHORT), ("j", SHORT), "Date") == "Name Date"


def test_an_initial_remains():
    assert correct("Phase", ("I", NARROW)) == "Phase I"
    assert correct("Ann", ("J", NARROW), "Lee") == "Ann J Lee"


def test_bars_of_letter_height_above_each_other_are_a_rule_and_a_single_one_is_a_sign():
    page = [
        each for number in range(3) for each in line_of("Name", ("|", NARROW), "Date", line=number)
    ]
    assert texts_of(correct_words(page, "eng")) == "Name Date Name Date Name Date"
    assert correct("Form", ("|", NARROW), "Version") == "Form | Version"


def test_signs_remain_only_if_the_engine_is_sure_of_them():
    assert correct("Smith", "&", "Sons") == "Smith & Sons"
    assert correct("Smith", ("~", UNSURE), "Sons") == "Smith Sons"


def test_a_rule_at_the_edge_of_a_word_is_removed():
    assert correct("|Passed", "Date|") == "Passed Date"


def test_a_tall_word_of_low_confidence_is_handwriting_unless_it_has_a_digit():
    tall = {"height": 90, "confidence": 40.0}
    page = line_of("by", ("Onfdoor", tall), "on", ("12May", tall), "for", ("USE", {"height": 90}))
    assert texts_of(drop_drawn_words([*page, *line_of("a", "b")], 72, [])) == (
        "by on 12May for USE a b"
    )


def test_the_parts_of_an_e_mail_address_are_one_word():
    assert correct("E-mail:", "ann.lee", "@hospital.example.org") == (
        "E-mail: ann.lee@hospital.example.org"
    )
    assert correct("ann", "@", "example.org,", "or") == "ann@example.org, or"
    assert correct("5", "@", "home") == "5 @ home"


def test_words_that_are_far_from_a_sign_are_no_parts_of_an_address():
    far = [*line_of("ann"), word("@example.org", 200, 1)]
    assert texts_of(correct_words(far, "eng")) == "ann @example.org"


def test_what_was_read_from_an_empty_check_box_is_no_word():
    square = Box(0, 0, 20, 20)
    read = OcrWord("{]", 40.0, 0, 0, 20, 20, (1, 1, 1))
    certain = OcrWord("OF", 95.0, 0, 0, 20, 20, (1, 1, 1))
    beside = OcrWord("Yes", 40.0, 30, 0, 30, 20, (1, 1, 1))
    assert drop_drawn_words([read, certain, beside], 72, [square]) == [certain, beside]
    assert drop_drawn_words([read, beside], 72, []) == [read, beside]


@given(
    st.lists(
        st.builds(
            OcrWord,
            st.text("ab1|-@.I", min_size=1, max_size=5),
            st.floats(0, 100),
            st.integers(0, 900),
            st.integers(0, 900),
            st.integers(1, 90),
            st.integers(1, 90),
            st.tuples(st.just(1), st.just(1), st.integers(1, 4)),
        ),
        max_size=12,
    )
)
def test_no_digit_is_lost_or_added(words):
    def digits(found):
        return sorted(each for word in found for each in word.text if each.isdigit())

    assert digits(correct_words(words, "eng")) == digits(words)
