"""Real documents from other projects, some of which were made to do harm."""

import pypdf
import pytest

from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import TextSource, Unreadable
from tests.ingestion.reading.documents import LIMITS, read


def fill_in(form, path, *, appearances):
    """Write the form with its text fields filled in, and return the values by field name."""
    writer = pypdf.PdfWriter(clone_from=form)
    fields = pypdf.PdfReader(form).get_fields() or {}
    texts = [name for name, field in fields.items() if field.field_type == "/Tx"][:7]
    values = {name: f"typed value {number}" for number, name in enumerate(texts, start=1)}
    for page in writer.pages:
        writer.update_page_form_field_values(page, values, auto_regenerate=not appearances)
    writer.write(path)
    return values


@pytest.mark.parametrize("appearances", [True, False], ids=["drawn", "to be drawn"])
def test_values_of_a_real_form_fda_1572_are_read(corpus, tmp_path, appearances):
    path = tmp_path / "1572.pdf"
    values = fill_in(corpus / "nci-ocr__form_1572.pdf", path, appearances=appearances)
    reading = read(path)
    assert len(values) == 7
    assert all(value in reading.text for value in values.values())
    assert values.items() <= reading.fields.items()
    assert reading.pages[0].source is TextSource.FORM


def test_a_real_digital_signature_is_flagged_and_is_a_mark(corpus):
    reading = read(corpus / "nci-ocr__pdf_with_sig_field_signed.pdf")
    assert "digital-signature" in reading.flags
    assert reading.pages[0].marks


def test_a_dynamic_xfa_form_is_not_read_as_please_wait(corpus):
    outcome = read(corpus / "ocrmypdf__livecycle.pdf")
    assert outcome.code == "DYNAMIC_XFA_FORM"


@pytest.mark.slow
async def test_a_form_that_never_finishes_drawing_is_read_without_its_values(corpus):
    async with Reader(LIMITS) as reader:
        reading = await reader.read(corpus / "qpdf__shared-unnamed-field.pdf", "0" * 64)
    assert [page.error for page in reading.pages] == [""]
    assert reading.flags == {"unread-form"}


def test_a_static_xfa_form_is_read(corpus):
    reading = read(corpus / "nci-ocr__pdf_xfa_form.pdf")
    assert "Conference Registration" in reading.text
    assert reading.flags == {"xfa", "javascript"}


def test_a_real_scan_that_is_upside_down_is_rotated(corpus):
    page = read(corpus / "test__phototest-rotated-180.png").pages[0]
    assert page.rotation == 180
    assert "This is a lot of 12 point text" in page.text


@pytest.mark.slow
def test_a_real_scan_is_read_nearly_word_for_word(corpus):
    truth = (corpus / "gt" / "ocrmypdf__linn.png.txt").read_text().split()
    found = read(corpus / "ocrmypdf__linn.png").text.split()
    assert len(set(truth) & set(found)) / len(set(truth)) > 0.9


def test_a_real_document_with_a_password_is_reported_as_encrypted(corpus):
    assert read(corpus / "pdf.js__encrypted-attachment.pdf") == Unreadable("ENCRYPTED_DOCUMENT")
