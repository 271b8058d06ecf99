"""Writes the entries of a container to files, within the limits of the container."""

import hashlib
import unicodedata
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final

from PIL import Image

from audit.translation import gettext_noop as _
from ingestion.core.container_entries import ContainerEntry, EntryUse

MAX_ENTRIES: Final = 200  # of one container
# Uncompressed bytes of all entries: so many times the size of the container, within these bounds.
# Documents and pictures are compressed already, so that an honest container stays far below.
MAX_EXPANSION: Final = 20
MIN_LIMIT_BYTES: Final = 10_000_000
MAX_LIMIT_BYTES: Final = 200_000_000
MAX_NAME_CHARACTERS: Final = 255
# Files that operating systems and mail programs add, by name or by the beginning of the path.
SYSTEM_NAMES: Final = frozenset(
    {
        ".ds_store", "thumbs.db", "desktop.ini", "smime.p7s", "signature.asc", "pgp.asc",
        "encryption.asc",
    }
)  # fmt: skip
SYSTEM_FOLDERS: Final = ("__macosx/",)
SYSTEM_SUFFIXES: Final = frozenset({".ics", ".vcf", ".lnk"})
# Pixels of the shorter side of a picture. No page is legible below the first number, even at
# 100 dpi; a page of a small photo may be below the second one, so that a person looks at it.
MAX_LOGO_PIXELS: Final = 300
MAX_DOUBTFUL_PIXELS: Final = 700


class ContainerRefused(Exception):
    """The container is not opened. The message is a phrase for the sentence of the finding."""


class ContainerEncrypted(Exception):
    """The container, or a file in it, can be opened with a password or a key only."""


class EntryWriter:
    """Writes entries to numbered files in a folder, and counts them and their bytes.

    Raises ContainerRefused if a limit is exceeded.
    """

    def __init__(self, folder: Path, container_bytes: int) -> None:
        self._folder = folder
        self._limit = min(MAX_LIMIT_BYTES, max(MIN_LIMIT_BYTES, MAX_EXPANSION * container_bytes))
        self._written = 0
        self.entries: list[ContainerEntry] = []

    def add(
        self,
        name: str,
        chunks: Iterable[bytes],
        *,
        is_in_text: bool = False,
        use: EntryUse | None = None,
        is_doubtful: bool = False,
        tool: str = "",
    ) -> ContainerEntry:
        """Write an entry to a file of its own. `is_in_text` means: a picture in a message's text.

        Without `use`, the rules decide whether the entry is set aside.
        """
        if len(self.entries) >= MAX_ENTRIES:
            raise ContainerRefused(_("it contains too many files"))
        number = len(self.entries) + 1
        path, digest, size = self._folder / f"{number:04d}", hashlib.sha256(), 0
        with path.open("xb") as out:
            for chunk in chunks:
                size += len(chunk)
                self._written += len(chunk)
                if self._written > self._limit:
                    raise ContainerRefused(_("its files are too large when they are unpacked"))
                digest.update(chunk)
                out.write(chunk)
        if use is None:
            use, by_rule = _judge(name, path, size, is_in_text=is_in_text)
            is_doubtful = is_doubtful or by_rule
        entry = ContainerEntry(
            number=number,
            name=clean_name(name) or f"file {number}",
            sha256=digest.hexdigest(),
            size=size,
            path=path,
            use=use,
            is_doubtful=is_doubtful and use is None,
            tool=tool,
        )
        self.entries.append(entry)
        return entry


def clean_name(name: str) -> str:
    """Return a name in normal form, without control characters, and not too long."""
    printable = "".join(c if unicodedata.category(c)[0] != "C" else "_" for c in name)
    return unicodedata.normalize("NFC", printable).strip()[-MAX_NAME_CHARACTERS:]


def _judge(name: str, path: Path, size: int, *, is_in_text: bool) -> tuple[EntryUse | None, bool]:
    """Return why an entry is set aside, if it is, and whether a person has to decide about it."""
    if size == 0:
        return EntryUse.EMPTY, False
    lowered = name.replace("\\", "/").casefold()
    base = PurePosixPath(lowered).name
    if (
        base in SYSTEM_NAMES
        or base.startswith("._")
        or lowered.startswith(SYSTEM_FOLDERS)
        or PurePosixPath(base).suffix in SYSTEM_SUFFIXES
    ):
        return EntryUse.SYSTEM_FILE, False
    shorter = _measure_picture(path)
    if shorter is None:
        return None, False
    if is_in_text and shorter <= MAX_LOGO_PIXELS:
        return EntryUse.SMALL_PICTURE, False
    return None, shorter <= (MAX_DOUBTFUL_PIXELS if is_in_text else MAX_LOGO_PIXELS)


def _measure_picture(path: Path) -> int | None:
    """Return the pixels of the shorter side, or None if it is no picture. Decodes no pixels."""
    try:
        with Image.open(path) as image:
            return min(image.size)
    except Exception:  # noqa: BLE001 - Pillow raises many classes for hostile files
        return None
