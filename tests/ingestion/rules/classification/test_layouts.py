"""Tests that specimens in all layouts are recognised as what they are."""

import io
from contextlib import closing

import pypdfium2 as pdfium
import pytest

from ingestion.reading.results import DocumentReading, MediaType, PageReading, TextSource
from ingestion.rules.classification.classify import classify
from samples.layouts import LAYOUTS, OTHER, OTHER_LAYOUTS, make_specimen

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]


def read_text(content):
    """Return the text layer of a PDF as a reading, without the places of the words."""
    with closing(pdfium.PdfDocument(io.BytesIO(content))) as document:
        pages = [
            PageReading(
                number,
                *page.get_size(),
                page.get_textpage().get_text_range().replace("\r", ""),
                TextSource.NATIVE,
            )
            for number, page in enumerate(document, start=1)
        ]
    return DocumentReading(MediaType.PDF, tuple(pages))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("slug", LAYOUTS)
def test_a_specimen_has_its_type_among_the_candidates_and_is_taken_for_no_other(slug, seed):
    for layout in LAYOUTS[slug]:
        found = classify(read_text(make_specimen(slug, layout, seed).content))
        assert found.slug in {slug, ""}, layout
        assert slug in [candidate.slug for candidate in found.candidates], layout


@pytest.mark.parametrize("seed", SEEDS)
def test_documents_of_no_type_are_not_recognised(seed):
    found = {
        layout: classify(read_text(make_specimen(OTHER, layout, seed).content)).slug
        for layout in OTHER_LAYOUTS
    }
    assert {layout: slug for layout, slug in found.items() if slug} == {}
