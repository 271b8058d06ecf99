"""Fifty decisions of QA improve the recognition of documents that the package does not know.

The documents are in the words of a fictional hospital network. The model learns from those of five
sites, and is compared on those of five others, as in an installation.
"""

import json
from datetime import date

import pytest

from ingestion.learning.comparison import TestDocument, compare_models
from ingestion.learning.fitting import fit
from ingestion.rules.classification.classify import classify
from ingestion.rules.classification.type_model import Model
from samples.documents import make_sample
from tests.ingestion.learning.house_documents import HEADINGS, house_reading
from tests.ingestion.reading.documents import read, save

DECISIONS = 50
TODAY = date(2026, 11, 20)


def house_documents(first_site):
    """Yield the key, type, site and reading of 50 documents of five sites."""
    for number in range(DECISIONS):
        site = f"{first_site + number % 5:04}"
        kind = list(HEADINGS)[number // 5 % len(HEADINGS)]
        yield number, kind, site, house_reading(kind, f"{site}-{number}")


@pytest.fixture(scope="module")
def learned():
    examples = [(reading, kind, site) for _, kind, site, reading in house_documents(101)]
    return Model.from_json(json.loads(fit(examples, excluded_words=())))


def test_after_50_decisions_the_right_type_is_proposed_first_at_sites_never_seen(learned):
    documents = [
        TestDocument(key, f"document {key}", site, kind, reading)
        for key, kind, site, reading in house_documents(201)
    ]
    result = compare_models(
        documents, before=classify, after=lambda reading: classify(reading, model=learned)
    )
    assert result.documents == DECISIONS
    assert result.before.right_first <= DECISIONS / 2
    assert result.after.right_first >= DECISIONS * 0.9
    assert result.after.right >= result.before.right
    assert result.after.wrong == 0
    assert "worse" not in [change["change"] for change in result.changes]


@pytest.mark.slow
def test_what_is_learned_does_not_change_how_other_documents_are_recognised(learned, tmp_path):
    for slug in ("irb-approval", "cv", "medical-licence", "form-fda-1572"):
        reading = read(save(tmp_path, make_sample(slug, today=TODAY)))
        assert classify(reading, model=learned).slug == slug
