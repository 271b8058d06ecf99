import pytest

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.pdf.file_type import detect_media_type
from ingestion.reading.results import MediaType, Unreadable
from tests.ingestion.reading.documents import LIMITS, make_docx, make_pdf, save


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"%PDF-1.7\n", MediaType.PDF),
        (b"\r\nForwarded by a gateway\r\n%PDF-1.4\n", MediaType.PDF),
        (b"\xff\xd8\xff\xe0", MediaType.JPEG),
        (b"\x89PNG\r\n\x1a\n", MediaType.PNG),
        (b"II*\x00", MediaType.TIFF),
        (b"MM\x00*", MediaType.TIFF),
    ],
)
def test_a_file_is_known_by_its_first_bytes(tmp_path, head, media_type):
    assert detect_media_type(save(tmp_path, head), LIMITS) is media_type


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (make_docx(), "a Word document"),
        (b"PK\x03\x04 broken", "a ZIP archive"),
        (b"\n<!DOCTYPE html><p>404</p>", "a web page"),
        (b"<html>it begins with %PDF-1.4</html>", "a web page"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an old Office document"),
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
