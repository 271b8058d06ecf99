"""Tests of the built-in model, with documents that it judges."""

import re
from hashlib import sha256
from pathlib import Path

import pytest

from ingestion.rules import ordinary_words
from ingestion.rules.classification.classify import TypeMatch, classify
from ingestion.rules.classification.features import (
    MAX_WORD_PAGES,
    extract_features,
    list_words,
)
from ingestion.rules.classification.type_model import load_model
from ingestion.rules.document_types import MODEL_FILE, RULES_VERSION, TYPES
from samples.layouts import OTHER, make_specimen
from tests.ingestion.reading.documents import read, save
from tests.ingestion.rules.documents import COMPLETE, make_document
from tests.ingestion.rules.pages import make_page, make_reading

ROOT = Path(__file__).parents[4]
DOCUMENTS = ROOT / "tests" / "documents"


def test_the_model_knows_ordinary_words_only():
    features = load_model().coefficients
    words = {name.partition(":")[2] for name in features if not name.startswith("layout:")}
    assert words - ordinary_words.get_words() == set()


def test_the_model_knows_no_type_that_does_not_exist():
    assert set(load_model().classes) - {""} - set(TYPES) == set()


def test_the_version_of_the_rules_identifies_the_model():
    digest = sha256(MODEL_FILE.read_bytes()).hexdigest()
    assert RULES_VERSION.endswith(f"+model-{digest[:8]}")


def test_the_candidates_have_evidence_in_words_with_pages():
    found = classify(make_document("informed-consent-form"))
    assert len(found.candidates) == 3
    best = found.candidates[0]
    assert best.slug == "informed-consent-form"
    assert '"INFORMED CONSENT FORM" on page 1' in best.evidence
    assert "; words: " in best.evidence
    assert sum(each.probability for each in found.candidates) <= 1


def test_a_document_without_landmarks_has_candidates_with_the_words_that_weighed():
    page = make_page("You can stop at any point, and your participation is your own choice.")
    found = classify(make_reading(page))
    assert (found.slug, found.fit, len(found.candidates)) == ("", TypeMatch.UNRECOGNIZED, 3)
    evidence = {each.slug: each.evidence for each in found.candidates}
    words = re.findall(r'"(\w+)" on page 1', evidence["informed-consent-form"])
    assert len(words) == 3
    assert set(words) <= set(page.text.lower().split())


def test_a_document_without_text_has_no_candidates():
    assert classify(make_reading(make_page(""))).candidates == ()


def test_words_are_letters_without_numbers():
    text = "I agree: the patient\u2019s visit 12 (b) was con\ufb01rmed."
    assert list_words(text) == ["i", "agree", "the", "patients", "visit", "was", "confirmed"]


def test_only_the_words_of_the_first_pages_are_features():
    pages = [make_page(f"page {word}", number=number) for number, word in enumerate("abcd", 1)]
    named = [make_page(*[page.text + "word" * page.number], number=page.number) for page in pages]
    features = extract_features(make_reading(*named), {"cv": 2, "medical-licence": 0})
    assert {name for name in features if name.startswith("points:")} == {"points:cv"}
    assert features["points:cv"] == 2
    assert {name for name in features if "word" in name.removeprefix("layout:")} >= {"body:aword"}
    assert f"body:{'d' + 'word' * (MAX_WORD_PAGES + 1)}" not in features


@pytest.mark.parametrize("name", ["form_dd0293.pdf"])
def test_a_real_form_of_another_kind_has_candidates_and_no_type(name):
    found = classify(read(DOCUMENTS / name))
    assert found.slug == ""
    assert len(found.candidates) == 3
    assert all(each.evidence for each in found.candidates)


@pytest.mark.parametrize("declared", list(COMPLETE)[:4])
def test_a_declared_type_is_not_accepted_if_the_document_is_less_likely_to_have_it_than_none(
    declared, tmp_path
):
    found = classify(
        read(save(tmp_path, make_specimen(OTHER, "document-checklist", 7).content)), declared
    )
    assert found.fit is not TypeMatch.AGREED
