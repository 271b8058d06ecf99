"""Detects a file's type from its first bytes. File names and HTTP headers are ignored."""

import math
import zipfile
from pathlib import Path

from audit.translation import gettext_noop as _
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.results import MediaType, Unreadable

# Readers accept %PDF- anywhere in the first 1024 bytes (ISO 32000-1, annex H).
HEADER_WINDOW_BYTES = 1024

SUPPORTED_TYPES = {
    b"%PDF-": MediaType.PDF,
    b"\xff\xd8\xff": MediaType.JPEG,
    b"\x89PNG\r\n\x1a\n": MediaType.PNG,
    b"II*\x00": MediaType.TIFF,
    b"MM\x00*": MediaType.TIFF,
}
UNSUPPORTED_TYPES = {
    b"\xd0\xcf\x11\xe0": _("an old Office document"),
    b"{\\rtf": _("a rich text document"),
    b"GIF8": _("a GIF image"),
    b"BM": _("a BMP image"),
    b"RIFF": _("a WebP image or a recording"),
    b"MZ": _("a Windows program"),
    b"\x7fELF": _("a program"),
    b"\x1f\x8b": _("a gzip archive"),
    b"7z\xbc\xaf": _("a 7-Zip archive"),
    b"Rar!": _("a RAR archive"),
    b"%!PS": _("a PostScript file"),
}
# Types of ZIP archives, by the start of the name of a member.
ZIP_TYPES = {
    "word/": _("a Word document"),
    "xl/": _("an Excel workbook"),
    "ppt/": _("a PowerPoint presentation"),
    "mimetype": _("an OpenDocument file"),
}
WEB_PAGE_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body")


def detect_media_type(path: Path, limits: ReadingLimits) -> MediaType | Unreadable:
    """Return the type of a file, or why it cannot be read: by its size or its type."""
    size = path.stat().st_size
    if size == 0:
        return Unreadable("EMPTY_FILE")
    if size > limits.max_bytes:
        megabytes = {"size_mb": math.ceil(size / 1e6), "limit_mb": int(limits.max_bytes / 1e6)}
        return Unreadable("FILE_TOO_LARGE", megabytes)
    with path.open("rb") as file:
        head = file.read(HEADER_WINDOW_BYTES)
    media_type = match_media_type(head)
    return media_type or Unreadable("UNSUPPORTED_TYPE", {"found": _describe_type(head, path)})


def match_media_type(head: bytes) -> MediaType | None:
    """Return the supported type of a file that begins with `head`, or None."""
    for magic, media_type in SUPPORTED_TYPES.items():
        if head.startswith(magic):
            return media_type
    # Some portals and mail gateways insert a line or two before the header. A web page that
    # quotes the first line of a PDF is still a web page.
    return MediaType.PDF if b"%PDF-" in head and not is_web_page(head) else None


def is_web_page(head: bytes) -> bool:
    """Return whether a file that begins with `head` is an HTML page."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(WEB_PAGE_STARTS)


def _describe_type(head: bytes, path: Path) -> str:
    """Return the type of an unsupported file in words, for the sentence of the finding."""
    if head.startswith(b"PK"):
        return _describe_zip(path)
    if is_web_page(head):
        return _("a web page")
    for magic, name in UNSUPPORTED_TYPES.items():
        if head.startswith(magic):
            return name
    is_text = all(byte >= 32 or byte in b"\t\r\n\f" for byte in head)
    return _("a text file") if is_text else _("a file of an unknown kind")


def _describe_zip(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return _("a ZIP archive")
    for start, description in ZIP_TYPES.items():
        if any(name.startswith(start) for name in names):
            return description
    return _("a ZIP archive")
