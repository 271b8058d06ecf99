"""Receives a file in several requests, which may be interrupted (resumable uploads).

An upload belongs to a person's draft (`drafts`) or to a program's open packet (`open_packets`). Its
state is a row of the database, and its bytes are objects of the spool. So every web host can
continue an upload that another one began, if the spool is shared (S3) or a common folder.

The bytes of a request are durable in the spool before its row is committed. A server that is killed
between the two leaves bytes that no row names: the client sends them again, and `manage.py prune`
removes the first ones. If two clients continue the same upload, the lock of its row orders them:
the second one receives OffsetConflict with the new offset, and its bytes are dropped.
"""

import base64
import hashlib
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.db import IntegrityError, transaction
from django.utils import timezone

from ingestion.core.errors import StorageUnavailable
from ingestion.intake import quotas
from ingestion.models import Draft, OpenPacket, ReceivedPart, Upload
from ingestion.storage import spool
from ingestion.storage.spool import SpooledFile

CHECKSUM_ALGORITHMS = ("sha1", "sha256")  # tus 1.0 requires the first one


class UploadError(Exception):
    """An upload was not begun, continued or finished. The subclass says why."""


class UploadNotFound(UploadError):
    """There is no such upload. It may have been terminated or submitted, or have expired."""


class UploadIncomplete(UploadError):
    """Not all bytes of the upload have been received."""


class OffsetConflict(UploadError):
    """A part does not begin at byte `received`, where the parts before it end."""

    def __init__(self, received: int) -> None:
        super().__init__(f"{received} bytes have been received")
        self.received = received


class PartTooLong(UploadError):
    """A part is longer than the missing rest of its file, and was dropped."""


class PartChecksumMismatch(UploadError):
    """A part does not have the checksum that was sent with it, and was dropped."""


class DigestMismatch(UploadError):
    """The file is not the declared one. Its bytes were dropped, and the upload starts at 0."""


@dataclass(slots=True)
class PartChecksum:
    """Compares one part with its checksum (tus: `Upload-Checksum`) while it is received."""

    algorithm: str
    expected: bytes
    _hash: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._hash = hashlib.new(self.algorithm, usedforsecurity=False)

    @classmethod
    def parse(cls, header: str) -> "PartChecksum":
        """Parse `sha1 <base64>`. Raises ValueError for other algorithms or forms."""
        algorithm, _, digest = header.partition(" ")
        if algorithm not in CHECKSUM_ALGORITHMS:
            raise ValueError(f"the algorithm is none of {', '.join(CHECKSUM_ALGORITHMS)}")
        return cls(algorithm, base64.b64decode(digest, validate=True))

    def update_from(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the chunks unchanged, and include them in the checksum."""
        for chunk in chunks:
            self._hash.update(chunk)
            yield chunk

    @property
    def matches(self) -> bool:
        """Return whether the bytes received so far have the checksum."""
        return bool(self._hash.digest() == self.expected)


def create_upload(  # noqa: PLR0913 - the columns of its row; callers name each
    holder: Draft | OpenPacket,
    *,
    filename: str,
    length: int,
    sha256: str = "",
    number: int | None = None,
    metadata: str = "",
    key: uuid.UUID | None = None,
) -> Upload:
    """Create an upload of `length` bytes.

    `sha256` is that of the whole file, or "" if it is not known. `number` is that of the file in an
    open packet. The caller checks the quotas before. Raises IntegrityError if the file of the open
    packet already has an upload.
    """
    return Upload.objects.create(
        id=key or uuid.uuid4(),
        draft=holder if isinstance(holder, Draft) else None,
        packet=holder if isinstance(holder, OpenPacket) else None,
        number=number,
        filename=filename[:255],
        length=length,
        sha256=sha256,
        metadata=metadata,
    )


def check_not_expired(upload: Upload) -> None:
    """Raise UploadNotFound if its draft or open packet has expired."""
    if upload.holder.expires_at < timezone.now():
        raise UploadNotFound


def append_part(
    upload: Upload, offset: int, chunks: Iterable[bytes], *, checksum: PartChecksum | None = None
) -> Upload:
    """Store a part that begins at byte `offset`. Returns the upload after it.

    A part may have any length. If the connection breaks, the received bytes are kept, so `chunks`
    has to end there and not to raise. The last part finishes the file (`finish_upload`).

    Raises OffsetConflict, PartTooLong, PartChecksumMismatch, DigestMismatch, UploadNotFound,
    SpoolFull and OSError.
    """
    _check_offset(upload, offset)
    missing = upload.length - offset
    quotas.check_free_space(missing)
    limited = _limit_bytes(missing, chunks)
    stored = spool.store_upload(checksum.update_from(limited) if checksum else limited)
    if checksum and not checksum.matches:
        spool.drop_upload(stored.key)
        raise PartChecksumMismatch
    row = upload
    if not stored.size:
        spool.drop_upload(stored.key)
    else:
        row = _record_part(upload, offset, stored)
    return finish_upload(row) if row.offset == row.length else row


def receive_whole_file(upload: Upload, chunks: Iterable[bytes]) -> Upload:
    """Store a whole file from one request, which replaces the parts that were received before.

    The upload changes only if all bytes are received, so an interrupted request never disturbs
    another one for the same file. Raises PartTooLong, DigestMismatch, UploadNotFound, SpoolFull and
    OSError.
    """
    quotas.check_free_space(upload.length)
    stored = spool.store_upload(_limit_bytes(upload.length, chunks))
    obsolete = {stored.key}
    try:
        if stored.size != upload.length or upload.sha256 not in {"", stored.sha256}:
            raise DigestMismatch
        with transaction.atomic():
            row = _lock_upload(upload)
            if not row.is_complete:
                obsolete = {part.spooled for part in row.parts.all()}
                row.parts.all().delete()
                row.offset, row.spooled, row.sha256 = row.length, stored.key, stored.sha256
                row.save(update_fields=["offset", "spooled", "sha256"])
    finally:
        for key in obsolete:
            spool.drop_upload(key)
    return row


def _check_offset(upload: Upload, offset: int) -> None:
    if upload.is_complete or offset != upload.offset:
        raise OffsetConflict(upload.offset)


def _record_part(upload: Upload, offset: int, stored: SpooledFile) -> Upload:
    """Add a part that is in the spool to the row of the upload. Drops its bytes if that fails."""
    try:
        with transaction.atomic():
            row = _lock_upload(upload)
            _check_offset(row, offset)
            row.parts.create(
                offset=offset, size=stored.size, sha256=stored.sha256, spooled=stored.key
            )
            row.offset += stored.size
            row.save(update_fields=["offset"])
    except (OffsetConflict, UploadNotFound, IntegrityError):
        # The transaction was certainly rolled back. After another error it may have been committed,
        # so the bytes stay. `prune` removes them if no row names them.
        spool.drop_upload(stored.key)
        raise
    return row


def finish_upload(upload: Upload) -> Upload:
    """Join the parts of an upload whose bytes are all received. It may be called again.

    If the server dies after the last part and before this, the next request for the file finishes
    it. Raises UploadIncomplete, DigestMismatch, UploadNotFound and StorageUnavailable.
    """
    if upload.is_complete:
        return upload
    if upload.offset < upload.length:
        raise UploadIncomplete
    parts = list(upload.parts.all())
    try:
        stored = _join_parts(parts)
    except StorageUnavailable:
        if (row := _get_current(upload)).is_complete:  # Another request has finished it meanwhile.
            return row
        raise
    with transaction.atomic():
        row = _lock_upload(upload)
        is_ours = not row.is_complete and list(row.parts.all()) == parts
        is_as_declared = row.sha256 in {"", stored.sha256}
        if is_ours:
            row.parts.all().delete()
            row.offset = row.length if is_as_declared else 0
            row.spooled = stored.key if is_as_declared else ""
            row.sha256 = stored.sha256 if is_as_declared else row.sha256
            row.save(update_fields=["offset", "spooled", "sha256"])
    dropped = {part.spooled for part in parts} if is_ours else set[str]()
    dropped |= {stored.key}
    for key in dropped - {part.spooled for part in row.parts.all()} - {row.spooled}:
        spool.drop_upload(key)
    if is_ours and not is_as_declared:
        raise DigestMismatch
    return row


def _join_parts(parts: list[ReceivedPart]) -> SpooledFile:
    """Return one object of the spool with the bytes of all parts.

    If there is one part, it is this object.
    """
    if len(parts) == 1:
        return SpooledFile(parts[0].spooled, parts[0].sha256, parts[0].size)
    with tempfile.TemporaryDirectory(prefix="siteledger-parts-") as folder:

        def read() -> Iterator[bytes]:
            for part in parts:
                with spool.open_local(part.spooled, Path(folder)).open("rb") as content:
                    yield from File(content).chunks()

        return spool.store_upload(read())


def get_spooled_file(upload: Upload) -> SpooledFile:
    """Return the file of a finished upload, for registration."""
    return SpooledFile(upload.spooled, upload.sha256, upload.length)


def terminate_upload(upload: Upload) -> None:
    """Delete an upload and its bytes. It may be called again."""
    with transaction.atomic():
        try:
            row = _lock_upload(upload)
        except UploadNotFound:
            return
        keys = [part.spooled for part in row.parts.all()] + [row.spooled]
        row.delete()
    for key in filter(None, keys):
        spool.drop_upload(key)


def _lock_upload(upload: Upload) -> Upload:
    """Lock the upload and its holder until the transaction ends, and postpone their expiry.

    The holder is locked first, as everywhere, so that two requests never wait for each other.
    Raises UploadNotFound.
    """
    if upload.draft_id:
        touched = Draft.objects.filter(pk=upload.draft_id).update(touched_at=timezone.now())
    elif upload.packet_id:
        touched = OpenPacket.objects.filter(pk=upload.packet_id).update(touched_at=timezone.now())
    else:
        raise UploadNotFound
    if not touched:
        raise UploadNotFound
    row = Upload.objects.select_for_update().filter(pk=upload.pk).first()
    if row is None:
        raise UploadNotFound
    return row


def _get_current(upload: Upload) -> Upload:
    """Return the row of an upload as it is now. Raises UploadNotFound."""
    row = Upload.objects.filter(pk=upload.pk).first()
    if row is None:
        raise UploadNotFound
    return row


def _limit_bytes(size: int, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks unchanged. Raises PartTooLong after `size` bytes."""
    for chunk in chunks:
        size -= len(chunk)
        if size < 0:
            raise PartTooLong
        yield chunk
