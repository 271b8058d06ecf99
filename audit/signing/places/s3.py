"""Anchors checkpoints in an S3 bucket with Object Lock in compliance mode.

Until its date, nobody can delete a locked version, not even the root user. Each checkpoint is one
object, `ORIGIN/SIZE.checkpoint`. A person who may write can still add a newer version or a delete
marker, so that every version is read.

A bucket counts as independent unless its endpoint is this machine. This assumes that its account
belongs to people who do not administer this installation (docs/operations.md).
"""

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Self
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.signing.places.port import (
    AnchoredNote,
    AnchorError,
    AnchorProof,
    is_http_address,
)

SUFFIX = ".checkpoint"
MAX_NOTE_BYTES = 65_536  # a note has some hundred bytes
PRECONDITION_FAILED = 412  # the HTTP status if the object exists


@dataclass(frozen=True)
class S3Anchor:
    """A bucket."""

    bucket: str
    prefix: str
    endpoint: str  # "": Amazon S3
    years: int
    timeout_seconds: float
    origin: str
    name = "s3"
    label = gettext_lazy("S3 bucket")
    keeps_notes = True
    wants_all = False

    @classmethod
    def from_settings(cls) -> Self | None:
        """Return the anchor in ANCHOR_S3_BUCKET, or None if no bucket is set."""
        if not settings.ANCHOR_S3_BUCKET:
            return None
        return cls(
            settings.ANCHOR_S3_BUCKET,
            settings.ANCHOR_S3_PREFIX,
            settings.ANCHOR_S3_ENDPOINT,
            settings.ANCHOR_S3_YEARS,
            settings.ANCHOR_TIMEOUT_SECONDS,
            settings.AUDIT_ORIGIN,
        )

    @staticmethod
    def check_settings() -> Iterator[CheckMessage]:
        """Yield errors of the retention period, which is in years, and of the endpoint."""
        if settings.ANCHOR_S3_YEARS < 1:
            yield Error("ANCHOR_S3_YEARS has to be at least 1.", id="audit.E011")
        if settings.ANCHOR_S3_ENDPOINT and not is_http_address(settings.ANCHOR_S3_ENDPOINT):
            yield Error(
                "ANCHOR_S3_ENDPOINT is not an address.",
                hint="Write https://minio.example.org, or leave it out for Amazon's.",
                id="audit.E013",
            )

    @property
    def address(self) -> str:
        """Return the address of the folder in the bucket, as pages show it."""
        root = f"{self.endpoint.rstrip('/')}/" if self.endpoint else "s3://"
        return f"{root}{self.bucket}/{self.prefix}".rstrip("/")

    def put(self, origin: str, size: int, note: str) -> AnchorProof:
        """Store the checkpoint as a locked object, and return its address and version.

        The lock lasts ANCHOR_S3_YEARS from now. Raises AnchorError if the object was not stored.
        """
        key = f"{self.prefix}{origin}/{size}{SUFFIX}"
        until = datetime.now(UTC).replace(microsecond=0) + timedelta(days=366 * self.years)
        try:
            version = self._put_version(key, note, until)
        except _client_errors() as error:
            message = _("{object} was not stored: {error}.")
            raise AnchorError(message.format(object=self._address(key), error=error)) from error
        return AnchorProof(self._address(key), version)

    def _put_version(self, key: str, note: str, until: datetime) -> str:
        """Return the id of the locked version, which another host may have put."""
        from botocore.exceptions import ClientError  # noqa: PLC0415 - see _client_errors

        try:
            response = self._client.put_object(
                Bucket=self.bucket,
                Key=key,
                Body=note.encode(),
                ContentType="text/plain; charset=utf-8",
                ObjectLockMode="COMPLIANCE",
                ObjectLockRetainUntilDate=until,
                IfNoneMatch="*",  # never add a version to an object
            )
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != PRECONDITION_FAILED:
                raise
            return self._find_version(key, note)
        if not (version := response.get("VersionId")):
            message = _("The bucket {bucket} keeps no versions and has no Object Lock.")
            raise AnchorError(message.format(bucket=self.bucket))
        return str(version)

    def _find_version(self, key: str, note: str) -> str:
        """Return the version of an existing object, put by a process that recorded no receipt."""
        found = self._client.get_object(Bucket=self.bucket, Key=key)
        if found["Body"].read(MAX_NOTE_BYTES).decode(errors="replace") != note:
            message = _(
                "{object} holds another checkpoint of this size: two ledgers have this name, or "
                "this one was rewritten. Run `manage.py verify_audit --full`."
            )
            raise AnchorError(message.format(object=self._address(key)))
        if found.get("ObjectLockMode") != "COMPLIANCE":
            message = _("{object} exists, but it is not locked in compliance mode.")
            raise AnchorError(message.format(object=self._address(key)))
        return str(found["VersionId"])

    def read_back(self, after: int) -> Iterator[AnchoredNote]:
        """Yield all versions of the stored checkpoints with more than `after` entries.

        Raises AnchorError if the bucket cannot be read.
        """
        folder = f"{self.prefix}{self.origin}/"
        try:
            pages = self._client.get_paginator("list_object_versions")
            for page in pages.paginate(Bucket=self.bucket, Prefix=folder):
                for version in page.get("Versions", []):
                    size = version["Key"].removeprefix(folder).removesuffix(SUFFIX)
                    if size.isdecimal() and int(size) > after:
                        yield self._read_version(version["Key"], version["VersionId"])
        except _client_errors() as error:
            message = _("The bucket {bucket} cannot be read: {error}.")
            raise AnchorError(message.format(bucket=self.bucket, error=error)) from error

    def _read_version(self, key: str, version: str) -> AnchoredNote:
        """Return one stored version with its lock. Needs the permission s3:GetObjectRetention."""
        found = self._client.get_object(Bucket=self.bucket, Key=key, VersionId=version)
        note = found["Body"].read(MAX_NOTE_BYTES).decode(errors="replace")
        until = found.get("ObjectLockRetainUntilDate")
        is_compliance = found.get("ObjectLockMode") == "COMPLIANCE"
        is_locked = is_compliance and until is not None and until > datetime.now(UTC)
        address = f"{self._address(key)}?versionId={version}"
        flaw = "" if is_locked else _("{object} is not locked.").format(object=address)
        return AnchoredNote(address, note, flaw)

    def weakness(self) -> str:
        """Return a sentence if the endpoint is an address of this machine, else ""."""
        host = urlsplit(self.endpoint).hostname if self.endpoint else None
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM) if host else []
        except OSError:  # A host that cannot be resolved cannot be read either.
            found = []
        addresses = {(family, str(address[0])) for family, *_others, address in found}
        if any(_is_of_this_machine(family, address) for family, address in addresses):
            return _("The endpoint of {address} is this machine.").format(address=self.address)
        return ""

    def _address(self, key: str) -> str:
        return f"s3://{self.bucket}/{key}"

    @property
    def _client(self) -> Any:
        return _client(self.endpoint, self.timeout_seconds)


@cache  # Creating a client takes a tenth of a second. Threads may share it.
def _client(endpoint: str, timeout_seconds: float) -> Any:
    import boto3  # noqa: PLC0415 - see _client_errors
    from botocore.config import Config  # noqa: PLC0415 - see _client_errors

    config = Config(
        connect_timeout=timeout_seconds,
        read_timeout=timeout_seconds,
        retries={"total_max_attempts": 1},  # the outbox retries
    )
    return boto3.client("s3", endpoint_url=endpoint or None, config=config)


def _client_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of the client.

    Its library takes a quarter of the time in which a management command starts. It is imported
    only where a bucket is used.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as stated above

    return BotoCoreError, ClientError


def _is_of_this_machine(family: socket.AddressFamily, address: str) -> bool:
    """Return whether the kernel binds a socket to the address."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
