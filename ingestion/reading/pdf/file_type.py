"""Detects a file's type from its first bytes. File names and HTTP headers are ignored."""

import math
import re
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
    b"{\\rtf": MediaType.RTF,
}
UNSUPPORTED_TYPES = {
    b"\xd0\xcf\x11\xe0": _("an old Office document"),
    b"GIF8": _("a GIF image"),
    b"BM": _("a BMP image"),
    b"RIFF": _("a recording"),
    b"MZ": _("a Windows program"),
    b"\x7fELF": _("a program"),
    b"\x1f\x8b": _("a gzip archive"),
    b"7z\xbc\xaf": _("a 7-Zip archive"),
    b"Rar!": _("a RAR archive"),
    b"%!PS": _("a PostScript file"),
}
# Shorter ones may be the beginning of a line that was inserted before a PDF.
_LONG_MAGIC = tuple(magic for magic in UNSUPPORTED_TYPES if len(magic) >= 4)
COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Names of streams in compound files: of a message of Outlook ([MS-OXMSG], 2.4), and of an encrypted
# document ([MS-OFFCRYPTO], 2.3).
_MESSAGE_STREAM = "__properties_version1.0".encode("utf-16-le")
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
MESSAGE_FIELDS = frozenset(
    {
        b"from", b"date", b"subject", b"message-id", b"received", b"return-path", b"mime-version",
        b"delivered-to", b"sender", b"reply-to", b"dkim-signature", b"x-mozilla-status",
    }
)  # fmt: skip
# Types of ZIP archives, by the start of the name of a member.
ZIP_TYPES = {
    "xl/": _("an Excel workbook"),
    "ppt/": _("a PowerPoint presentation"),
    "mimetype": _("an OpenDocument file"),
}
# Types without pages of their own.
INDIRECT_TYPES = {
    MediaType.DOCX: _("a Word document"),
    MediaType.ODT: _("an OpenDocument file"),
    MediaType.RTF: _("a rich text document"),
    MediaType.ZIP: _("a ZIP archive"),
    MediaType.EML: _("an email message"),
    MediaType.MSG: _("an email message"),
}
# Brands of HEIF files (ISO/IEC 23008-12) that pi-heif decodes: HEVC images, and their collections.
HEIF_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
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
    media_type = match_media_type(head) or _detect_package_type(head, path)
    if media_type is None and _is_encrypted_package(head, path):
        return Unreadable("ENCRYPTED_DOCUMENT")
    if media_type is None:
        return Unreadable("UNSUPPORTED_TYPE", {"found": _describe_type(head, path)})
    if media_type.is_office and not limits.office_program:
        return Unreadable("UNSUPPORTED_TYPE", {"found": name_media_type(media_type)})
    return media_type


def name_media_type(media_type: MediaType) -> str:
    """Return a type without pages of its own in words, for the sentence of a finding."""
    return INDIRECT_TYPES[media_type]


def match_media_type(head: bytes) -> MediaType | None:
    """Return the supported type of a file that begins with `head`, or None."""
    for magic, media_type in SUPPORTED_TYPES.items():
        if head.startswith(magic):
            return media_type
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return MediaType.WEBP
    if _is_heif(head):
        return MediaType.HEIC
    # Some portals and mail gateways insert a line or two before the header.
    return MediaType.PDF if b"%PDF-" in head and not _begins_as_another(head) else None


def _begins_as_another(head: bytes) -> bool:
    """Return whether a file that has the first line of a PDF near its beginning is another file.

    A web page may quote it, and archives and messages contain whole PDFs.
    """
    archives = (b"PK\x03\x04", b"PK\x05\x06", COMPOUND_FILE, *_LONG_MAGIC)
    return head.startswith(archives) or is_web_page(head) or is_message(head)


def _detect_package_type(head: bytes, path: Path) -> MediaType | None:
    """Return the type of a document or message that is a package, or None.

    A package is a ZIP archive or a compound file of Microsoft. The names of its members tell the
    type.
    """
    if head.startswith(COMPOUND_FILE):
        return MediaType.MSG if _MESSAGE_STREAM in path.read_bytes() else None
    if not head.startswith(b"PK"):
        return MediaType.EML if is_message(head) else None
    try:
        with zipfile.ZipFile(path) as package:
            names = package.namelist()
            if "[Content_Types].xml" in names and "word/document.xml" in names:
                return MediaType.DOCX
            if names and names[0] == "mimetype" and package.getinfo("mimetype").file_size < 100:
                is_text = package.read("mimetype").startswith(MediaType.ODT.encode())
                return MediaType.ODT if is_text else None
            is_office = any(name.startswith(tuple(ZIP_TYPES)) for name in names)
            return None if is_office or not names else MediaType.ZIP
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
        return None


def _is_encrypted_package(head: bytes, path: Path) -> bool:
    """Return whether a file is a document of Office with a password."""
    return head.startswith(COMPOUND_FILE) and _ENCRYPTED_STREAM in path.read_bytes()


def is_message(head: bytes) -> bool:
    """Return whether a file that begins with `head` is an email message (RFC 5322, section 2.2).

    The first lines of a message are fields, among them at least two that only messages have.
    """
    lines = head.lstrip(b"\xef\xbb\xbf").splitlines()
    if lines and lines[0].startswith(b"From "):  # the first line of a mailbox file
        lines = lines[1:]
    names: set[bytes] = set()
    for line in lines:
        if not line.strip():
            break
        if line[:1] in b" \t" and names:
            continue  # of the field before
        field = re.match(rb"([!-9;-~]+)[ \t]*:", line)
        if field is None:
            # The last line of the window may be cut off.
            return len(names & MESSAGE_FIELDS) > 1 and line is lines[-1]
        names.add(field[1].lower())
    return len(names & MESSAGE_FIELDS) > 1


def _is_heif(head: bytes) -> bool:
    """Return whether a file begins with the box of a HEIF file whose images pi-heif decodes.

    The image of an AVIF file, which may name the general brand too, has another codec.
    """
    if head[4:8] != b"ftyp":
        return False
    length = int.from_bytes(head[:4], "big")
    brands = {head[at : at + 4] for at in (8, *range(16, min(length, len(head)), 4))}
    return head[8:12] in HEIF_BRANDS and not brands & {b"avif", b"avis"}


def is_web_page(head: bytes) -> bool:
    """Return whether a file that begins with `head` is an HTML page."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(WEB_PAGE_STARTS)


def _describe_type(head: bytes, path: Path) -> str:
    """Return the type of an unsupported file in words, for the sentence of the finding."""
    if head.startswith(b"PK"):
        return _describe_zip(path)
    if is_web_page(head):
        return _("a web page")
    if head[4:8] == b"ftyp":
        return _("an AVIF image or a film")
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
