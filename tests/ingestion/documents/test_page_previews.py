"""Tests of page previews."""

import hashlib
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO

import pytest
from django.conf import settings
from PIL import Image

from ingestion.documents import page_previews
from ingestion.models import Document
from ingestion.reading.preview_request import PREVIEW_WIDTH
from ingestion.storage.archive import get_archive
from tests.factories import make_filed, make_site
from tests.ingestion.reading.documents import make_pdf

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.ARCHIVE_DIR, settings.PREVIEW_DIR = tmp_path / "archive", tmp_path / "previews"


@pytest.fixture
def kept(tmp_path):
    """A function that creates a filed document with these bytes."""

    def keep(content):
        sha256 = hashlib.sha256(content).hexdigest()
        (tmp_path / "incoming").write_bytes(content)
        get_archive().put(tmp_path / "incoming", sha256)
        return make_filed(make_site(), "cv", sha256)

    return keep


def size_of(picture):
    with Image.open(BytesIO(picture)) as image:
        assert image.format == "WEBP"
        return image.size


def written(picture, **options):
    out = BytesIO()
    picture.save(out, **options)
    return out.getvalue()


def test_a_page_is_rendered_in_colour_with_the_preview_width(kept):
    picture = page_previews.get_preview(kept(make_pdf(pages=2)), 2)
    wide, high = size_of(picture)
    assert wide == PREVIEW_WIDTH
    assert high == pytest.approx(PREVIEW_WIDTH * 11 / 8.5, abs=1)


def test_a_preview_is_rendered_once_and_kept_while_it_is_used(kept, tmp_path):
    document = kept(make_pdf())
    first = page_previews.get_preview(document, 1)
    (file,) = (tmp_path / "previews").glob("*/*/*")
    assert file.read_bytes() == first
    file.write_bytes(b"as it was kept")
    assert page_previews.get_preview(document, 1) == b"as it was kept"
    os.utime(file, (0, 0))
    assert page_previews.get_preview(document, 1) == b"as it was kept", "the second view"
    assert page_previews.prune_previews(datetime.now(UTC) - timedelta(hours=1)) == 0
    os.utime(file, (0, 0))
    assert page_previews.prune_previews(datetime.now(UTC) - timedelta(hours=1)) == 1
    assert page_previews.get_preview(document, 1) == first


def test_a_photograph_has_a_preview(kept):
    photograph = Image.new("RGB", (3000, 1500), "teal")
    assert size_of(page_previews.get_preview(kept(written(photograph, format="JPEG")), 1)) == (
        980,
        490,
    )


def test_a_preview_has_the_rotation_that_ocr_used(kept):
    document = kept(make_pdf())
    last = document.extractions.last()
    last.pages[0]["turned"] = 90
    last.save()
    wide, high = size_of(page_previews.get_preview(Document.objects.get(), 1))
    assert (wide, high) == (PREVIEW_WIDTH, pytest.approx(PREVIEW_WIDTH * 8.5 / 11, abs=1))


@pytest.mark.parametrize(
    "content",
    [b"", b"GIF89a nothing of ours", b"%PDF-1.7 a letter", b"\x89PNG\r\n\x1a\n cut off"],
    ids=["empty", "another-kind", "no-pdf", "no-picture"],
)
def test_an_unreadable_file_has_no_preview_and_raises_no_error(kept, content, tmp_path):
    assert page_previews.get_preview(kept(content), 1) is None
    assert not list((tmp_path / "previews").glob("*/*/*"))


def test_a_page_number_beyond_the_last_page_has_no_preview(kept):
    document = kept(make_pdf())
    assert page_previews.get_preview(document, 2) is None
    assert page_previews.get_preview(document, 0) is None


def test_the_height_of_a_preview_is_limited(kept):
    receipt = Image.new("L", (200, 60_000), "white")
    assert max(size_of(page_previews.get_preview(kept(written(receipt, format="PNG")), 1))) <= 4_000


def test_a_missing_original_raises_an_error(kept):
    document = kept(make_pdf())
    document.sha256 = "f" * 64
    with pytest.raises(FileNotFoundError):
        page_previews.get_preview(document, 1)


def test_a_killed_parser_process_raises_no_error(kept, settings):
    settings.READING_LIMITS = replace(settings.READING_LIMITS, page_seconds=0.000_1)
    assert page_previews.get_preview(kept(make_pdf()), 1) is None


def test_a_request_does_not_wait_long_for_other_renderings(kept, monkeypatch):
    monkeypatch.setattr(page_previews, "MAX_WAIT_SECONDS", 0)
    document = kept(make_pdf())
    with page_previews._renderings, page_previews._renderings:
        assert page_previews.get_preview(document, 1) is None
    assert page_previews.get_preview(document, 1)


def test_the_next_pages_are_rendered_with_a_page_of_a_list(kept):
    document = kept(make_pdf(pages=3))
    Document.objects.filter(pk=document.pk).update(pages=3)
    document.refresh_from_db()
    first = page_previews.get_preview(document, 1, ahead=7)
    shutil.rmtree(settings.ARCHIVE_DIR)  # so that nothing more can be rendered
    pages = [page_previews.get_preview(document, number) for number in (1, 2, 3)]
    assert pages[0] == first
    assert {size_of(page)[0] for page in pages} == {PREVIEW_WIDTH}
