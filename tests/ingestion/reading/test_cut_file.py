"""Tests of cutting the pages of a part out of a file."""

from io import BytesIO

import pikepdf
import pypdfium2
import pytest
from PIL import Image

from ingestion.core.file_parts import FilePart
from ingestion.reading.cut_file import CutFailed, cut_pages
from ingestion.reading.limits import ReadingLimits
from samples.binders import place_side_by_side
from tests.ingestion.reading.documents import make_pdf

LEFT, RIGHT = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)
LIMITS = ReadingLimits()


@pytest.fixture
def cut(tmp_path):
    """`cut(content, part)` returns the bytes of the part, and checks that the file is as it was."""

    def cut(content, part):
        path = tmp_path / "file"
        path.write_bytes(content)
        parts = [cut_pages(path, part, LIMITS) for _ in range(2)]
        assert path.read_bytes() == content
        assert parts[0] == parts[1]
        return parts[0]

    return cut


def texts(content):
    with pypdfium2.PdfDocument(content) as pdf:
        return [page.get_textpage().get_text_bounded() for page in pdf]


def test_the_pages_of_a_part_are_cut_out_of_a_pdf(cut):
    content = make_pdf(pages=4)
    assert texts(cut(content, FilePart(2, 3))) == texts(content)[1:3]


@pytest.mark.parametrize("turns", [0, 90, 180, 270])
def test_a_region_is_what_the_page_shows_there(cut, turns):
    """The page may be turned for display, and its region is one of the displayed page."""
    one, other = (make_pdf(lines=[f"the {side} page"]) for side in ("first", "second"))
    with pikepdf.open(BytesIO(place_side_by_side(one, other))) as pdf:
        width, height = (float(side) for side in pdf.pages[0].mediabox[2:])
        pdf.pages[0].rotate(turns, relative=False)
        sheet = BytesIO()
        pdf.save(sheet)
    # The half that shows the first page, after so many quarter turns clockwise.
    region = {
        0: (0, 0, 0.5, 1),
        90: (0, 0, 1, 0.5),
        180: (0.5, 0, 1, 1),
        270: (0, 0.5, 1, 1),
    }[turns]
    half = cut(sheet.getvalue(), FilePart(1, 1, region))
    with pikepdf.open(BytesIO(half)) as pdf:
        left, bottom, right, top = (float(side) for side in pdf.pages[0].cropbox)
    assert (left, bottom, right, top) == pytest.approx((0, 0, width / 2, height), abs=0.1)


def test_frames_of_a_tiff_are_cut_out(cut):
    frames = [Image.new("L", (80, 40), shade) for shade in (0, 100, 200)]
    file = BytesIO()
    frames[0].save(file, "TIFF", save_all=True, append_images=frames[1:])
    with Image.open(BytesIO(cut(file.getvalue(), FilePart(2, 3)))) as image:
        assert (image.n_frames, image.getpixel((0, 0))) == (2, 100)
    with Image.open(BytesIO(cut(file.getvalue(), FilePart(3, 3, RIGHT)))) as image:
        assert (image.size, image.getpixel((0, 0))) == ((40, 40), 200)


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7 nothing else", b"text"])
def test_a_file_that_cannot_be_opened_is_a_result_and_no_error(cut, content):
    assert isinstance(cut(content, FilePart(1, 1)), CutFailed)
