"""Documents that nobody here made, some of them made to do harm."""

import pypdf
import pytest

from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import TextSource, Unreadable
from tests.ingestion.reading.documents import LIMITS, read


def filled(form, path, *, appearances):
    """The form with every text field filled; gives the values back by name."""
    writer = pypdf.PdfWriter(clone_from=form)
    fields = pypdf.PdfReader(form).get_fields() or {}
    texts = [name for name, field in fields.items() if field.field_type == "/Tx"][:7]
    values = {name: f"typed value {number}" for number, name in enumerate(texts, start=1)}
    for page in writer.pages:
        writer.update_page_form_field_values(page, values, auto_regenerate=not appearances)
    writer.write(path)
    return values


@pytest.mark.parametrize("appearances", [True, False], ids=["drawn", "to be drawn"])
def test_what_was_typed_into_a_real_1572_is_read(corpus, tmp_path, appearances):
    path = tmp_path / "1572.pdf"
    values = filled(corpus / "nci-ocr__form_1572.pdf", path, appearances=appearances)
    reading = read(path)
    assert len(values) == 7
    assert all(value in reading.text for value in values.values())
    assert values.items() <= reading.fields.items()
    assert reading.pages[0].source is TextSource.FORM


def test_a_real_digital_signature_is_flagged_and_seen(corpus):
    reading = read(corpus / "nci-ocr__pdf_with_sig_field_signed.pdf")
    assert "digital-signature" in reading.flags
    assert reading.pages[0].marks


def test_a_form_that_only_adobe_reader_draws_is_not_read_as_please_wait(corpus):
    outcome = read(corpus / "ocrmypdf__livecycle.pdf")
    assert outcome.code == "DYNAMIC_XFA_FORM"


@pytest.mark.slow
async def test_a_form_that_never_ends_is_given_ten_seconds_and_read_without(corpus):
    async with Reader(LIMITS) as reader:
        reading = await reader.read(corpus / "qpdf__shared-unnamed-field.pdf", "0" * 64)
    assert [page.error for page in reading.pages] == [""]
    assert reading.flags == {"unread-form"}


def test_a_form_that_xfa_only_describes_again_is_read(corpus):
    reading = read(corpus / "nci-ocr__pdf_xfa_form.pdf")
    assert "Conference Registration" in reading.text
    assert reading.flags == {"xfa", "javascript"}


def test_a_real_scan_upside_down_is_turned(corpus):
    page = read(corpus / "test__phototest-rotated-180.png").pages[0]
    assert page.rotation == 180
    assert "This is a lot of 12 point text" in page.text


def test_a_real_scan_is_read_nearly_word_for_word(corpus):
    truth = (corpus / "gt" / "ocrmypdf__linn.png.txt").read_text().split()
    found = read(corpus / "ocrmypdf__linn.png").text.split()
    assert len(set(truth) & set(found)) / len(set(truth)) > 0.9


def test_a_real_document_that_asks_for_a_password_is_encrypted(corpus):
    assert read(corpus / "pdf.js__encrypted-attachment.pdf") == Unreadable("ENCRYPTED_DOCUMENT")
