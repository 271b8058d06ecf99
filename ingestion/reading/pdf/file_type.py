"""What kind of file this is, by its first bytes alone; names and headers are not believed."""

import math
import zipfile
from pathlib import Path

from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import MediaType, Unreadable

HEADER_WINDOW_BYTES = (
    1024  # bytes; readers accept %PDF- anywhere in the first 1024 (ISO 32000-1, annex H)
)

ACCEPTED = {
    b"%PDF-": MediaType.PDF,
    b"\xff\xd8\xff": MediaType.JPEG,
    b"\x89PNG\r\n\x1a\n": MediaType.PNG,
    b"II*\x00": MediaType.TIFF,
    b"MM\x00*": MediaType.TIFF,
}
KNOWN = {
    b"\xd0\xcf\x11\xe0": "an old Office document",
    b"{\\rtf": "a rich text document",
    b"GIF8": "a GIF picture",
    b"BM": "a BMP picture",
    b"RIFF": "a WebP picture or a recording",
    b"MZ": "a Windows program",
    b"\x7fELF": "a program",
    b"\x1f\x8b": "a gzip archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"Rar!": "a RAR archive",
    b"%!PS": "a PostScript file",
}
IN_ARCHIVES = {
    "word/": "a Word document",
    "xl/": "an Excel workbook",
    "ppt/": "a PowerPoint presentation",
    "mimetype": "an OpenDocument file",
}
WEB_PAGE = (b"<!doctype html", b"<html", b"<head", b"<body")


def detect_media_type(path: Path, limits: ReadingLimits) -> MediaType | Unreadable:
    size = path.stat().st_size
    if size == 0:
        return Unreadable("EMPTY_FILE")
    if size > limits.max_bytes:
        megabytes = {"size_mb": math.ceil(size / 1e6), "limit_mb": int(limits.max_bytes / 1e6)}
        return Unreadable("FILE_TOO_LARGE", megabytes)
    with path.open("rb") as file:
        head = file.read(HEADER_WINDOW_BYTES)
    return match_media_type(head) or Unreadable("UNSUPPORTED_TYPE", {"found": _found(head, path)})


def match_media_type(head: bytes) -> MediaType | None:
    for magic, media_type in ACCEPTED.items():
        if head.startswith(magic):
            return media_type
    # Some portals and mail gateways put a line or two before the header. A web
    # page that shows a PDF's first line is still a web page.
    return MediaType.PDF if b"%PDF-" in head and not is_web_page(head) else None


def _found(head: bytes, path: Path) -> str:
    if head.startswith(b"PK"):
        return _in_archive(path)
    if is_web_page(head):
        return "a web page"
    for magic, name in KNOWN.items():
        if head.startswith(magic):
            return name
    return "a text file" if _is_text(head) else "a file of an unknown kind"


def is_web_page(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(WEB_PAGE)


def _is_text(head: bytes) -> bool:
    return all(byte >= 32 or byte in b"\t\r\n\f" for byte in head)


def _in_archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return "a ZIP archive"
    for start, found in IN_ARCHIVES.items():
        if any(name.startswith(start) for name in names):
            return found
    return "a ZIP archive"
