"""Tests of image files: photos of phones, and TIFF files of every compression.

`tests/documents/turned.heic` shows the page of `documents.make_pdf`. It is stored on its side with
the instruction to turn it, as phones write it.
"""

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ingestion.core.file_parts import FilePart
from ingestion.reading.cut_file import cut_pages
from ingestion.reading.images.render import PageUnreadable, count_frames, load_frame
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.preview_images import render_webp
from ingestion.reading.preview_request import PreviewRequest
from ingestion.reading.results import MediaType, Unreadable
from tests.ingestion.reading.documents import LIMITS, LINES, make_pdf, read, render, save
from tests.marks import slower

HEIC = Path(__file__).parents[2] / "documents" / "turned.heic"
COMPRESSIONS = {
    "raw": "1", "packbits": "1", "tiff_ccitt": "1", "group3": "1", "group4": "1",
    "tiff_lzw": "L", "tiff_adobe_deflate": "L", "jpeg": "RGB", "zstd": "RGB", "lzma": "RGB",
}  # fmt: skip
DAMAGES_RUNS = {"tiff_ccitt"}  # libtiff itself reads back some of its rows otherwise


@pytest.fixture(scope="module")
def page():
    """Return the image of a page in grey."""
    return render(make_pdf(), dpi=150).convert("L")


def write(image, kind, **options):
    output = io.BytesIO()
    image.save(output, kind, **options)
    return output.getvalue()


def make_old_jpeg_tiff(image):
    """Return a TIFF file with old-style JPEG (compression 6), which no current program writes."""
    content, count = write(image.convert("RGB"), "JPEG", quality=90, subsampling=0), 13
    sizes_at = 8 + 2 + 12 * count + 4
    content_at = sizes_at + 6
    width, height = image.size
    entries = [
        (256, 4, 1, width), (257, 4, 1, height), (258, 3, 3, sizes_at), (259, 3, 1, 6),
        (262, 3, 1, 6), (273, 4, 1, content_at), (277, 3, 1, 3), (278, 4, 1, height),
        (279, 4, 1, len(content)), (512, 3, 1, 1), (513, 4, 1, content_at),
        (514, 4, 1, len(content)), (530, 3, 2, 1 | 1 << 16),
    ]  # fmt: skip
    directory = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    head = b"II*\0" + struct.pack("<IH", 8, count)
    return head + directory + struct.pack("<I3H", 0, 8, 8, 8) + content


def declare_compression(content, number):
    """Return the TIFF file with another compression in the directory of its first page."""
    content, start = bytearray(content), struct.unpack("<I", content[4:8])[0]
    for at in range(start + 2, start + 2 + 12 * content[start], 12):
        if content[at : at + 2] == struct.pack("<H", 259):
            content[at + 8 : at + 10] = struct.pack("<H", number)
    return bytes(content)


def is_same(raster, page):
    """Return whether a raster shows the page: its dark pixels are the page's."""
    displayed = np.asarray(Image.fromarray(raster.grey).resize(page.size))
    return ((displayed < 128) != (np.asarray(page) < 128)).mean() < 0.005


def test_a_photo_of_a_phone_is_read_upright():
    reading = read(HEIC)
    assert reading.media_type is MediaType.HEIC
    assert reading.pages[0].height > reading.pages[0].width
    assert all(line in reading.text for line in LINES[:3])


def test_a_photo_of_a_phone_is_shown_upright(page):
    preview = render_webp(HEIC, HEIC, PreviewRequest(1), LIMITS)
    width, height = Image.open(io.BytesIO(preview)).size
    assert height > width


def test_a_page_of_a_photo_is_cut_out_as_tiff(page):
    content = cut_pages(HEIC, FilePart(1, 1), LIMITS)
    with Image.open(io.BytesIO(content)) as image:
        assert (image.format, image.size[0] < image.size[1]) == ("TIFF", True)


def test_a_webp_image_is_read_by_its_content(tmp_path, page):
    path = save(tmp_path, write(page.convert("RGB"), "WEBP", quality=80), "photo.webp")
    assert count_frames(path, MediaType.WEBP, LIMITS) == 1
    assert is_same(load_frame(path, MediaType.WEBP, 1, LIMITS), page)


@pytest.mark.parametrize("kind", ["WEBP", "JPEG"])
def test_the_orientation_in_a_photo_is_respected(tmp_path, page, kind):
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = page.convert("RGB").transpose(Image.Transpose.ROTATE_90)
    path = save(tmp_path, write(turned, kind, quality=80, exif=exif))
    assert is_same(load_frame(path, MediaType(f"image/{kind.lower()}"), 1, LIMITS), page)


@pytest.mark.parametrize(
    "compression", [name if name == "group4" else slower(name) for name in COMPRESSIONS]
)
def test_each_page_of_a_tiff_file_is_read(tmp_path, page, compression):
    mode = COMPRESSIONS[compression]
    first = Image.new(mode, page.size, 1 if mode == "1" else "white")
    second = page.convert(mode)
    path = save(
        tmp_path,
        write(first, "TIFF", compression=compression, save_all=True, append_images=[second]),
    )
    assert count_frames(path, MediaType.TIFF, LIMITS) == 2
    assert not (load_frame(path, MediaType.TIFF, 1, LIMITS).grey < 128).any()
    raster = load_frame(path, MediaType.TIFF, 2, LIMITS)
    assert compression in DAMAGES_RUNS or is_same(raster, page)


def test_old_style_jpeg_in_a_tiff_file_is_read(tmp_path, page):
    path = save(tmp_path, make_old_jpeg_tiff(page))
    assert count_frames(path, MediaType.TIFF, LIMITS) == 1
    assert is_same(load_frame(path, MediaType.TIFF, 1, LIMITS), page)


@pytest.mark.parametrize(("number", "name"), [(50001, "WebP"), (34712, "JPEG 2000"), (777, "777")])
def test_a_compression_that_cannot_be_decoded_is_named(tmp_path, page, number, name):
    content = write(page, "TIFF", compression="tiff_adobe_deflate")
    path = save(tmp_path, declare_compression(content, number))
    unreadable = Unreadable("UNSUPPORTED_TYPE", {"compression": name})
    assert count_frames(path, MediaType.TIFF, LIMITS) == unreadable


def test_the_size_of_a_photo_is_checked_before_it_is_decoded():
    with pytest.raises(PageUnreadable, match="megapixels"):
        load_frame(HEIC, MediaType.HEIC, 1, ReadingLimits(max_image_pixels=1_000_000))


@pytest.mark.parametrize("media_type", [MediaType.HEIC, MediaType.WEBP])
def test_a_damaged_photo_is_reported_as_damaged(tmp_path, page, media_type):
    content = HEIC.read_bytes() if media_type is MediaType.HEIC else write(page, "WEBP")
    path = save(tmp_path, content[: len(content) // 3])
    assert count_frames(path, media_type, LIMITS) == Unreadable("CORRUPT_DOCUMENT")
