"""Page previews, rendered in this process instead of a parser process."""

import dataclasses
from io import BytesIO

import pytest
from PIL import Image

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.preview_images import MAX_PREVIEW_HEIGHT, render_previews, render_webp
from ingestion.reading.preview_request import PREVIEW_WIDTH, PreviewFailed, PreviewRequest
from tests.ingestion.reading import hostile
from tests.ingestion.reading.documents import make_pdf, save

LIMITS = ReadingLimits()


@pytest.fixture
def draw(tmp_path):
    def draw(content, sheet, **limits):
        path = tmp_path / "came"
        path.write_bytes(content)
        terms = dataclasses.replace(LIMITS, **limits)
        answer = render_webp(path, tmp_path / "repaired.pdf", sheet, terms)
        return answer if isinstance(answer, PreviewFailed) else Image.open(BytesIO(answer))

    return draw


def picture(size, *, kind="PNG", frames=1):
    out = BytesIO()
    made = [Image.new("L", size, 255) for _ in range(frames)]
    more = {"save_all": True, "append_images": made[1:]} if frames > 1 else {}
    made[0].save(out, kind, **more)
    return out.getvalue()


def test_all_pages_have_the_same_width_and_twice_that_when_zoomed(draw):
    content = make_pdf(pages=2)
    assert (
        draw(content, PreviewRequest(1)).width
        == draw(content, PreviewRequest(2)).width
        == PREVIEW_WIDTH
    )
    assert draw(content, PreviewRequest(1, zoom=2)).width == 2 * PREVIEW_WIDTH


@pytest.mark.parametrize("turned", [90, 270])
def test_a_rotated_page_has_the_same_width(draw, turned):
    upright, lying = (
        draw(make_pdf(), PreviewRequest(1)),
        draw(make_pdf(), PreviewRequest(1, rotation=turned)),
    )
    assert upright.height > upright.width
    assert lying.width == PREVIEW_WIDTH
    assert lying.height < lying.width


def test_the_height_of_a_long_receipt_is_limited(draw):
    assert draw(picture((200, 9_000)), PreviewRequest(1)).height <= MAX_PREVIEW_HEIGHT


def test_both_pages_of_a_fax_are_rendered(draw):
    fax = picture((1728, 2200), kind="TIFF", frames=2)
    assert draw(fax, PreviewRequest(2)).width == PREVIEW_WIDTH
    assert draw(fax, PreviewRequest(3)) == PreviewFailed("the picture cannot be decoded")
    assert draw(fax, PreviewRequest(0)) == PreviewFailed("there is no page 0")


@pytest.mark.parametrize("page", [0, 2])
def test_a_page_that_does_not_exist_is_reported(draw, page):
    assert draw(make_pdf(), PreviewRequest(page)) == PreviewFailed(f"there is no page {page}")


def test_an_image_with_too_many_pixels_is_not_decoded(draw):
    answer = draw(picture((400, 400)), PreviewRequest(1), max_image_pixels=100 * 100)
    assert answer == PreviewFailed("the picture has too many pixels")


def test_a_file_that_cannot_be_opened_is_reported_with_its_code(draw):
    assert draw(b"MZ, a program", PreviewRequest(1)).reason.isupper()
    assert draw(b"%PDF-1.7\n and then nothing", PreviewRequest(1)).reason.isupper()


@pytest.mark.slow
async def test_a_page_whose_form_takes_too_long_to_draw_is_rendered_without_it(tmp_path):
    path = save(tmp_path, hostile.fields_of_fields())
    limits = dataclasses.replace(LIMITS, first_look_seconds=1)
    answers = [each async for _request, each in render_previews(path, [PreviewRequest(1)], limits)]
    assert [Image.open(BytesIO(answer)).width for answer in answers] == [PREVIEW_WIDTH]
