"""PDFs of pictures, written in this process instead of a parser process, unless a test says so."""

import dataclasses
import multiprocessing
import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pikepdf
import pypdfium2
import pytest
from PIL import Image

from ingestion.core.file_parts import FilePart
from ingestion.reading import page_pictures
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.page_pictures import (
    BlackenedPage,
    PictureOrder,
    PicturesFailed,
    PictureSource,
    open_picture_source,
    render_pictures,
    write_pictures,
)
from ingestion.reading.pdf.active_content import find_active_content
from ingestion.reading.pdf.static_pdf import is_static
from ingestion.reading.picture_pdf import WrittenPages, finish_file
from ingestion.reading.results import Box
from tests.ingestion.reading import hostile
from tests.ingestion.reading.documents import add_script, make_form, make_pdf, render, rewrite, save

LIMITS = ReadingLimits()
A4_AT_200_DPI = (1654, 2339)


def write_file(source, order, target, limits=LIMITS):
    """Write the whole file, and return the pages that cannot be displayed."""
    outcome = write_pictures(source, order, target, WrittenPages(), limits)
    finish_file(target, outcome.written)
    return outcome.undisplayed


@pytest.fixture
def draw(tmp_path):
    """`draw(content, ...)` returns the path of the pictures of a file, or why there are none."""

    def draw(content, *numbers, **order):
        path = save(tmp_path, content, "came")
        source = open_picture_source(path, tmp_path / "repaired.pdf", LIMITS)
        if isinstance(source, PicturesFailed):
            return source
        target = tmp_path / "pictures.pdf"
        order = PictureOrder(numbers or tuple(range(1, source.pages + 1)), 5_000_000, **order)
        draw.undisplayed = write_file(source, order, target)
        return target

    return draw


def view(path, page=1, dpi=72):
    """Return a page as people see it, in grey."""
    with pypdfium2.PdfDocument(path) as document:
        drawn = document[page - 1].render(scale=dpi / 72, grayscale=True).to_pil().convert("L")
    return np.asarray(drawn)


def difference(content, path):
    """Return the mean difference between the first page of a file and its picture, of 255."""
    original = np.asarray(render(content, 72), dtype=float)
    return np.abs(original - view(path)).mean()


def pictures(path):
    with pikepdf.open(path) as document:
        return [
            (page.Resources.XObject.Picture.Filter, page.Resources.XObject.Picture.ColorSpace)
            for page in document.pages
        ]


def as_image(picture, kind, **more):
    output = BytesIO()
    picture.save(output, kind, **more)
    return output.getvalue()


def test_the_pictures_show_what_the_pages_show(draw):
    content = make_pdf(pages=3)
    path = draw(content)
    assert draw.undisplayed == ()
    assert difference(content, path) < 2
    assert view(path, 3).shape == view(save(path.parent, content), 3).shape


def test_entries_of_a_form_are_shown(draw):
    content = make_form({"name": "Miriam Okafor"}, appearances=True)
    empty = make_form({"name": ""}, appearances=True)
    filled = view(draw(content))
    assert (filled != view(draw(empty))).any()


def busy_file():
    """Return a file with all that a file of pictures must not have."""

    def add(pdf):
        pdf.Root.Names = pikepdf.Dictionary(
            JavaScript=pikepdf.Dictionary(
                Names=["a", pikepdf.Dictionary(S=pikepdf.Name.JavaScript, JS="app.alert(1)")]
            )
        )
        pdf.attachments["secret.txt"] = b"a secret attachment"
        pdf.docinfo.Author = "Secret Author"
        with pdf.open_metadata() as metadata:
            metadata["dc:title"] = "Secret title"
        page = pdf.pages[0]
        note = pikepdf.Dictionary(
            Type=pikepdf.Name.Annot,
            Subtype=pikepdf.Name.Text,
            Rect=[10, 10, 30, 30],
            Contents="a secret note",
        )
        page.Annots = pdf.make_indirect([note])
        launch = pikepdf.Dictionary(S=pikepdf.Name.Launch, F="secret.exe")
        page.AA = pikepdf.Dictionary(O=launch)
        pdf.Root.AcroForm = pikepdf.Dictionary(
            Fields=[], XFA=pdf.make_stream(b"<xdp><script>secret()</script></xdp>")
        )

    return rewrite(add_script(make_pdf(lines=["A secret line of text"])), add)


def test_the_file_of_pictures_has_no_action_text_form_attachment_or_metadata(draw, tmp_path):
    content = busy_file()
    assert find_active_content(save(tmp_path, content)) >= {"javascript", "launch", "embedded-file"}
    path = draw(content)
    assert is_static(path)
    assert find_active_content(path) == frozenset()
    with pikepdf.open(path) as pdf:
        assert set(pdf.Root.keys()) == {"/Type", "/Pages"}
        assert set(pdf.trailer.keys()) == {"/Root", "/Size"}
        (page,) = pdf.pages
        assert set(page.keys()) <= {"/Type", "/Parent", "/MediaBox", "/Resources", "/Contents"}
        assert not pdf.check_pdf_syntax()
        contents = page.Contents.read_bytes()
        assert re.fullmatch(rb"q [\d.]+ 0 0 [\d.]+ 0 0 cm /Picture Do Q", contents)
        written = b"".join(each.unparse(resolved=True) for each in pdf.objects if each is not None)
        assert not re.search(rb"secret|JavaScript|Launch|Annot|Metadata|Font", written)
    assert b"secret" not in path.read_bytes().lower()
    with pypdfium2.PdfDocument(path) as document:
        assert document[0].get_textpage().get_text_bounded() == ""


def test_a_photo_loses_the_metadata_of_its_camera(draw):
    exif = Image.Exif()
    exif[0x010E] = "a secret place"
    exif[0x0112] = 6  # stored on its side
    photo = Image.new("RGB", (800, 600), "orange")
    path = draw(as_image(photo, "JPEG", exif=exif))
    assert b"secret" not in path.read_bytes()
    assert b"Exif" not in path.read_bytes()
    height, width = view(path).shape
    assert height > width


def test_the_same_file_gives_the_same_bytes(draw):
    content = make_pdf(pages=2)
    first = draw(content).read_bytes()
    assert draw(content).read_bytes() == first


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_blackened_places_are_black_pixels_with_nothing_beneath(draw, turned):
    content = make_pdf()
    original = np.asarray(render(content, 72))
    height, width = original.shape
    # A box on the page as OCR turned it: on the upright page, its sides are these.
    left, top, right, bottom = 60, 80, 200, 160
    size, box = {
        0: ((width, height), Box(left, top, right, bottom)),
        90: ((height, width), Box(height - bottom, left, height - top, right)),
        180: ((width, height), Box(width - right, height - bottom, width - left, height - top)),
        270: ((height, width), Box(top, width - right, bottom, width - left)),
    }[turned]
    places = BlackenedPage(*size, (box,), turned)
    seen = view(draw(content, blackened={1: places}))
    assert seen[top + 1 : bottom - 1, left + 1 : right - 1].max() == 0
    outside = np.ones_like(seen, dtype=bool)
    outside[top - 2 : bottom + 2, left - 2 : right + 2] = False
    assert np.abs(original.astype(int) - seen)[outside].mean() < 2


def test_what_is_beneath_a_blackened_place_does_not_change_a_byte(draw):
    """Two files that differ only beneath the place become the same file."""
    one, other = (make_pdf(lines=["Same line", line]) for line in ("Jane Roe", "John Poe"))
    with pypdfium2.PdfDocument(one) as document:
        width, height = document[0].get_size()
    changed = np.argwhere(np.asarray(render(one, 72)) != np.asarray(render(other, 72)))
    (top, left), (bottom, right) = changed.min(axis=0), changed.max(axis=0)
    box = Box(left - 2.0, top - 2.0, right + 2.0, bottom + 2.0)
    places = {1: BlackenedPage(width, height, (box,))}
    assert draw(one).read_bytes() != draw(other).read_bytes()
    assert draw(one, blackened=places).read_bytes() == draw(other, blackened=places).read_bytes()


def test_a_blackened_place_of_a_fax_is_black(draw):
    fax = render(make_pdf(), 204).convert("1")
    places = BlackenedPage(fax.width, fax.height, (Box(100, 100, 400, 300),))
    path = draw(as_image(fax, "TIFF", dpi=(204, 204)), blackened={1: places})
    (picture,) = pictures(path)
    assert picture[0] == "/CCITTFaxDecode"
    seen = view(path, dpi=204)
    assert seen[101:299, 101:399].max() == 0


def test_scans_in_black_and_white_stay_so_and_stay_small(draw):
    fax = render(make_pdf(), 204).convert("1")
    tiff = as_image(fax, "TIFF", compression="group4", dpi=(204, 204))
    path = draw(tiff)
    assert pictures(path) == [("/CCITTFaxDecode", "/DeviceGray")]
    assert path.stat().st_size < 2 * len(tiff) + 2_000
    pdf = as_image(fax, "PDF", resolution=204)
    path = draw(pdf)
    assert pictures(path) == [("/CCITTFaxDecode", "/DeviceGray")]
    assert difference(pdf, path) < 2


def test_pale_grey_stays_visible(draw):
    """A watermark on a page of black letters must not become white."""
    page = Image.new("L", A4_AT_200_DPI, 255)
    page.paste(225, (300, 300, 900, 900))
    path = draw(as_image(page, "PNG", dpi=(200, 200)))
    seen = view(path, dpi=200)
    assert abs(int(seen[600, 600]) - 225) <= 9
    assert seen[1200, 1200] == 255


def test_a_coloured_page_stays_coloured(draw):
    page = Image.new("RGB", A4_AT_200_DPI, "white")
    page.paste("blue", (300, 300, 900, 900))
    path = draw(as_image(page, "PNG", dpi=(200, 200)))
    assert pictures(path) == [("/DCTDecode", "/DeviceRGB")]


def test_a_page_is_never_rendered_with_more_pixels_than_the_limit(draw):
    path = draw(hostile.page_of_200_inches())
    with pikepdf.open(path) as document:
        picture = document.pages[0].Resources.XObject.Picture
        assert picture.Width * picture.Height <= page_pictures.MAX_PICTURE_PIXELS * 1.01


def test_a_picture_that_is_too_large_is_compressed_more(draw, monkeypatch):
    noise = np.random.default_rng(1).integers(0, 255, (1_000, 800), dtype=np.uint8)
    content = as_image(Image.fromarray(noise), "PNG", dpi=(100, 100))
    usual = draw(content).stat().st_size
    source = PictureSource(save(draw(content).parent, content), page_pictures.MediaType.PNG, 1)
    target = source.path.with_name("smaller.pdf")
    write_file(source, PictureOrder((1,), max_bytes=usual // 3), target)
    assert target.stat().st_size < usual // 3 + 2_000


def test_a_page_that_cannot_be_rendered_is_replaced_by_a_sentence(draw):
    path = draw(hostile.picture_of_a_gigapixel())
    assert draw.undisplayed == (1,)
    assert 0 < (view(path) < 128).mean() < 0.1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"MZ, a program", "UNSUPPORTED_TYPE"),
        (b"%PDF-1.7\n and then nothing", "CORRUPT_DOCUMENT"),
    ],
)
def test_a_file_that_cannot_be_opened_is_reported_with_its_code(draw, content, reason):
    assert draw(content) == PicturesFailed(reason)


async def test_the_pages_of_a_part_are_rendered_in_parser_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(page_pictures, "PAGES_PER_TASK", 2)
    content = make_pdf(pages=6)
    path, target = save(tmp_path, content), tmp_path / "part.pdf"
    rendered = await render_pictures(path, target, LIMITS, part=FilePart(2, 6))
    assert (rendered.pages, rendered.undisplayed) == (5, ())
    assert "pypdfium2" in rendered.tool
    for number in range(1, 6):
        assert np.abs(view(target, number).astype(int) - view(path, number + 1)).mean() < 2
    region = FilePart(2, 2, (0.0, 0.0, 0.5, 1.0))
    await render_pictures(path, target, LIMITS, part=region)
    assert view(target).shape[1] == pytest.approx(view(path).shape[1] / 2, abs=2)
    failed = await render_pictures(path, target, LIMITS, part=FilePart(2, 7))
    assert failed == PicturesFailed("there is no page 7")


@pytest.mark.slow
async def test_a_page_whose_form_takes_too_long_is_rendered_without_it(tmp_path):
    path = save(tmp_path, hostile.fields_of_fields())
    limits = dataclasses.replace(LIMITS, page_seconds=1)
    rendered = await render_pictures(path, tmp_path / "pictures.pdf", limits)
    assert (rendered.pages, rendered.undisplayed) == (1, ())


@pytest.mark.slow
async def test_a_page_that_takes_too_long_in_every_way_does_not_hide_the_others(tmp_path):
    def add(pdf):
        pdf.pages.extend(pikepdf.open(BytesIO(hostile.path_of_millions())).pages)
        pdf.pages.extend(pikepdf.open(BytesIO(make_pdf())).pages)

    path = save(tmp_path, rewrite(make_pdf(), add))
    limits = dataclasses.replace(LIMITS, page_seconds=0.2)
    rendered = await render_pictures(path, tmp_path / "pictures.pdf", limits)
    assert (rendered.pages, rendered.undisplayed) == (3, (2,))


def measure_peak(path, target):
    """Return the peak of the memory in bytes that this process had while rendering a file."""
    limits = dataclasses.replace(LIMITS, max_bytes=500_000_000)
    source = open_picture_source(path, target.with_suffix(".repaired"), limits)
    written = WrittenPages()
    for first in range(1, source.pages + 1, page_pictures.PAGES_PER_TASK):
        last = min(first + page_pictures.PAGES_PER_TASK, source.pages + 1)
        order = PictureOrder(tuple(range(first, last)), page_pictures.MAX_PAGE_BYTES)
        written = write_pictures(source, order, target, written, limits).written
    finish_file(target, written)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) * 1024


def test_pages_that_a_killed_process_left_behind_are_overwritten(tmp_path):
    source = open_picture_source(save(tmp_path, make_pdf(pages=3)), tmp_path / "repaired", LIMITS)
    order = PictureOrder((1, 2, 3), 5_000_000)
    straight, repeated = tmp_path / "straight.pdf", tmp_path / "repeated.pdf"
    write_file(source, order, straight)
    one = dataclasses.replace(order, numbers=(1,))
    written = write_pictures(source, one, repeated, WrittenPages(), LIMITS).written
    with repeated.open("ab") as file:
        file.write(b"half of a page" * 100_000)
    others = dataclasses.replace(order, numbers=(2, 3))
    finish_file(repeated, write_pictures(source, others, repeated, written, LIMITS).written)
    assert repeated.read_bytes() == straight.read_bytes()


@pytest.mark.slow
def test_the_memory_for_a_long_file_is_that_for_a_short_one(tmp_path):
    noise = np.random.default_rng(1).integers(0, 255, (1_800, 1_400), dtype=np.uint8)
    page = Image.fromarray(noise)
    peaks, sizes = [], []
    for pages in (16, 120):
        content = as_image(
            page, "PDF", save_all=True, append_images=[page] * (pages - 1), resolution=200
        )
        path, target = save(tmp_path, content, f"{pages}.pdf"), tmp_path / f"pictures-{pages}.pdf"
        with multiprocessing.get_context("spawn").Pool(1) as pool:  # a process for each file
            peaks.append(pool.apply(measure_peak, (path, target)))
        sizes.append(target.stat().st_size)
    assert sizes[1] > 120_000_000
    assert peaks[1] - peaks[0] < 40_000_000, peaks
