"""Opens ZIP archives as packets, and refuses those that are made to mislead or to do harm."""

import stat
import unicodedata
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from audit.translation import gettext_noop as _
from ingestion.reading.containers.entry_writer import (
    MAX_ENTRIES,
    ContainerEncrypted,
    ContainerRefused,
    EntryWriter,
)

MAX_MEMBERS = 5 * MAX_ENTRIES  # with folders
CHUNK_BYTES = 1 << 16
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}
_LOCAL_HEADER_BYTES = 30  # without name and extra field (APPNOTE.TXT, 4.3.7)


def write_entries(path: Path, writer: EntryWriter) -> None:
    """Write the files of an archive.

    Raises ContainerRefused, ContainerEncrypted, and the errors of zipfile and of damaged data.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            raise ContainerRefused(_("it contains too many files"))
        if any(member.flag_bits & 1 for member in members):
            raise ContainerEncrypted
        _check_names(members)
        _check_overlap(members, archive.start_dir)
        for member in members:
            if member.is_dir():
                continue
            if member.compress_type not in _METHODS:
                raise ContainerRefused(_("it is compressed in a way that we cannot read"))
            writer.add(member.filename, _read(archive, member))


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the bytes of a member. It may not have more than it declares."""
    left = member.file_size
    with archive.open(member) as content:
        while chunk := content.read(CHUNK_BYTES):
            left -= len(chunk)
            if left < 0:
                raise ContainerRefused(_("a file in it is larger than it says"))
            yield chunk


def _check_names(members: list[zipfile.ZipInfo]) -> None:
    """Raise ContainerRefused for names that lead elsewhere, and for two members with one name."""
    seen = set()
    for member in members:
        name = member.orig_filename.replace("\\", "/")
        parts = PurePosixPath(name).parts
        leads_elsewhere = name.startswith("/") or ".." in parts or ":" in (parts or ("",))[0]
        if leads_elsewhere or "\0" in name or not name.strip("/"):
            raise ContainerRefused(_("a name in it leads out of the archive"))
        mode = member.external_attr >> 16
        if mode and stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
            raise ContainerRefused(_("it contains links or devices"))
        same = unicodedata.normalize("NFC", name).casefold().rstrip("/")
        if same in seen:
            raise ContainerRefused(_("two files in it have the same name"))
        seen.add(same)


def _check_overlap(members: list[zipfile.ZipInfo], end: int) -> None:
    """Raise ContainerRefused if two members share bytes of the archive.

    A member has at least its header, its name and its compressed bytes. The extra field, whose
    length only the header in the file has, is left out.
    """
    ordered = sorted(members, key=lambda member: member.header_offset)
    starts = [*(member.header_offset for member in ordered), end]
    for member, following in zip(ordered, starts[1:], strict=True):
        name = len(member.orig_filename.encode("utf-8" if member.flag_bits & 0x800 else "cp437"))
        if member.header_offset + _LOCAL_HEADER_BYTES + name + member.compress_size > following:
            raise ContainerRefused(_("files in it overlap"))
