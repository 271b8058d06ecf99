"""Stores the archive and the uploads of the spool in S3, for several hosts, with django-storages.

The archive's objects have the same names as files of the folder, `ab/cd/abcd…`, so that either can
be copied into the other. An object is only put if it does not exist (`If-None-Match`), with its
SHA-256, which the server verifies, and with a lock of ARCHIVE_S3_YEARS, which `object_locks` can
extend. A lock protects a version: a person who may write can add another version or a delete
marker, which `verify_archive` finds, but nobody can remove the locked version.

Errors of S3 are raised as OSError, like errors of a disk.
"""

import base64
import logging
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, cast

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

from audit.files import durable
from ingestion.core.errors import StorageUnavailable
from ingestion.storage.archive import ObjectLock, StoredFile, verify_file

logger = logging.getLogger(__name__)

MAX_BYTES_IN_MEMORY = 1_000_000  # of an object; a larger one is read into a temporary file
# Of a request, because S3 answers 409 to one of two that put the same name at once.
MAX_ATTEMPTS = 3
COPY_BYTES = 1 << 20  # copied at a time
NOT_FOUND, CONFLICT, PRECONDITION_FAILED = 404, 409, 412  # HTTP statuses


class S3Bucket:
    """A bucket. `location` is a prefix of all names, or ""."""

    def __init__(
        self, *, bucket_name: str, location: str, endpoint_url: str, timeout_seconds: float
    ) -> None:
        self.name = bucket_name
        self._folder = f"{location.strip('/')}/" if location else ""
        self._storage = S3Storage(
            bucket_name=bucket_name,
            location=location,
            endpoint_url=endpoint_url or None,
            max_memory_size=MAX_BYTES_IN_MEMORY,
            # The defaults of `client_config` in django-storages, with timeouts.
            client_config=Config(
                connect_timeout=timeout_seconds,
                read_timeout=timeout_seconds,
                retries={"total_max_attempts": MAX_ATTEMPTS, "mode": "standard"},
            ),
        )

    @property
    def client(self) -> Any:
        """Return the client of this thread, which django-storages keeps."""
        return self._storage.connection.meta.client

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Translate errors of S3: FileNotFoundError if the object does not exist, else OSError."""
        try:
            yield
        except ClientError as error:
            kind = FileNotFoundError if _status(error) == NOT_FOUND else OSError
            raise kind(f"the bucket {self.name}: {error}") from error
        except BotoCoreError as error:
            raise OSError(f"the bucket {self.name}: {error}") from error

    def _key(self, name: str) -> str:
        return f"{self._folder}{name}"

    def _put_new(self, name: str, path: Path, sha256: str, **lock: Any) -> bool:
        """Put an object. Returns False if one with this name exists. Raises OSError."""
        for is_last in (False,) * (MAX_ATTEMPTS - 1) + (True,):
            try:
                with self.translate_errors(), path.open("rb") as content:
                    self.client.put_object(
                        Bucket=self.name,
                        Key=self._key(name),
                        Body=content,
                        ContentType="application/octet-stream",
                        ChecksumAlgorithm="SHA256",
                        ChecksumSHA256=_checksum(sha256),
                        IfNoneMatch="*",
                        **lock,
                    )
            except OSError as error:
                status = _status(error.__cause__)
                if status == PRECONDITION_FAILED:
                    return False
                if status != CONFLICT or is_last:
                    raise
            else:
                return True
        raise AssertionError("unreachable")

    def _read(self, name: str) -> IO[bytes]:
        with self.translate_errors():
            file = self._storage.open(name)
            file.open()  # Fetch all bytes now, so that an error is raised before any is used.
        return cast("IO[bytes]", file)


class BucketArchive(S3Bucket):
    """The archive in S3 (STORAGES["archive"]). Objects are locked for `years` of 366 days."""

    def __init__(self, *, years: int, mode: str, **bucket: Any) -> None:
        super().__init__(**bucket)
        self.years, self.mode = years, mode

    def put(self, path: Path, sha256: str) -> None:
        """Store a local file as a locked object, durably. Raises StorageUnavailable.

        The lock lasts `years` from now. Storing the same bytes again changes nothing.
        """
        until = datetime.now(UTC).replace(microsecond=0) + timedelta(days=366 * self.years)
        try:
            is_new = self._put_new(
                _name(sha256),
                path,
                sha256,
                ObjectLockMode=self.mode,
                ObjectLockRetainUntilDate=until,
            )
            if not is_new:
                self._verify_existing(path, sha256)
        except OSError as error:
            raise StorageUnavailable(f"the archive refused {sha256}: {error}") from error

    def _verify_existing(self, path: Path, sha256: str) -> None:
        """Raise OSError unless the object that exists can be used instead of the file."""
        verify_file(path, sha256)  # S3 verifies only what it stores.
        if self._head(sha256)["ContentLength"] != path.stat().st_size:
            raise OSError("the object has other bytes; run `manage.py verify_archive`")

    def open(self, sha256: str) -> IO[bytes]:
        """Open an object for reading.

        Raises FileNotFoundError if it does not exist, else OSError.
        """
        return self._read(_name(sha256))

    def has(self, sha256: str) -> bool:
        """Return whether the object exists. Raises OSError if the bucket does not respond."""
        with self.translate_errors():
            return bool(self._storage.exists(_name(sha256)))

    def is_empty(self) -> bool:
        """Return whether the bucket has no objects of the archive. Raises OSError."""
        with self.translate_errors():
            found = self.client.list_objects_v2(Bucket=self.name, Prefix=self._key(""), MaxKeys=1)
        return not found.get("Contents")

    def contents(self, part: str) -> Iterator[StoredFile]:
        """Yield the objects whose hash begins with these two digits. Locked objects are sealed.

        Each object costs one more request. Raises OSError.
        """
        pages = self.client.get_paginator("list_objects_v2")
        with self.translate_errors():
            for page in pages.paginate(Bucket=self.name, Prefix=self._key(f"{part}/")):
                for each in page.get("Contents", ()):
                    name = each["Key"].rpartition("/")[2]
                    lock = _lock_of(self._head(name))
                    is_locked = lock.until is not None and lock.until > datetime.now(UTC)
                    yield StoredFile(name, is_sealed=bool(lock.is_held) or is_locked, lock=lock)

    def apply_lock(self, sha256: str, wanted: ObjectLock, *, dry_run: bool = False) -> bool:
        """Give an object the wanted lock, and never a shorter one. Returns False if it has it.

        In compliance mode, nobody can undo that. Raises FileNotFoundError if the object does not
        exist. Raises OSError if S3 refuses, if the newest version has other bytes, which would be
        locked permanently, or if S3 does not report the new lock afterwards.
        """
        head = self._head(sha256)
        lock = _lock_of(head)
        if not lock.falls_short_of(wanted):
            return False
        if head.get("ChecksumSHA256") != _checksum(sha256):
            raise OSError(
                f"{sha256} has other bytes than it should; run `manage.py verify_archive`"
            )
        if not dry_run:
            # Lock the version that was examined, even if another one is added meanwhile.
            key = self._key(_name(sha256))
            version = {"Bucket": self.name, "Key": key, "VersionId": head["VersionId"]}
            self._change_lock(head, version, wanted)
            if _lock_of(self._head(sha256)).falls_short_of(wanted):
                raise OSError(f"the bucket {self.name} does not report the new lock of {sha256}")
        return True

    def _change_lock(self, head: Any, version: Mapping[str, str], wanted: ObjectLock) -> None:
        lock = _lock_of(head)
        with self.translate_errors():
            if lock.is_shorter_than(wanted):
                # The mode stays, because a change of the mode needs another permission.
                mode = head.get("ObjectLockMode", self.mode)
                terms = {"Mode": mode, "RetainUntilDate": wanted.until}
                self.client.put_object_retention(**version, Retention=terms)
            if lock.is_held_unlike(wanted):
                status = {"Status": "ON" if wanted.is_held else "OFF"}
                self.client.put_object_legal_hold(**version, LegalHold=status)

    def _head(self, sha256: str) -> Any:
        key = self._key(_name(sha256))
        with self.translate_errors():
            return self.client.head_object(Bucket=self.name, Key=key, ChecksumMode="ENABLED")


class BucketSpool(S3Bucket):
    """The spool in S3 (STORAGES["spool"]). Its bucket has no locks, because objects are deleted."""

    def store(self, key: str, chunks: Iterable[bytes]) -> durable.FileDigest:
        """Store an upload by a temporary local file. Returns its SHA-256 and size in bytes."""
        with tempfile.NamedTemporaryFile(prefix="siteledger-upload-") as local:
            written = durable.write_chunks(local, chunks)
            local.flush()
            self._put_new(key, Path(local.name), written.sha256)
        return written

    def copy(self, key: str, other: str) -> None:
        """Store the same bytes under another key, within the bucket. Raises OSError."""
        source = {"Bucket": self.name, "Key": self._key(key)}
        with self.translate_errors():
            self.client.copy_object(Bucket=self.name, Key=self._key(other), CopySource=source)

    def open_local(self, key: str, folder: Path) -> Path:
        """Copy the bytes to a file in the folder, and return its path. Raises OSError."""
        path = folder / f"{Path(key).name}.upload"
        with self._read(key) as content, path.open("wb") as out:
            shutil.copyfileobj(content, out, COPY_BYTES)
        return path

    def drop(self, key: str) -> None:
        """Delete an object. A failure is logged, and `prune` deletes the object later."""
        try:
            with self.translate_errors():
                self._storage.delete(key)
        except OSError as error:
            logger.warning("%s stays in the spool until `prune`: %s", key, error)

    def list_before(self, moment: datetime) -> Iterator[str]:
        """Yield the keys of the objects that were stored before this time. Raises OSError."""
        pages = self.client.get_paginator("list_objects_v2")
        with self.translate_errors():
            for page in pages.paginate(Bucket=self.name, Prefix=self._key("uploads/")):
                for each in page.get("Contents", ()):
                    if each["LastModified"] < moment:
                        yield f"uploads/{each['Key'].rpartition('/')[2]}"


def _name(sha256: str) -> str:
    return f"{sha256[:2]}/{sha256[2:4]}/{sha256}"


def _checksum(sha256: str) -> str:
    """Return a SHA-256 as S3 writes it."""
    return base64.b64encode(bytes.fromhex(sha256)).decode()


def _lock_of(head: Any) -> ObjectLock:
    """Return the lock in the response to HeadObject."""
    is_held = head.get("ObjectLockLegalHoldStatus") == "ON"
    return ObjectLock(head.get("ObjectLockRetainUntilDate"), is_held)


def _status(error: BaseException | None) -> int:
    """Return the HTTP status of an error of S3, or 0."""
    if not isinstance(error, ClientError):
        return 0
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
