"""Creates buckets on moto's server, and configures the settings and worker hosts for them."""

import secrets

from tests.audit.buckets import CREDENTIALS


def make_bucket(s3, *, has_locks=True):
    name = f"bucket-{secrets.token_hex(4)}"
    s3.create_bucket(Bucket=name, ObjectLockEnabledForBucket=has_locks)
    return name


def use_buckets(s3, monkeypatch, settings, **changes):
    """Put archive and spool into new buckets. Return the environment of a worker host for them."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    archive, spool = make_bucket(s3), make_bucket(s3, has_locks=False)
    common = {"location": "sl", "endpoint_url": s3.meta.endpoint_url, "timeout_seconds": 5.0}
    lock = {"years": 25, "mode": "COMPLIANCE"}
    locked = common | {"bucket_name": archive} | lock | changes
    settings.STORAGES = settings.STORAGES | {
        "archive": {"BACKEND": "ingestion.storage.buckets.BucketArchive", "OPTIONS": locked},
        "spool": {
            "BACKEND": "ingestion.storage.buckets.BucketSpool",
            "OPTIONS": common | {"bucket_name": spool},
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
