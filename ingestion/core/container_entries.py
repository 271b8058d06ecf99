"""Defines the entries of a container: the files in an email message, a ZIP archive or a portfolio.

The container is the archived record. Each entry becomes a document, or is set aside for a stated
reason, so that the account of a container is complete as that of the pages of a divided file is
(`core.file_parts`).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from ingestion.core.file_parts import Division

ENTRY_MARK = "!"  # before the number of an entry, in its doc_id


class EntryUse(StrEnum):
    """Says why an entry of a container belongs to no document."""

    EMPTY = "empty"  #: The entry has no bytes, or the message has no text.
    SYSTEM_FILE = "system_file"  #: An operating system or a mail program added it.
    SMALL_PICTURE = "small_picture"  #: A picture in the text of a message, such as a logo.
    COVERING_NOTE = "covering_note"  #: The short text of a message with attachments.


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEntry:
    """An entry of a container. Its bytes are in the local file `path` until they are archived."""

    number: int  # from 1
    name: str  # its path in the container
    sha256: str
    size: int  # bytes
    path: Path
    use: EntryUse | None = None  # None: it becomes a document
    is_doubtful: bool = False  # a person decides whether it is a document
    tool: str = ""  # of an entry that was rendered, as the text of a message: what rendered it

    def as_json(self) -> dict[str, Any]:
        """Return the entry as the ledger records it. The keys must not change."""
        facts: dict[str, Any] = {
            "entry": self.number,
            "name": self.name,
            "sha256": self.sha256,
            "size": self.size,
        }
        return facts | ({"use": str(self.use)} if self.use else {})


@dataclass(frozen=True, slots=True)
class OpenedContainer:
    """The entries of a container, and the account of its own pages, if it has any.

    `folder` has the files of the entries; who archived them removes it.
    """

    media_type: str
    entries: tuple[ContainerEntry, ...]
    folder: Path
    pages: Division | None = None  # of a portfolio
    page_count: int = 0  # pages of a portfolio

    @property
    def documents(self) -> list[ContainerEntry]:
        """Return the entries that become documents."""
        return [entry for entry in self.entries if entry.use is None]

    @property
    def excluded(self) -> list[ContainerEntry]:
        """Return the entries that are set aside."""
        return [entry for entry in self.entries if entry.use is not None]


def find_entry_faults(count: int, numbers: Collection[int] | Iterable[int]) -> list[int]:
    """Return the numbers of entries, from 1 to `count`, that are not counted exactly once.

    A number that is not in this range is a fault too.
    """
    counted = list(numbers)
    wanted = range(1, count + 1)
    wrong = {number for number in wanted if counted.count(number) != 1}
    return sorted(wrong | {number for number in counted if number not in wanted})
