"""Tests of printed separator sheets: how they are read from a file, and what they list."""

import io

import numpy as np
import pypdfium2
import pytest
from PIL import Image, ImageFilter
from reportlab.lib.pagesizes import LETTER
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingestion.documents.separator_sheets import (
    SeparatorSheet,
    list_separator_sheets,
    render_sheets,
)
from ingestion.documents.site_readiness import get_readiness
from ingestion.reading.images.render import PageRaster
from ingestion.reading.images.separator_codes import read_separator_codes
from ingestion.reading.results import TextSource
from ingestion.rules.segmentation.separators import Separator, is_sheet, read_sheet
from samples.binders import make_binder
from sites.models import Site, Study
from tests.factories import make_read, make_site
from tests.ingestion.reading.documents import make_pdf, read, save

SITE = Site(
    site_id="1001", name="Klinikum Köln, Prüfzentrum 3", study=Study(protocol_number="SLX-301")
)
CV = SeparatorSheet("cv", "Elena Márquez de la Cruz")
ANNOUNCED = Separator("1001", "cv", "Elena Márquez de la Cruz")


@pytest.fixture(scope="module")
def printed():
    return render_sheets(SITE, [CV])


def draw(content, dpi):
    page = pypdfium2.PdfDocument(content)[0]
    return page.render(scale=dpi / 72, grayscale=True).to_pil().convert("L")


def image_file(image, dpi):
    output = io.BytesIO()
    image.save(output, "PDF", resolution=dpi)
    return output.getvalue()


@pytest.mark.parametrize(
    ("dpi", "turned", "skew"), [(100, 0, 3), (100, 180, -12), (150, 90, 2), (200, 270, -3)]
)
def test_a_code_is_read_at_any_angle_from_a_grey_and_noisy_scan(printed, dpi, turned, skew):
    page = draw(printed, dpi).rotate(turned, expand=True)
    page = page.rotate(skew, Image.Resampling.BICUBIC, fillcolor=255)
    pixels = np.asarray(page.filter(ImageFilter.GaussianBlur(0.8))).astype(float)
    noise = np.random.default_rng(dpi + turned).normal(0, 10, pixels.shape)
    grey = np.clip(90 + 0.45 * pixels + noise, 0, 255).astype(np.uint8)
    assert read_separator_codes(PageRaster(grey, dpi)) == (ANNOUNCED.payload,)


def test_a_scanned_sheet_that_lies_upside_down_is_found_in_its_file(printed, tmp_path):
    content = image_file(draw(printed, 150).rotate(180), 150)
    (page,) = read(save(tmp_path, content)).pages
    assert page.source is TextSource.OCR
    assert (is_sheet(page), read_sheet(page)) == (True, ANNOUNCED)


def test_a_sheet_that_was_put_into_a_digital_file_is_found(printed, tmp_path):
    reading = read(save(tmp_path, make_binder([printed, make_pdf()])))
    assert [is_sheet(page) for page in reading.pages] == [True, False]
    assert read_sheet(reading.pages[0]) == ANNOUNCED


def test_a_scan_with_the_hidden_text_of_other_software_is_searched_for_codes(printed, tmp_path):
    output = io.BytesIO()
    canvas = Canvas(output, LETTER)
    canvas.drawImage(ImageReader(draw(printed, 150)), 0, 0, *LETTER)
    text = canvas.beginText(60, 700)
    text.setTextRenderMode(3)  # invisible
    text.textLine("The next document is a CV. Put this sheet in front of it.")
    canvas.drawText(text)
    canvas.save()
    (page,) = read(save(tmp_path, output.getvalue())).pages
    assert page.source is TextSource.OCR_LAYER
    assert read_sheet(page) == ANNOUNCED


def test_a_sheet_with_a_destroyed_code_is_a_sheet_that_announces_nothing(printed, tmp_path):
    page = draw(printed, 150)
    page.paste(255, (0, 500, 1275, 800))  # across the code
    (page,) = read(save(tmp_path, image_file(page, 150))).pages
    assert page.separator_codes == ()
    assert (is_sheet(page), read_sheet(page)) == (True, None)


def test_only_a_born_digital_page_with_the_text_of_a_code_is_rendered(tmp_path):
    content = make_binder([make_pdf()])
    (page,) = read(save(tmp_path, content)).pages
    assert page.separator_codes == ()


@pytest.mark.django_db
def test_each_required_document_has_a_sheet():
    site = make_site()
    make_read(site, "irb-approval", approval_date="2026-10-01", expiry_date="2030-10-01")
    readiness = get_readiness(site)
    sheets = list_separator_sheets(readiness)
    assert [each.document_type for each in sheets] == [
        each.document_type for each in readiness.required
    ]
    missing = list_separator_sheets(readiness, only_open=True)
    assert SeparatorSheet("irb-approval") in sheets
    assert SeparatorSheet("irb-approval") not in missing
    assert len(pypdfium2.PdfDocument(render_sheets(site, sheets))) == len(sheets)


def test_a_long_name_stays_on_its_sheet():
    long = SeparatorSheet("protocol-amendment-signature-page", "Wolfeschlegelsteinhausen " * 9)
    assert len(pypdfium2.PdfDocument(render_sheets(SITE, [long, CV]))) == 2
