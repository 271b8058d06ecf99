"""Writes the bytes of one download to disk: hashed, counted, and kept if the download stops early.

There are three files in the folder of the lease, which are deleted with it: `<document>.part` while
the download runs (a small file is written at once), `<document>` when it is complete, and
`<document>.json` with what the next request has to know.

The methods run in a thread. The lock makes a cleanup wait for a write whose caller was cancelled.
"""

import hashlib
import json
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

from ingestion.core.errors import BodyTruncated, ChecksumDiffers, ChecksumMismatch
from ingestion.reading.pdf.file_type import HEADER_WINDOW_BYTES
from ingestion.sources.http.digests import ClaimedDigest

READ_BLOCK_BYTES = 1 << 18  # read at a time when kept bytes are hashed again


@dataclass(frozen=True, slots=True)
class ResumeState:
    """Holds what a response stated about the whole file, and how the last download ended."""

    etag: str = ""  # a strong one, or "": without it, bytes of two versions could be mixed
    total: int | None = None  # bytes of the whole file
    claim: ClaimedDigest | None = None
    differed: bool = False  # a complete file did not have the announced digest

    def as_json(self) -> str:
        """Return the state as it is stored beside the partial file."""
        claim = self.claim.as_dict() if self.claim else None
        return json.dumps(
            {"etag": self.etag, "total": self.total, "claim": claim, "differed": self.differed}
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the state that `as_json` stored."""
        values: dict[str, Any] = json.loads(text)
        if values["claim"]:
            values["claim"] = ClaimedDigest.from_dict(values["claim"])
        return cls(**values)


class PartialFile:
    """A file that is being downloaded. One fetch owns it; each method may raise OSError."""

    def __init__(self, folder: Path, document: int) -> None:
        self._complete_path = folder / f"{document}"
        self._state_path = folder / f"{document}.json"
        self._path = folder / f"{document}.part"
        self._lock = threading.Lock()  # guards the file, its digests and its size
        self._file: BinaryIO | None = None
        self._is_first_request = True  # no earlier request left files
        self.state = ResumeState()
        self.size = 0  # bytes on disk

    @classmethod
    def load(cls, folder: Path, document: int) -> Self:
        """Return the file with the bytes of an earlier request, if they can be continued."""
        part = cls(folder, document)
        part._is_first_request = False
        if part._state_path.exists():
            part.state = ResumeState.from_json(part._state_path.read_text())
            if part.state.etag and part._path.exists():
                part.size = part._path.stat().st_size
        return part

    def begin(self, state: ResumeState, offset: int) -> None:
        """Prepare for the body of a response. `offset` is 0 or the current `size`."""
        self.state = replace(state, differed=self.state.differed)
        self.size = offset

    def write(self, block: bytes) -> None:
        """Append a block. Blocks of several threads are written one after the other."""
        with self._lock:
            self._append(block)

    def finish(self, rest: bytes) -> tuple[Path, str, int]:
        """Write the last bytes. Return the path of the complete file, its SHA-256 and its size.

        Raises BodyTruncated if bytes are missing. If the digest is not the announced one, raises
        ChecksumDiffers the first time and ChecksumMismatch the second time.
        """
        with self._lock:
            if self._is_first_request and self._file is None:
                self._path = self._complete_path  # It is written at once: no request continues it.
            self._append(rest)
            self._close()
        if self.state.total not in {None, self.size}:
            self._path.unlink()
            raise BodyTruncated(f"{self.size} of {self.state.total} bytes were received")
        sha256 = self._sha256.hexdigest()
        self._check_digest(sha256)
        if self._path != self._complete_path:
            self._state_path.unlink(missing_ok=True)
            self._path.replace(self._complete_path)
        return self._complete_path, sha256, self.size

    def interrupt(self, rest: bytes) -> None:
        """Keep the bytes of an incomplete response, if the next request can continue them."""
        with self._lock:
            # The beginning of the file is checked once, so it has to be complete.
            if not self.state.etag or self.size + len(rest) < HEADER_WINDOW_BYTES:
                self._delete()
                return
            self._append(rest)
            self._close()
        self._state_path.write_text(self.state.as_json())

    def drop(self) -> None:
        """Delete the bytes. The fact that a complete file had another digest is kept."""
        with self._lock:
            self._delete()

    def _delete(self) -> None:
        self._close()
        self._path.unlink(missing_ok=True)
        if self.state.differed:
            self._state_path.write_text(ResumeState(differed=True).as_json())
        else:
            self._state_path.unlink(missing_ok=True)

    def _append(self, block: bytes) -> None:
        file = self._file or self._open()
        file.write(block)
        for digest in self._digests:
            digest.update(block)
        self.size += len(block)

    def _open(self) -> BinaryIO:
        """Open the file at `size`. Kept bytes are hashed again, so the hash is that of the disk."""
        self._sha256 = hashlib.sha256()
        self._digests = [self._sha256]
        if self.state.claim and self.state.claim.algorithm != "sha256":
            self._digests.append(hashlib.new(self.state.claim.algorithm))
        if not self.size:
            self._file = self._path.open("wb")
            return self._file
        self._file, left = self._path.open("r+b"), self.size
        while left and (block := self._file.read(min(left, READ_BLOCK_BYTES))):
            for digest in self._digests:
                digest.update(block)
            left -= len(block)
        self._file.truncate()
        return self._file

    def _close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _check_digest(self, sha256: str) -> None:
        claim = self.state.claim
        found = self._digests[-1].hexdigest()
        if claim is None or claim.digest == found:
            return
        self._path.unlink()
        facts = {"expected": claim.digest, "found": found, "sha256": sha256}
        if self.state.differed:
            raise ChecksumMismatch(**facts)
        self._state_path.write_text(ResumeState(differed=True).as_json())
        raise ChecksumDiffers(**facts)
