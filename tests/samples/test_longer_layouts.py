"""Longer specimens and binders of them: the same for the same seed, and divided as stated."""

import io
import re
from contextlib import closing

import pikepdf
import pypdfium2 as pdfium

from bench.binders import MAX_DOCUMENTS, MIN_DOCUMENTS, BinderFigures, Piece, compose_binders
from ingestion.core.file_parts import QUARTERS
from ingestion.reading.results import PageReading, TextSource
from ingestion.rules.segmentation.parts import PagePart, ProposedCut
from samples.binders import place_four_on_a_sheet
from samples.layouts import LAYOUTS, make_specimen
from samples.layouts.longer import choose_part, make_longer_specimen


def texts_of(content):
    with closing(pdfium.PdfDocument(io.BytesIO(content))) as document:
        return [page.get_textpage().get_text_range() for page in document]


def test_a_longer_specimen_is_the_same_for_the_same_seed():
    layout = LAYOUTS["note-to-file"][0]
    one, two = (make_longer_specimen("note-to-file", layout, 3) for _ in range(2))
    assert one.content == two.content


def test_some_specimens_of_a_layout_are_longer_than_it_is():
    layout = LAYOUTS["note-to-file"][0]
    longest = max(
        len(texts_of(make_longer_specimen("note-to-file", layout, n).content)) for n in range(12)
    )
    assert longest > len(texts_of(make_specimen("note-to-file", layout).content))


def test_stated_numbers_of_pages_are_right():
    for layout in LAYOUTS["note-to-file"]:
        for seed in range(4):
            texts = texts_of(make_longer_specimen("note-to-file", layout, seed).content)
            stated = {
                int(total) for text in texts for total in re.findall(r"(?i)page \d+ of (\d+)", text)
            }
            assert stated <= {len(texts)}


def test_each_layout_is_in_one_part_and_each_part_has_layouts_of_many_types():
    parts = {part: set() for part in (0, 1)}
    for slug, layouts in LAYOUTS.items():
        for layout in layouts:
            parts[choose_part(slug, layout)].add(slug)
    assert all(len(slugs) > 0.9 * len(LAYOUTS) for slugs in parts.values())


def test_a_sheet_with_four_documents_has_each_in_its_quarter():
    contents = [make_specimen("cv", layout).content for layout in LAYOUTS["cv"][:4]]
    with pikepdf.open(io.BytesIO(place_four_on_a_sheet(contents))) as sheet:
        assert len(sheet.pages) == 1
    assert len(QUARTERS) == 4


def pieces(count=30):
    page = PageReading(1, 612, 792, "text", TextSource.NATIVE)
    return {
        f"1 cv {number}": (Piece(f"1 cv {number}", ("cv",), b""), (page,) * (1 + number % 3))
        for number in range(count)
    }


def test_a_composed_binder_states_where_its_documents_begin():
    for binder in compose_binders({**pieces(), **sheet()}, 30, "test"):
        assert MIN_DOCUMENTS <= len(binder.starts) <= MAX_DOCUMENTS
        assert [page.number for page in binder.reading.pages] == list(
            range(1, len(binder.reading.pages) + 1)
        )
        assert binder.starts[0][0] == 1
        for page, _ in binder.starts:
            assert not binder.reading.pages[page - 1].is_blank


def sheet():
    page = PageReading(1, 612, 792, "two", TextSource.NATIVE)
    starts = tuple((1, region) for region in QUARTERS[:2])
    return {"sheet": (Piece("sheet", ("cv", "cv"), b"", starts), (page,))}


def test_figures_count_boundaries_and_whole_binders():
    figures = BinderFigures()
    true = [(1, None), (3, None), (5, None)]
    right = ProposedCut((PagePart(1, 2), PagePart(3, 4), PagePart(5, 6)))
    wrong = ProposedCut((PagePart(1, 2), PagePart(3, 6)), is_certain=False)
    figures.add(true, right)
    figures.add(true, wrong)
    assert (figures.binders, figures.right, figures.wrong_and_certain) == (2, 1, 0)
    assert figures.f1 == 2 * 3 / (3 + 4)
    figures.add(true, ProposedCut((PagePart(1, 6),)))
    assert figures.wrong_and_certain == 1
