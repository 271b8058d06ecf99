"""The archive and the spool's uploads in S3, through django-storages: for more hosts than one.

The archive's objects lie under the names of the folder, `ab/cd/abcd…`, so that either can be copied
into the other. Each is put only where nothing lies (`If-None-Match`), with its SHA-256 for the
server to compare, and locked for ARCHIVE_S3_YEARS. Locked are versions: whoever may write can still
lay another version or a delete marker on top, which `verify_archive` finds, and nobody can remove
what is below.

What S3 does not do is an OSError here, as a disk's refusal is.
"""

import base64
import hashlib
import logging
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, cast

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

from ingestion.archive import Stored, refuse_changed
from ingestion.core.errors import StorageUnavailable

logger = logging.getLogger(__name__)

IN_MEMORY = 1_000_000  # bytes of an object; what is larger is read by way of a temporary file
TRIES = 3  # with the first; 409 is answered to one of two who put the same name at once
LARGEST = 5 * 1024**3  # bytes; S3 takes no more in one request (PutObject)


class Bucket:
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
            max_memory_size=IN_MEMORY,
            # The defaults of `client_config` in django-storages, with an end to all waiting.
            client_config=Config(
                connect_timeout=timeout_seconds,
                read_timeout=timeout_seconds,
                retries={"total_max_attempts": TRIES, "mode": "standard"},
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
        digest = base64.b64encode(bytes.fromhex(sha256)).decode()
        for last in (False,) * (TRIES - 1) + (True,):
            try:
                with self.asked(), path.open("rb") as content:
                    self.client.put_object(
                        Bucket=self.name,
                        Key=self._key(name),
                        Body=content,
                        ContentType="application/octet-stream",
                        ChecksumAlgorithm="SHA256",
                        ChecksumSHA256=digest,
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


class BucketArchive(Bucket):
    """`ingestion.archive.Archive`, as STORAGES["archive"]. `years` of 366 days, from the put."""

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
        refuse_changed(path, sha256)  # S3 compares what it takes, and takes nothing here
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

    def contents(self, part: str) -> Iterator[Stored]:
        pages = self.client.get_paginator("list_objects_v2")
        with self.asked():
            for page in pages.paginate(Bucket=self.name, Prefix=self._key(f"{part}/")):
                for each in page.get("Contents", ()):
                    name = each["Key"].rpartition("/")[2]
                    yield Stored(name, is_sealed=_is_locked(self._head(name)))

    def _head(self, sha256: str) -> Any:
        with self.asked():
            return self.client.head_object(Bucket=self.name, Key=self._key(_name(sha256)))


class BucketSpool(Bucket):
    """`ingestion.spool.Spool`, as STORAGES["spool"]. Its bucket locks nothing: it is emptied."""

    def keep(self, key: str, chunks: Iterable[bytes]) -> tuple[str, int]:
        digest, size = hashlib.sha256(), 0
        with tempfile.NamedTemporaryFile(prefix="siteledger-upload-") as local:
            for chunk in chunks:
                local.write(chunk)
                digest.update(chunk)
                size += len(chunk)
            local.flush()
            self._put_new(key, Path(local.name), digest.hexdigest())
        return digest.hexdigest(), size

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


def _is_locked(there: Any) -> bool:
    until = there.get("ObjectLockRetainUntilDate")
    is_held = there.get("ObjectLockLegalHoldStatus") == "ON"
    return is_held or (until is not None and until > datetime.now(UTC))


def _status(error: BaseException | None) -> int:
    if not isinstance(error, ClientError):
        return 0
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
