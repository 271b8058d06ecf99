"""S3 with Object Lock in compliance mode: until its date nobody deletes a version, root included.

One object a checkpoint, `ORIGIN/SIZE.checkpoint`. Locked are versions: whoever may write can still
put a newer version or a delete marker on top, so what is there is read version by version.

A bucket counts as independent unless its endpoint is this very machine. What that assumes is in
docs/operations.md: its account belongs to people who do not administer this installation.
"""

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from audit.signing.places.port import AnchoredNote, AnchorError, AnchorProof

SUFFIX = ".checkpoint"
MAX_NOTE_BYTES = 65_536  # bytes; a note has some hundreds


@dataclass(frozen=True)
class S3Anchor:
    bucket: str
    prefix: str
    endpoint: str  # "": Amazon's
    years: int
    timeout_seconds: float
    origin: str
    name = "s3"
    keeps_notes = True
    wants_all = False

    @property
    def address(self) -> str:
        root = f"{self.endpoint.rstrip('/')}/" if self.endpoint else "s3://"
        return f"{root}{self.bucket}/{self.prefix}".rstrip("/")

    def put(self, origin: str, size: int, note: str) -> AnchorProof:
        key = f"{self.prefix}{origin}/{size}{SUFFIX}"
        until = datetime.now(UTC).replace(microsecond=0) + timedelta(days=366 * self.years)
        try:
            version = self._new_version(key, note, until)
        except (BotoCoreError, ClientError) as error:
            raise AnchorError(f"{self._address(key)} was not taken: {error}.") from error
        return AnchorProof(self._address(key), version)

    def _new_version(self, key: str, note: str, until: datetime) -> str:
        try:
            answer = self._client.put_object(
                Bucket=self.bucket,
                Key=key,
                Body=note.encode(),
                ContentType="text/plain; charset=utf-8",
                ObjectLockMode="COMPLIANCE",
                ObjectLockRetainUntilDate=until,
                IfNoneMatch="*",  # never on top of what is there
            )
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != 412:
                raise
            return self._version_there(key, note)
        if not (version := answer.get("VersionId")):
            raise AnchorError(f"The bucket {self.bucket} keeps no versions, hence no Object Lock.")
        return str(version)

    def _version_there(self, key: str, note: str) -> str:
        """Of an object that somebody put before: we, who died before we could note it down."""
        there = self._client.get_object(Bucket=self.bucket, Key=key)
        if there["Body"].read(MAX_NOTE_BYTES).decode(errors="replace") != note:
            raise AnchorError(
                f"{self._address(key)} holds another checkpoint of this size: two ledgers have "
                "this name, or this one was rewritten. Run `manage.py verify_audit --full`."
            )
        if there.get("ObjectLockMode") != "COMPLIANCE":
            raise AnchorError(f"{self._address(key)} is there, and not locked in compliance mode.")
        return str(there["VersionId"])

    def read_back(self, after: int) -> Iterator[AnchoredNote]:
        try:
            yield from self._versions(after)
        except (BotoCoreError, ClientError) as error:
            raise AnchorError(f"The bucket {self.bucket} cannot be read: {error}.") from error

    def _versions(self, after: int) -> Iterator[AnchoredNote]:
        folder = f"{self.prefix}{self.origin}/"
        pages = self._client.get_paginator("list_object_versions")
        for page in pages.paginate(Bucket=self.bucket, Prefix=folder):
            for version in page.get("Versions", []):
                size = version["Key"].removeprefix(folder).removesuffix(SUFFIX)
                if size.isdecimal() and int(size) > after:
                    yield self._held(version["Key"], version["VersionId"])

    def _held(self, key: str, version: str) -> AnchoredNote:
        there = self._client.get_object(Bucket=self.bucket, Key=key, VersionId=version)
        note = there["Body"].read(MAX_NOTE_BYTES).decode(errors="replace")
        address = f"{self._address(key)}?versionId={version}"
        return AnchoredNote(address, note, "" if _is_locked(there) else f"{address} is not locked.")

    def weakness(self) -> str:
        host = urlsplit(self.endpoint).hostname if self.endpoint else None
        if host and any(map(_is_of_this_machine, _addresses(host))):
            return f"The endpoint of {self.address} is this machine."
        return ""

    def _address(self, key: str) -> str:
        return f"s3://{self.bucket}/{key}"

    @property
    def _client(self) -> Any:
        return _client(self.endpoint, self.timeout_seconds)


@cache  # to make one takes a tenth of a second; threads may share it
def _client(endpoint: str, timeout_seconds: float) -> Any:
    patience = Config(
        connect_timeout=timeout_seconds,
        read_timeout=timeout_seconds,
        retries={"total_max_attempts": 1},  # audit.signing.anchors tries again
    )
    return boto3.client("s3", endpoint_url=endpoint or None, config=patience)


def _is_locked(version: Any) -> bool:
    """Whether nobody can remove a version now. Needs the right s3:GetObjectRetention."""
    until = version.get("ObjectLockRetainUntilDate")
    is_compliance = version.get("ObjectLockMode") == "COMPLIANCE"
    return is_compliance and until is not None and until > datetime.now(UTC)


def _addresses(host: str) -> set[tuple[socket.AddressFamily, str]]:
    """Return its IP addresses; none if it cannot be resolved, and then it cannot be read either."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except OSError:
        return set()
    return {(family, str(address[0])) for family, _, _, _, address in found}


def _is_of_this_machine(address: tuple[socket.AddressFamily, str]) -> bool:
    """The kernel binds sockets to addresses of this machine alone."""
    family, host = address
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True
