import io

import pikepdf
import pytest

from ingestion.reading.facts import Reading, Unreadable
from ingestion.reading.limits import ReadingLimits
from tests.ingestion.reading.papers import encrypted, read, rewritten, save, typed


def test_a_locked_document_is_not_opened(tmp_path):
    locked = encrypted(typed(), user="secret")
    assert read(save(tmp_path, locked)) == Unreadable("ENCRYPTED_DOCUMENT")


def test_a_document_locked_for_printing_only_is_read(tmp_path):
    reading = read(save(tmp_path, encrypted(typed(), user="")))
    assert isinstance(reading, Reading)
    assert "SLX-301" in reading.text


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7])
def test_a_truncated_document_is_corrupt(tmp_path, share):
    content = typed(pages=3)
    reading = read(save(tmp_path, content[: int(len(content) * share)]))
    assert reading == Unreadable("CORRUPT_DOCUMENT")


def test_a_document_without_its_last_lines_is_repaired_and_says_so(tmp_path):
    content = typed()
    reading = read(save(tmp_path, content[: content.rindex(b"trailer")]))
    assert isinstance(reading, Reading)
    assert reading.repaired
    assert "Good Clinical Practice" in reading.text


def test_a_repaired_document_that_lost_a_page_is_corrupt(tmp_path):
    content = typed(pages=2)
    lost = content.replace(b"/Contents 9 0 R", b"/Contents 99 0 R")
    assert lost != content
    assert read(save(tmp_path, lost[: lost.rindex(b"trailer")])) == Unreadable("CORRUPT_DOCUMENT")


def test_a_document_of_too_many_pages_is_told_the_limit(tmp_path):
    reading = read(save(tmp_path, typed(pages=4)), ReadingLimits(max_pages=3))
    assert reading == Unreadable("FILE_TOO_LARGE", {"pages": 4, "limit_pages": 3})


def test_a_header_alone_is_corrupt(tmp_path):
    assert read(save(tmp_path, b"%PDF-1.7\nand nothing else")) == Unreadable("CORRUPT_DOCUMENT")


def test_a_page_larger_than_a_wall_fails_alone(tmp_path):
    def enlarge(document: pikepdf.Pdf) -> None:
        document.pages[0].obj.MediaBox = [0, 0, 1_000_000, 1_000_000]

    reading = read(save(tmp_path, rewritten(typed(pages=2), enlarge)))
    assert isinstance(reading, Reading)
    assert "inches" in reading.pages[0].error
    assert "SLX-301" in reading.pages[1].text


def test_a_picture_of_too_many_pixels_is_never_decoded(tmp_path):
    document = pikepdf.new()
    document.add_blank_page()
    bomb = document.make_stream(b"\0")
    bomb.stream_dict = pikepdf.Dictionary(
        Type=pikepdf.Name.XObject,
        Subtype=pikepdf.Name.Image,
        Width=32_000,
        Height=32_000,
        BitsPerComponent=8,
        ColorSpace=pikepdf.Name.DeviceGray,
    )
    page = document.pages[0].obj
    page.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(I=document.make_indirect(bomb)))
    page.Contents = document.make_stream(b"612 0 0 792 0 0 cm /I Do")
    output = io.BytesIO()
    document.save(output)
    reading = read(save(tmp_path, output.getvalue()))
    reason = "the page's pictures have 1024 megapixels"
    assert reading == Unreadable("PARSER_FAILURE", {"reason": reason})
