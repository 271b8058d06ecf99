"""Checks the buckets that hold the archive and the spool.

The settings are always checked. The buckets are only checked by `manage.py check --deploy`, and by
a worker host before it starts, because that sends requests to S3.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.core.files.storage import storages

if TYPE_CHECKING:
    from ingestion.storage.buckets import S3Bucket

CheckList = list[CheckMessage]

BUCKETS = "buckets"  # the tag of the checks that send requests
MODES = {"COMPLIANCE", "GOVERNANCE"}


@register
def check_settings(**_options: Any) -> CheckList:
    """Check the settings of both buckets, without requests."""
    found: CheckList = []
    archive, spool = _options_of("archive"), _options_of("spool")
    if archive:
        found += _check_connection("ARCHIVE", archive)
    if archive and archive["mode"] not in MODES:
        found.append(
            Error(
                f"ARCHIVE_S3_MODE={archive['mode']} is not a mode of Object Lock.",
                hint="Leave it out: in COMPLIANCE mode nobody can delete a document, not even "
                "the root user.",
                id="ingestion.E080",
            )
        )
    if archive and archive["years"] < settings.RETENTION_YEARS:
        found.append(
            Error(
                f"ARCHIVE_S3_YEARS is {archive['years']}, but documents are kept for "
                f"{settings.RETENTION_YEARS} years. The locks in S3 would end too early.",
                hint="Leave ARCHIVE_S3_YEARS out, or set it to at least RETENTION_YEARS.",
                id="ingestion.E081",
            )
        )
    if spool:
        found += _check_connection("SPOOL", spool)
        if spool["bucket_name"] == archive.get("bucket_name"):
            found.append(
                Error(
                    "ARCHIVE_S3_BUCKET and SPOOL_S3_BUCKET are the same; the spool is emptied.",
                    hint="Give the spool a bucket of its own, created without Object Lock.",
                    id="ingestion.E082",
                )
            )
    return found


@register(BUCKETS, deploy=True)
def check_buckets(**_options: Any) -> CheckList:
    """Check with requests whether the archive's bucket has locks, and the spool's has none.

    A bucket that does not answer is a warning, because documents wait for it.
    """
    # Every command checks the settings, and starts faster without the client of S3.
    from botocore.exceptions import (  # noqa: PLC0415 - as stated above
        BotoCoreError,
        ClientError,
        NoCredentialsError,
    )

    found: CheckList = []
    for name, check in (("archive", _check_archive_bucket), ("spool", _check_spool_bucket)):
        if not _options_of(name):
            continue
        bucket, setting = cast("S3Bucket", storages[name]), f"{name.upper()}_S3"
        try:
            found += check(bucket)
        except NoCredentialsError:
            found.append(
                Error(
                    f"{setting}_BUCKET is set, but there are no credentials for it.",
                    hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this host a "
                    "role. boto3 finds the credentials.",
                    id="ingestion.E087",
                )
            )
        except ClientError as error:
            found.append(
                Error(
                    f"The bucket {bucket.name} refuses the request: {error}.",
                    hint=f"Check {setting}_BUCKET and {setting}_ENDPOINT, and the rights that "
                    "docs/operations.md lists.",
                    id="ingestion.E088",
                )
            )
        except BotoCoreError as error:
            found.append(
                checks.Warning(
                    f"The bucket {bucket.name} does not answer: {error}.",
                    hint=f"Check {setting}_ENDPOINT and the network. Until the bucket answers, "
                    "documents are held, and none is lost.",
                    id="ingestion.W080",
                )
            )
    return found


def _options_of(name: str) -> Mapping[str, Any]:
    """Return the options of a bucket, or an empty mapping if the storage is a folder."""
    options = cast("Mapping[str, Any]", settings.STORAGES[name].get("OPTIONS", {}))
    return options if "bucket_name" in options else {}


def _check_connection(name: str, options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    endpoint = options["endpoint_url"]
    if endpoint and not endpoint.startswith(("http://", "https://")):
        yield Error(
            f"{name}_S3_ENDPOINT={endpoint} is not an address.",
            hint="Write https://minio.example.org, or leave it out to use Amazon S3.",
            id="ingestion.E083",
        )
    if options["timeout_seconds"] <= 0:
        yield Error(f"{name}_S3_TIMEOUT_SECONDS has to be more than 0.", id="ingestion.E084")


def _check_archive_bucket(bucket: "S3Bucket") -> CheckList:
    # Versions need no check of their own, because S3 has no Object Lock without versioning.
    if _read_lock_configuration(bucket) is not None:
        return []
    return [
        Error(
            f"The bucket {bucket.name} has no Object Lock, so its documents could be deleted.",
            hint="Create a new bucket with Object Lock, which includes versioning, and name it in "
            "ARCHIVE_S3_BUCKET. S3 does not lock objects that were stored before.",
            id="ingestion.E085",
        )
    ]


def _check_spool_bucket(bucket: "S3Bucket") -> CheckList:
    if "Rule" not in (_read_lock_configuration(bucket) or {}):
        return []
    return [
        Error(
            f"The bucket {bucket.name} locks every new object, so the spool could not be emptied.",
            hint="Name another bucket in SPOOL_S3_BUCKET, created without Object Lock.",
            id="ingestion.E086",
        )
    ]


def _read_lock_configuration(bucket: "S3Bucket") -> Mapping[str, Any] | None:
    """Return the configuration of Object Lock, whose `Rule` locks each new object.

    Returns None if the bucket has no Object Lock. Raises ClientError and BotoCoreError.
    """
    from botocore.exceptions import ClientError  # noqa: PLC0415 - see check_buckets

    try:
        found = bucket.client.get_object_lock_configuration(Bucket=bucket.name)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ObjectLockConfigurationNotFoundError":
            raise
        return None
    return cast("Mapping[str, Any]", found["ObjectLockConfiguration"])
