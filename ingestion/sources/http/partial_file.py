"""The bytes of one document on the disk: hashed, counted, and kept when the portal breaks off.

Three files in the folder of the lease, and gone with it: `<document>.part` while it comes (a small
one comes whole), `<document>` when it is whole, and `<document>.json` with what a next try has to
know. Runs in a thread; the lock lets whoever cleans up wait for a write that its caller no longer
waits for.
"""

import hashlib
import json
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

from ingestion.core.errors import BodyTruncated, ChecksumDiffers, ChecksumMismatch
from ingestion.reading.pdf.file_type import LOOKED_AT
from ingestion.sources.http.digests import ClaimedDigest


@dataclass(frozen=True, slots=True)
class ResumeState:
    """What an answer said about the whole file, and what became of the last try."""

    etag: str = ""  # a strong one, or none: without it, bytes of two versions could be mixed
    total: int | None = None  # bytes of the whole file
    claim: ClaimedDigest | None = None
    differed: bool = False  # a whole file came that was not what was announced

    def as_json(self) -> str:
        claim = self.claim.as_dict() if self.claim else None
        return json.dumps(
            {"etag": self.etag, "total": self.total, "claim": claim, "differed": self.differed}
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        values: dict[str, Any] = json.loads(text)
        if values["claim"]:
            values["claim"] = ClaimedDigest.from_dict(values["claim"])
        return cls(**values)


class PartialFile:
    """Owned by one fetch at a time. Every method may raise OSError."""

    def __init__(self, folder: Path, document: int) -> None:
        self._whole, self._memo = folder / f"{document}", folder / f"{document}.json"
        self._path = folder / f"{document}.part"
        self._lock = threading.Lock()  # guards the file and what is counted
        self._file: BinaryIO | None = None
        self._is_first = True  # no earlier try left anything
        self.kept = ResumeState()
        self.size = 0  # bytes that are on the disk for good

    @classmethod
    def load(cls, folder: Path, document: int) -> Self:
        """With what an earlier try left, if it can be gone on with."""
        part = cls(folder, document)
        part._is_first = False
        if part._memo.exists():
            part.kept = ResumeState.from_json(part._memo.read_text())
            if part.kept.etag and part._path.exists():
                part.size = part._path.stat().st_size
        return part

    def begin(self, kept: ResumeState, offset: int) -> None:
        """What comes now goes to `offset`, which is zero or what `size` says."""
        self.kept = replace(kept, differed=self.kept.differed)
        self.size = offset

    def write(self, block: bytes) -> None:
        with self._lock:
            self._append(block)

    def finish(self, rest: bytes) -> tuple[Path, str, int]:
        """Where the whole file is, its SHA-256 and size.

        Raises BodyTruncated; ChecksumDiffers the first time and ChecksumMismatch the second.
        """
        with self._lock:
            if self._is_first and self._file is None:
                self._path = self._whole  # it came in one piece: nobody will ever go on with it
            self._append(rest)
            self._close()
        if self.kept.total not in {None, self.size}:
            self._path.unlink()
            raise BodyTruncated(f"{self.size} of {self.kept.total} bytes came")
        sha256 = self._sha256.hexdigest()
        self._compare(sha256)
        if self._path != self._whole:
            self._memo.unlink(missing_ok=True)
            self._path.replace(self._whole)
        return self._whole, sha256, self.size

    def interrupt(self, rest: bytes) -> None:
        """The portal broke off. Keep what came, if a next try can go on from there."""
        with self._lock:
            if not self.kept.etag or self.size + len(rest) < LOOKED_AT:  # not yet looked at
                self._drop()
                return
            self._append(rest)
            self._close()
        self._memo.write_text(self.kept.as_json())

    def drop(self) -> None:
        """Nothing of it is wanted. That a whole file differed is not forgotten."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        self._close()
        self._path.unlink(missing_ok=True)
        if self.kept.differed:
            self._memo.write_text(ResumeState(differed=True).as_json())
        else:
            self._memo.unlink(missing_ok=True)

    def _append(self, block: bytes) -> None:
        file = self._file or self._open()
        file.write(block)
        for digest in self._digests:
            digest.update(block)
        self.size += len(block)

    def _open(self) -> BinaryIO:
        """At `size`; what is there already is hashed again, so that the hash is the disk's."""
        self._sha256 = hashlib.sha256()
        self._digests = [self._sha256]
        if self.kept.claim and self.kept.claim.algorithm != "sha256":
            self._digests.append(hashlib.new(self.kept.claim.algorithm))
        if not self.size:
            self._file = self._path.open("wb")
            return self._file
        self._file, left = self._path.open("r+b"), self.size
        while left and (block := self._file.read(min(left, 1 << 18))):
            for digest in self._digests:
                digest.update(block)
            left -= len(block)
        self._file.truncate()
        return self._file

    def _close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _compare(self, sha256: str) -> None:
        claim = self.kept.claim
        found = self._digests[-1].hexdigest()
        if claim is None or claim.digest == found:
            return
        self._path.unlink()
        facts = {"expected": claim.digest, "found": found, "sha256": sha256}
        if self.kept.differed:
            raise ChecksumMismatch(**facts)
        self._memo.write_text(ResumeState(differed=True).as_json())
        raise ChecksumDiffers(**facts)
