"""Buckets for a test, on moto's server: what the settings say of them, for us and for hosts."""

import secrets

from tests.audit.buckets import CREDENTIALS


def make_bucket(s3, *, locks=True):
    name = f"bucket-{secrets.token_hex(4)}"
    s3.create_bucket(Bucket=name, ObjectLockEnabledForBucket=locks)
    return name


def in_s3(s3, monkeypatch, settings, **changes):
    """Archive and spool in buckets of their own. Answers what a host's environment needs to say."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    archive, spool = make_bucket(s3), make_bucket(s3, locks=False)
    place = {"location": "sl", "endpoint_url": s3.meta.endpoint_url, "timeout_seconds": 5.0}
    lock = {"years": 25, "mode": "COMPLIANCE"}
    kept = place | {"bucket_name": archive} | lock | changes
    settings.STORAGES = settings.STORAGES | {
        "archive": {"BACKEND": "ingestion.storage.buckets.BucketArchive", "OPTIONS": kept},
        "spool": {
            "BACKEND": "ingestion.storage.buckets.BucketSpool",
            "OPTIONS": place | {"bucket_name": spool},
        },
    }
    return {
        "ARCHIVE_S3_BUCKET": archive,
        "ARCHIVE_S3_PREFIX": "sl/",
        "ARCHIVE_S3_ENDPOINT": s3.meta.endpoint_url,
        "SPOOL_S3_BUCKET": spool,
        "SPOOL_S3_PREFIX": "sl/",
        "SPOOL_S3_ENDPOINT": s3.meta.endpoint_url,
    }
