import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.rules import fuzzy_phrases

PHRASES = ("statement of investigator", "form FDA 1572", "norm values", "curriculum vitae")
MISREAD = {"o": "0", "i": "l", "l": "1", "s": "5", "b": "8", "m": "rn", "w": "vv"}


def spoilt(phrase, seed):
    rng = random.Random(seed)
    letters = [MISREAD.get(each, each) if rng.random() < 0.5 else each for each in phrase]
    blanks = rng.choice((" ", "  ", "\n", " . "))
    return "".join(letters).replace(" ", blanks).upper()


@given(st.sampled_from(PHRASES), st.integers())
def test_a_phrase_is_found_despite_misread_letters(phrase, seed):
    assert fuzzy_phrases.contains_phrase(f"the {spoilt(phrase, seed)}, page 1", phrase)


@given(st.text(max_size=80), st.sampled_from(PHRASES))
def test_the_fast_search_finds_what_the_pattern_finds(text, phrase):
    assert fuzzy_phrases.contains_phrase(text, phrase) == bool(
        fuzzy_phrases.compile_phrase(phrase).search(text)
    )


@pytest.mark.parametrize("text", ["inactive", "activel", "proactive care"])
def test_a_phrase_is_found_only_as_whole_words(text):
    assert not fuzzy_phrases.contains_phrase(text, "active")


def test_a_slightly_different_phrase_is_recognised():
    assert fuzzy_phrases.resembles_phrase(
        "statement of investigator", ["x STATEMEHT OF INVESTICATOR y"]
    )
    assert not fuzzy_phrases.resembles_phrase(
        "statement of investigator", ["state of the investigation"]
    )


def test_a_short_phrase_is_not_searched_by_similarity():
    assert not fuzzy_phrases.resembles_phrase("initials", ["initjals"])


def test_letters_in_numbers_become_the_digits_they_look_like():
    assert fuzzy_phrases.replace_by_digits("36D99OOl0S") == "3609900105"


@given(st.sampled_from(PHRASES), st.integers(), st.sampled_from((" ", "\n", "|", "(", "é ", "_ ")))
def test_the_search_of_many_phrases_finds_what_the_pattern_finds(phrase, seed, before):
    wanted = frozenset(map(fuzzy_phrases.fold_letters, PHRASES))
    text = f"page 1{before}{spoilt(phrase, seed)} (signed)"
    assert fuzzy_phrases.compile_phrase(phrase).search(text)
    assert fuzzy_phrases.find_letters(text, wanted) == {fuzzy_phrases.fold_letters(phrase)}


def test_a_phrase_is_found_in_either_case():
    for text in ("ÉTHIQUE KOMITEE", "éthique komitee", "Éthique \u212aomitee"):
        assert fuzzy_phrases.contains_phrase(text, "Éthique Komitee")
