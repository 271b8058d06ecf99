"""Tests of `read_document` with files that are really read."""

import json

import pytest
from django.core.management import CommandError, call_command
from PIL import Image

from ingestion.models import Document
from ingestion.reading.images.render import render_page
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.pdf.open_pdf import open_document
from tests.ingestion.reading.documents import LINES, make_pdf, save

pytestmark = pytest.mark.django_db


@pytest.fixture
def paper(tmp_path):
    return save(tmp_path, make_pdf(pages=2))


def read_document(capsys, *arguments):
    call_command("read_document", *map(str, arguments))
    return capsys.readouterr().out


def test_the_text_of_every_page_is_printed_and_nothing_is_stored(paper, capsys):
    output = read_document(capsys, paper)
    assert "Page 2: native, language en" in output
    assert output.count(LINES[0]) == 2
    assert not Document.objects.exists()


def test_the_json_has_each_word_with_its_place_confidence_and_source(paper, capsys):
    pages = json.loads(read_document(capsys, paper, "--json"))["pages"]
    assert [page["page"] for page in pages] == [1, 2]
    first = pages[0]
    assert list(first) == ["page", "text", "language", "corrections", "words"]
    assert (first["language"], first["corrections"]) == ("en", [])
    assert first["text"].splitlines()[0] == LINES[0]
    word, left, top, right, bottom, confidence, source = first["words"][0]
    assert (word, confidence, source) == (LINES[0].split()[0], 100.0, "native")
    # The first line stands 72 points from the left and 700 from the bottom of a letter page.
    assert left == pytest.approx(72 / 612, abs=0.01)
    assert bottom == pytest.approx(1 - 700 / 792, abs=0.01)
    assert left < right < 1
    assert 0 < top < bottom


def test_a_scan_that_lies_upside_down_names_its_correction_and_its_words_are_upright(
    paper, tmp_path, capsys
):
    path = tmp_path / "scan.png"
    with open_document(paper) as pdf:
        raster = render_page(pdf[0], 150, ReadingLimits())
    Image.fromarray(raster.grey).rotate(180).save(path, dpi=(150, 150))
    (page,) = json.loads(read_document(capsys, path, "--json"))["pages"]
    assert {"kind": "rotated", "amount": 180} in page["corrections"]
    places = {word: (left, bottom, source) for word, left, _, _, bottom, _, source in page["words"]}
    left, bottom, source = places["INVESTIGATOR"]
    assert source == "tesseract"
    assert (left, bottom) == pytest.approx((72 / 612, 1 - 700 / 792), abs=0.01)


def test_a_file_that_cannot_be_read_says_why_and_exits_with_1(tmp_path):
    broken = save(tmp_path, b"%PDF-1.7\nnothing else")
    with pytest.raises(CommandError, match="CORRUPT_DOCUMENT") as raised:
        call_command("read_document", str(broken))
    assert raised.value.returncode == 1


def test_a_file_that_does_not_exist_exits_with_2(tmp_path):
    with pytest.raises(CommandError, match="There is no file") as raised:
        call_command("read_document", str(tmp_path / "absent.pdf"))
    assert raised.value.returncode == 2
