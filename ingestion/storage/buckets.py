"""The archive and the spool's uploads in S3, through django-storages: for more hosts than one.

The archive's objects lie under the names of the folder, `ab/cd/abcd…`, so that either can be copied
into the other. Each is put only where nothing lies (`If-None-Match`), with its SHA-256 for the
server to compare, and locked for ARCHIVE_S3_YEARS; `locks` lengthens that. Locked are
versions: whoever may write can still lay another version or a delete marker on top, which
`verify_archive` finds, and nobody can remove what is below.

What S3 does not do is an OSError here, as a disk's refusal is.
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

MAX_BYTES_IN_MEMORY = (
    1_000_000  # bytes of an object; what is larger is read by way of a temporary file
)
MAX_ATTEMPTS = 3  # with the first; 409 is answered to one of two who put the same name at once
MAX_COPY_BYTES = 5 * 1024**3  # bytes; S3 takes no more in one request (PutObject)


class S3Bucket:
    """What both have in common. `location` is the folder of all names, or ""."""

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
            # The defaults of `client_config` in django-storages, with an end to all waiting.
            client_config=Config(
                connect_timeout=timeout_seconds,
                read_timeout=timeout_seconds,
                retries={"total_max_attempts": MAX_ATTEMPTS, "mode": "standard"},
            ),
        )

    @property
    def client(self) -> Any:
        """One for each thread, as django-storages has it."""
        return self._storage.connection.meta.client

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Raises FileNotFoundError for what is not there, OSError for everything else."""
        try:
            yield
        except ClientError as error:
            kind = FileNotFoundError if _status(error) == 404 else OSError
            raise kind(f"the bucket {self.name}: {error}") from error
        except BotoCoreError as error:
            raise OSError(f"the bucket {self.name}: {error}") from error

    def _key(self, name: str) -> str:
        return f"{self._folder}{name}"

    def _put_new(self, name: str, path: Path, sha256: str, **lock: Any) -> bool:
        """False: something lies there already. Raises OSError."""
        for last in (False,) * (MAX_ATTEMPTS - 1) + (True,):
            try:
                with self.asked(), path.open("rb") as content:
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
                if status == 412:
                    return False
                if status != 409 or last:
                    raise
            else:
                return True
        raise AssertionError("unreachable")

    def _read(self, name: str) -> IO[bytes]:
        with self.asked():
            file = self._storage.open(name)
            file.open()  # fetched here and now: what fails fails before anybody reads half of it
        return cast("IO[bytes]", file)


class BucketArchive(S3Bucket):
    """`archive.Archive`, as STORAGES["archive"]. `years` of 366 days, from the put."""

    def __init__(self, *, years: int, mode: str, **bucket: Any) -> None:
        super().__init__(**bucket)
        self.years, self.mode = years, mode

    def put(self, path: Path, sha256: str) -> None:
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
                self._refuse_another(path, sha256)
        except OSError as error:
            raise StorageUnavailable(f"the archive refused {sha256}: {error}") from error

    def _refuse_another(self, path: Path, sha256: str) -> None:
        """What lies there is what we were about to put; a stranger's bytes are not built on."""
        verify_file(path, sha256)  # S3 compares what it takes, and takes nothing here
        there = self._head(sha256)
        if there["ContentLength"] != path.stat().st_size:
            raise OSError("other bytes lie there; run `manage.py verify_archive`")

    def open(self, sha256: str) -> IO[bytes]:
        return self._read(_name(sha256))

    def has(self, sha256: str) -> bool:
        with self.asked():
            return bool(self._storage.exists(_name(sha256)))

    def is_empty(self) -> bool:
        with self.asked():
            found = self.client.list_objects_v2(Bucket=self.name, Prefix=self._key(""), MaxKeys=1)
        return not found.get("Contents")

    def contents(self, part: str) -> Iterator[StoredFile]:
        pages = self.client.get_paginator("list_objects_v2")
        with self.asked():
            for page in pages.paginate(Bucket=self.name, Prefix=self._key(f"{part}/")):
                for each in page.get("Contents", ()):
                    name = each["Key"].rpartition("/")[2]
                    lock = _lock_of(self._head(name))
                    yield StoredFile(name, is_sealed=_is_sealed(lock), lock=lock)

    def keep(self, sha256: str, wanted: ObjectLock, *, dry_run: bool = False) -> bool:
        """Lock it for as long as is wanted, and never for less than it is. False: it is already.

        In compliance mode nobody can take that back. Raises FileNotFoundError, and OSError: also
        where other bytes lie on top, which we would lock for good, and where S3 does not say
        afterwards that it is so.
        """
        there = self._head(sha256)
        lock = _lock_of(there)
        if not lock.falls_short_of(wanted):
            return False
        if there.get("ChecksumSHA256") != _checksum(sha256):
            raise OSError(f"{sha256} is not what we put there; run `manage.py verify_archive`")
        if not dry_run:
            self._lock(there, self._version(sha256, there), wanted)
            if _lock_of(self._head(sha256)).falls_short_of(wanted):
                raise OSError(f"the bucket {self.name}: {sha256} was locked and does not show it")
        return True

    def _lock(self, there: Any, version: Mapping[str, str], wanted: ObjectLock) -> None:
        lock = _lock_of(there)
        with self.asked():
            if lock.is_shorter_than(wanted):
                # In the mode that it has: neither is changed into the other without a right to.
                mode = there.get("ObjectLockMode", self.mode)
                terms = {"Mode": mode, "RetainUntilDate": wanted.until}
                self.client.put_object_retention(**version, Retention=terms)
            if lock.is_held_unlike(wanted):
                status = {"Status": "ON" if wanted.is_held else "OFF"}
                self.client.put_object_legal_hold(**version, LegalHold=status)

    def _version(self, sha256: str, there: Any) -> Mapping[str, str]:
        """The one that was looked at, whatever is laid on top meanwhile."""
        key = self._key(_name(sha256))
        return {"Bucket": self.name, "Key": key, "VersionId": there["VersionId"]}

    def _head(self, sha256: str) -> Any:
        key = self._key(_name(sha256))
        with self.asked():
            return self.client.head_object(Bucket=self.name, Key=key, ChecksumMode="ENABLED")


class BucketSpool(S3Bucket):
    """`spool.Spool`, as STORAGES["spool"]. Its bucket locks nothing: it is emptied."""

    def keep(self, key: str, chunks: Iterable[bytes]) -> durable.FileDigest:
        with tempfile.NamedTemporaryFile(prefix="siteledger-upload-") as local:
            written = durable.write_chunks(local, chunks)
            local.flush()
            self._put_new(key, Path(local.name), written.sha256)
        return written

    def copy(self, key: str, other: str) -> None:
        source = {"Bucket": self.name, "Key": self._key(key)}
        with self.asked():
            self.client.copy_object(Bucket=self.name, Key=self._key(other), CopySource=source)

    def local(self, key: str, folder: Path) -> Path:
        path = folder / f"{Path(key).name}.upload"
        with self._read(key) as content, path.open("wb") as out:
            shutil.copyfileobj(content, out, 1 << 20)
        return path

    def drop(self, key: str) -> None:
        try:
            with self.asked():
                self._storage.delete(key)
        except OSError as error:
            logger.warning("%s stays in the spool until `prune`: %s", key, error)

    def before(self, moment: datetime) -> Iterator[str]:
        pages = self.client.get_paginator("list_objects_v2")
        with self.asked():
            for page in pages.paginate(Bucket=self.name, Prefix=self._key("uploads/")):
                for each in page.get("Contents", ()):
                    if each["LastModified"] < moment:
                        yield f"uploads/{each['Key'].rpartition('/')[2]}"


def _name(sha256: str) -> str:
    return f"{sha256[:2]}/{sha256[2:4]}/{sha256}"


def _checksum(sha256: str) -> str:
    """As S3 writes it."""
    return base64.b64encode(bytes.fromhex(sha256)).decode()


def _lock_of(there: Any) -> ObjectLock:
    is_held = there.get("ObjectLockLegalHoldStatus") == "ON"
    return ObjectLock(there.get("ObjectLockRetainUntilDate"), is_held)


def _is_sealed(lock: ObjectLock) -> bool:
    return bool(lock.is_held) or (lock.until is not None and lock.until > datetime.now(UTC))


def _status(error: BaseException | None) -> int:
    if not isinstance(error, ClientError):
        return 0
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
