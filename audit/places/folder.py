"""A file that only grows: `ANCHOR_DIR/checkpoints.log`, an empty line before each note.

Worth as much as the folder is out of an attacker's reach: another disk, another host, `chattr +a`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from audit import folders
from audit.notes import SIGNED_BY
from audit.places.port import Held, NotTaken, Taken

NAME = "checkpoints.log"

# Half a note, as a power cut may leave it, matches nowhere and does not hide the next one: a
# signature line has a name, and 68 bytes in base64.
_SIGNATURE = rf"{SIGNED_BY}\S+ [A-Za-z0-9+/]{{91}}=\n"
_NOTE = re.compile(
    rf"^[^\n]+\n(?P<size>[0-9]+)\n[A-Za-z0-9+/]+=*\n\n(?:{_SIGNATURE})+", re.MULTILINE
)


class Folder:
    name = "file"
    wants_all = True

    def __init__(self, folder: Path) -> None:
        self._file = folder / NAME

    def put(self, origin: str, size: int, note: str) -> Taken:
        try:
            folders.append(self._file, f"\n{note}")
        except OSError as error:
            raise NotTaken(f"{self._file} cannot be written: {error.strerror}.") from error
        return Taken(str(self._file))

    def read_back(self, after: int) -> Iterator[Held]:
        try:
            text = self._file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        except OSError as error:
            raise NotTaken(f"{self._file} cannot be read: {error.strerror}.") from error
        for found in _NOTE.finditer(text):
            if int(found["size"]) > after:
                yield Held(str(self._file), found[0])
