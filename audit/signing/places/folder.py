"""Anchors checkpoints in a file, `ANCHOR_DIR/checkpoints.log`, with an empty line before each.

Lines are only added to the file. It counts as independent on another file system than the
installation and under another owner, for example on a server that lets this installation only
append.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.files import durable
from audit.signing.places.port import AnchoredNote, AnchorError, AnchorProof
from audit.signing.signed_note import SIGNED_BY

CHECKPOINTS_FILE = "checkpoints.log"

# A note that a power cut left incomplete does not match, and does not hide the next one. A
# signature line has a name and 68 bytes in base64.
_SIGNATURE = rf"{SIGNED_BY}\S+ [A-Za-z0-9+/]{{91}}=\n"
_NOTE = re.compile(
    rf"^[^\n]+\n(?P<size>[0-9]+)\n[A-Za-z0-9+/]+=*\n\n(?:{_SIGNATURE})+", re.MULTILINE
)


class FolderAnchor:
    """Keeps a copy of each checkpoint in a file. The folder should be on another machine."""

    name = "file"
    label = gettext_lazy("anchor folder")
    keeps_notes = True
    wants_all = True

    def __init__(self, folder: Path, installation: Sequence[Path] = ()) -> None:
        """`installation` has the paths of database, key and archive, to compare owners with."""
        self._file = folder / CHECKPOINTS_FILE
        self._installation = installation

    @classmethod
    def from_settings(cls) -> Self:
        """Return the anchor in ANCHOR_DIR."""
        # Paths whose owner could rewrite the ledger: data, archive, key and database.
        own = [settings.DATA_DIR, settings.ARCHIVE_DIR, settings.AUDIT_KEY_FILE]
        if connection.vendor == "sqlite":
            own.append(connection.settings_dict["NAME"])
        return cls(Path(settings.ANCHOR_DIR), [Path(path) for path in own])

    @staticmethod
    def check_settings() -> Iterator[CheckMessage]:
        """Yield an error if ANCHOR_DIR exists and is not a folder."""
        folder = Path(settings.ANCHOR_DIR)
        if folder.exists() and not folder.is_dir():
            yield Error(f"ANCHOR_DIR={folder} is not a folder.", id="audit.E012")

    @property
    def address(self) -> str:
        """Return the path of the file with the checkpoints."""
        return str(self._file)

    def put(self, origin: str, size: int, note: str) -> AnchorProof:
        """Append the checkpoint to the file durably. Raises AnchorError if it cannot be written."""
        try:
            durable.append_durably(self._file, f"\n{note}")
        except OSError as error:
            message = _("{file} cannot be written: {reason}.")
            raise AnchorError(message.format(file=self._file, reason=error.strerror)) from error
        return AnchorProof(str(self._file))

    def read_back(self, after: int) -> Iterator[AnchoredNote]:
        """Yield the checkpoints in the file with more than `after` entries.

        A file that does not exist contains none. Raises AnchorError if it cannot be read.
        """
        try:
            text = self._file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        except OSError as error:
            message = _("{file} cannot be read: {reason}.")
            raise AnchorError(message.format(file=self._file, reason=error.strerror)) from error
        for found in _NOTE.finditer(text):
            if int(found["size"]) > after:
                yield AnchoredNote(str(self._file), found[0])

    def weakness(self) -> str:
        """Return why the folder is not independent of this installation, in a sentence, or ""."""
        try:
            return self._shared_with_the_installation()
        except OSError as error:
            sentence = _("{file} cannot be examined: {reason}.")
            return sentence.format(file=self._file, reason=error.strerror)

    def _shared_with_the_installation(self) -> str:
        own = [(path, _nearest(path).stat()) for path in self._installation]
        anchor = [_nearest(path).stat() for path in (self._file, self._file.parent)]
        for path, status in own:
            if status.st_dev in {each.st_dev for each in anchor}:
                sentence = _("{file} is on the same file system as {path}.")
                return sentence.format(file=self._file, path=path)
        owners = {os.geteuid(), *(status.st_uid for _path, status in own)}
        if owners & {each.st_uid for each in anchor}:
            sentence = _("{file} is owned by the same user as this installation.")
            return sentence.format(file=self._file)
        if os.geteuid() == 0:
            sentence = _("{file} can be changed by root, and this process runs as root.")
            return sentence.format(file=self._file)
        return ""


def _nearest(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    return next(each for each in (path, *path.absolute().parents) if each.exists())
