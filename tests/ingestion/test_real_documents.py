"""Real documents that the repository contains are read as the generated samples are.

These tests make the claims of `reading/test_corpus.py` and `rules/test_real_corpus.py` about
documents that everybody has. The larger set in `../shared/corpus` adds forms of clinical trials.
"""

from pathlib import Path

import pikepdf
import pytest

from ingestion.reading.results import TextSource, Unreadable
from ingestion.rules.classification.classify import classify
from tests.ingestion.reading.documents import read
from tests.ingestion.reading.test_corpus import fill_in
from tests.ingestion.rules.pages import checked, codes

DOCUMENTS = Path(__file__).parents[1] / "documents"
FORM, SCAN, ENCRYPTED = (
    DOCUMENTS / name for name in ("form_dd0293.pdf", "congress-gray.pdf", "graph-encrypted.pdf")
)


@pytest.fixture(scope="module")
def scan():
    return read(SCAN)


@pytest.mark.parametrize("appearances", [True, False], ids=["drawn", "to be drawn"])
def test_the_values_of_a_real_form_are_read(tmp_path, appearances):
    path = tmp_path / "form.pdf"
    values = fill_in(FORM, path, appearances=appearances)
    reading = read(path)
    assert len(values) == 7
    assert values.items() <= reading.fields.items()
    assert all(value in reading.text for value in values.values())
    assert reading.pages[0].source is TextSource.FORM


def test_a_real_form_with_xfa_is_read_and_flagged():
    reading = read(FORM)
    assert "APPLICATION FOR THE REVIEW OF DISCHARGE" in reading.text
    assert reading.flags == {"xfa", "javascript"}
    assert len(reading.pages) == 4
    assert classify(reading).slug == ""
    assert "PHI_SUSPECTED" not in codes(checked(reading))


@pytest.mark.slow
def test_a_real_scan_without_text_is_read_by_ocr_and_has_no_type(scan):
    (page,) = scan.pages
    assert page.source is TextSource.OCR
    assert {"PRESIDENT", "UNITED", "consular", "courts"} <= set(page.text.split())
    assert classify(scan).slug == ""


@pytest.mark.slow
def test_a_real_scan_that_is_upside_down_is_rotated(scan, tmp_path):
    path = tmp_path / "turned.pdf"
    with pikepdf.open(SCAN) as pdf:
        pdf.pages[0].rotate(180, relative=True)
        pdf.save(path)
    (page,) = read(path).pages
    assert page.rotation == 180
    words, upright = set(page.text.split()), set(scan.pages[0].text.split())
    assert len(words & upright) > 0.9 * len(upright)


def test_a_real_document_with_a_password_is_reported_as_encrypted():
    assert read(ENCRYPTED) == Unreadable("ENCRYPTED_DOCUMENT")


def test_the_readme_names_every_document():
    files = {path.name for path in DOCUMENTS.iterdir()} - {"README.md"}
    readme = (DOCUMENTS / "README.md").read_text()
    assert [name for name in files if f"| `{name}` |" not in readme] == []
    assert sum((DOCUMENTS / name).stat().st_size for name in files) < 3_000_000
