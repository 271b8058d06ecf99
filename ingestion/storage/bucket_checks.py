"""System checks of the buckets that hold the archive and the spool.

What the settings say is checked always. What the buckets say costs requests, so it is asked by
`manage.py check --deploy`, and by a worker host before it starts.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.core.files.storage import storages

from ingestion.storage.buckets import S3Bucket

CheckList = list[CheckMessage]

BUCKETS = "buckets"  # the tag of what asks them
MODES = {"COMPLIANCE", "GOVERNANCE"}
_NO_LOCK = "ObjectLockConfigurationNotFoundError"


@register
def check_settings(**_options: Any) -> CheckList:
    return [*_archive(_options_of("archive")), *_spool(_options_of("spool"))]


@register(BUCKETS, deploy=True)
def check_buckets(**_options: Any) -> CheckList:
    """Ask them. One that cannot be asked just now is a warning: work waits for it."""
    found: CheckList = []
    for name, ask in (("archive", _is_locked), ("spool", _is_free)):
        if _options_of(name):
            found += _asked(name.upper(), cast("S3Bucket", storages[name]), ask)
    return found


def _options_of(name: str) -> Mapping[str, Any]:
    """Empty for a folder."""
    options = cast("Mapping[str, Any]", settings.STORAGES[name].get("OPTIONS", {}))
    return options if "bucket_name" in options else {}


def _archive(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    if not options:
        return
    yield from _address("ARCHIVE", options)
    if options["mode"] not in MODES:
        yield Error(
            f"ARCHIVE_S3_MODE={options['mode']} is no mode of Object Lock.",
            hint="Leave it out: in COMPLIANCE mode nobody can delete a document, root included.",
            id="ingestion.E080",
        )
    if options["years"] < settings.RETENTION_YEARS:
        yield Error(
            f"ARCHIVE_S3_YEARS is {options['years']}, and documents are kept for "
            f"{settings.RETENTION_YEARS} years: S3 would let them go before.",
            hint="Leave ARCHIVE_S3_YEARS out, or give it as many years as RETENTION_YEARS or more.",
            id="ingestion.E081",
        )


def _spool(options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    if not options:
        return
    yield from _address("SPOOL", options)
    if options["bucket_name"] == _options_of("archive").get("bucket_name"):
        yield Error(
            "ARCHIVE_S3_BUCKET and SPOOL_S3_BUCKET are the same; the spool is emptied.",
            hint="Give the spool a bucket of its own, made without Object Lock.",
            id="ingestion.E082",
        )


def _address(name: str, options: Mapping[str, Any]) -> Iterator[CheckMessage]:
    endpoint = options["endpoint_url"]
    if endpoint and not endpoint.startswith(("http://", "https://")):
        yield Error(
            f"{name}_S3_ENDPOINT={endpoint} is not an address.",
            hint="Write https://minio.example.org, or leave it out for Amazon's.",
            id="ingestion.E083",
        )
    if options["timeout_seconds"] <= 0:
        yield Error(f"{name}_S3_TIMEOUT_SECONDS has to be more than 0.", id="ingestion.E084")


def _asked(name: str, bucket: S3Bucket, ask: Callable[[S3Bucket], CheckList]) -> CheckList:
    try:
        return ask(bucket)
    except NoCredentialsError:
        return [_no_credentials(name)]
    except ClientError as error:
        return [_refused(name, bucket, error)]
    except BotoCoreError as error:
        return [_not_asked(name, bucket, error)]


def _is_locked(bucket: S3Bucket) -> CheckList:
    """Object Lock comes with versions: S3 has no bucket that locks and keeps none."""
    try:
        bucket.client.get_object_lock_configuration(Bucket=bucket.name)
    except ClientError as error:
        if _code(error) != _NO_LOCK:
            raise
        return [
            Error(
                f"The bucket {bucket.name} has no Object Lock: documents could be deleted from it.",
                hint="Make a new bucket with Object Lock, which keeps versions too, and name it in "
                "ARCHIVE_S3_BUCKET. S3 locks nothing that was put before.",
                id="ingestion.E085",
            )
        ]
    return []


def _is_free(bucket: S3Bucket) -> CheckList:
    try:
        found = bucket.client.get_object_lock_configuration(Bucket=bucket.name)
    except ClientError as error:
        if _code(error) != _NO_LOCK:
            raise
        return []
    if "Rule" not in found["ObjectLockConfiguration"]:
        return []
    return [
        Error(
            f"The bucket {bucket.name} locks whatever is put: the spool could never be emptied.",
            hint="Name another bucket in SPOOL_S3_BUCKET, made without Object Lock.",
            id="ingestion.E086",
        )
    ]


def _no_credentials(name: str) -> CheckMessage:
    return Error(
        f"{name}_S3_BUCKET is set, and there are no credentials for it.",
        hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this host a role: they are "
        "looked for as boto3 does.",
        id="ingestion.E087",
    )


def _refused(name: str, bucket: S3Bucket, error: ClientError) -> CheckMessage:
    return Error(
        f"The bucket {bucket.name} refuses us: {error}.",
        hint=f"Check {name}_S3_BUCKET and {name}_S3_ENDPOINT, and the rights that "
        "docs/operations.md lists.",
        id="ingestion.E088",
    )


def _not_asked(name: str, bucket: S3Bucket, error: BotoCoreError) -> CheckMessage:
    return checks.Warning(
        f"The bucket {bucket.name} does not answer: {error}.",
        hint=f"Check {name}_S3_ENDPOINT and the way there. Until then documents are held, and "
        "none is lost.",
        id="ingestion.W080",
    )


def _code(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])
