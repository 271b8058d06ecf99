import io
import zipfile

import pytest

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.pdf.file_type import detect_media_type
from ingestion.reading.results import MediaType, Unreadable
from tests.ingestion.reading.documents import LIMITS, make_docx, make_pdf, save

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def make_zip(name, content="application/vnd.oasis.opendocument.spreadsheet"):
    """Return a ZIP archive with one member, which is not compressed."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        archive.writestr(name, content)
    return output.getvalue()


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"%PDF-1.7\n", MediaType.PDF),
        (b"\r\nForwarded by a gateway\r\n%PDF-1.4\n", MediaType.PDF),
        (b"\xff\xd8\xff\xe0", MediaType.JPEG),
        (b"\x89PNG\r\n\x1a\n", MediaType.PNG),
        (b"II*\x00", MediaType.TIFF),
        (b"MM\x00*", MediaType.TIFF),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", MediaType.WEBP),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", MediaType.HEIC),
        (b"\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heic", MediaType.HEIC),
        (b"{\\rtf1\\ansi text}", MediaType.RTF),
        (make_docx(), MediaType.DOCX),
        (make_zip("irb.pdf"), MediaType.ZIP),
        (make_zip("irb.pdf", make_pdf()), MediaType.ZIP),
        (b"From: a@b.example\nDate: Thu, 26 Nov 2026 10:00:00 +0000\n\n%PDF-1.4\n", MediaType.EML),
        (b"Content-Type: application/pdf\r\n\r\n%PDF-1.4\n", MediaType.PDF),
        (b"From: a@b.example\r\nDate: Thu, 26 Nov 2026 10:00:00 +0000\r\n\r\nHello", MediaType.EML),
        (b"Received: from a\r\n by b\r\nMessage-ID: <1@b>\r\nX: " + b"y" * 2000, MediaType.EML),
        (COMPOUND + "__properties_version1.0".encode("utf-16-le"), MediaType.MSG),
    ],
)
def test_a_file_is_known_by_its_first_bytes(tmp_path, head, media_type):
    assert detect_media_type(save(tmp_path, head), LIMITS) is media_type


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (make_zip("xl/workbook.xml"), "an Excel workbook"),
        (make_zip("mimetype"), "an OpenDocument file"),
        (b"PK\x03\x04 broken", "a ZIP archive"),
        (b"PK\x03\x04 broken, with %PDF-1.4", "a ZIP archive"),
        (b"7z\xbc\xaf\x27\x1c with %PDF-1.4", "a 7-Zip archive"),
        (b"\n<!DOCTYPE html><p>404</p>", "a web page"),
        (b"<html>it begins with %PDF-1.4</html>", "a web page"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an old Office document"),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", "a recording"),
        (b"\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1avif", "an AVIF image or a film"),
        (b"Dear site,\n", "a text file"),
        (b"\x00\x01\x02\x03", "a file of an unknown kind"),
    ],
)
def test_an_unsupported_type_is_named(tmp_path, content, found):
    assert detect_media_type(save(tmp_path, content), LIMITS) == Unreadable(
        "UNSUPPORTED_TYPE", {"found": found}
    )


def test_an_empty_file_is_reported_as_empty(tmp_path):
    assert detect_media_type(save(tmp_path, b""), LIMITS) == Unreadable("EMPTY_FILE")


def test_a_file_over_the_limit_is_reported_with_its_size(tmp_path):
    limits = ReadingLimits(max_bytes=1_000_000)
    path = save(tmp_path, make_pdf() + b" " * 1_500_000)
    assert detect_media_type(path, limits) == Unreadable(
        "FILE_TOO_LARGE", {"size_mb": 2, "limit_mb": 1}
    )


def test_an_encrypted_document_of_a_word_processor_is_reported_as_encrypted(tmp_path):
    path = save(tmp_path, COMPOUND + "EncryptedPackage".encode("utf-16-le"))
    assert detect_media_type(path, LIMITS) == Unreadable("ENCRYPTED_DOCUMENT")


def test_an_installation_may_refuse_documents_of_word_processors(tmp_path):
    limits = ReadingLimits(office_program="")
    assert detect_media_type(save(tmp_path, make_docx()), limits) == Unreadable(
        "UNSUPPORTED_TYPE", {"found": "a Word document"}
    )


def test_a_list_of_captions_is_no_message(tmp_path):
    path = save(tmp_path, b"Protocol: SLX-301\nSite: 1001\nSubject: approval\n\nText")
    assert detect_media_type(path, LIMITS) == Unreadable(
        "UNSUPPORTED_TYPE", {"found": "a text file"}
    )
