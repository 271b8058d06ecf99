"""The scans of `bench/languages.py`, and their scores."""

import pytest

from bench.sides import languages
from samples.layouts.specimen import NOTICE


@pytest.mark.slow
def test_both_sides_read_most_words_of_a_french_scan():
    found = languages.measure("fra", 1, "test")
    assert found["identified"] == 1
    assert found["scores"][languages.OURS][0] > 0.95
    assert found["scores"][languages.TOLD][0] > 0.95


def test_the_pages_of_a_language_have_the_words_of_different_layouts(tmp_path):
    pages = languages._make_pages("jpn", "test", tmp_path)
    (one, words), (_, others) = next(pages), next(pages)
    assert one.read_bytes().startswith(b"%PDF")
    assert NOTICE in words  # it is read like everything else on the page
    assert set(languages._list_characters(words)) - set(languages._list_characters(others))
