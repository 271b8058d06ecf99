"""Tests of the generated binders: they are reproducible, and their truth accounts for each page."""

from samples.binders import Binder, make_sheet, plan_binders, write_binder
from tests.ingestion.reading.documents import read


def accounted_pages(binder: Binder) -> list[int]:
    whole = [
        number
        for document in binder.documents
        if document.region is None
        for number in range(document.first, document.last + 1)
    ]
    shared = {document.first for document in binder.documents if document.region}
    return sorted([*whole, *shared, *binder.blanks])


def test_each_page_of_a_binder_is_in_a_document_or_is_blank():
    for binder in plan_binders(20):
        assert 2 <= len(binder.documents) <= 12
        assert accounted_pages(binder) == list(range(1, len(binder.sheets) + 1))


def test_the_same_seed_plans_the_same_binders():
    assert list(plan_binders(5)) == list(plan_binders(5))
    assert list(plan_binders(5)) != list(plan_binders(5, seed=7))


def test_a_binder_is_a_file_with_its_sheets(tmp_path):
    binder = next(plan_binders(1))
    path = tmp_path / "binder.pdf"
    path.write_bytes(write_binder(binder))
    assert len(read(path).pages) == len(binder.sheets)
    assert make_sheet(binder.sheets[0]).startswith(b"%PDF")
