"""Defines the measured stages of a document: wait, fetch, read, check and file.

Each stage is reported when it ends: wait, fetch and file by `core.ingest`, read and check by the
document reader. Traces and the log show how long each took.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from ingestion.core.ports import WorkItem


class DocumentStageName(StrEnum):
    """Lists the stages in their order."""

    WAIT = "wait"  #: For a slot of the portal, or for a fetcher.
    FETCH = "fetch"  #: One request to the portal, or opening an upload.
    READ = "read"  #: Reading the pages in parser processes, with the wait for a process.
    CHECK = "check"  #: Checking what was read against the rules.
    FILE = "file"  #: Writing the bytes into the archive, and state and entry into the database.


@dataclass(frozen=True, slots=True)
class DocumentStage:
    """A stage that has ended. Times are nanoseconds since 1970 by this host's clock."""

    name: DocumentStageName
    started_ns: int
    ended_ns: int
    code: str = ""  # of the failure that ended it

    @classmethod
    def ending_now(cls, name: DocumentStageName, started_ns: int, code: str = "") -> Self:
        """Return a stage that ends now."""
        return cls(name, started_ns, time.time_ns(), code)

    @property
    def ms(self) -> int:
        """Return the duration in milliseconds."""
        return (self.ended_ns - self.started_ns) // 1_000_000


#: Receives each stage of each document. It must not block and must not raise.
StageObserver = Callable[[WorkItem, DocumentStage], None]
