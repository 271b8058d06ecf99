"""Fixtures for tests of the ledger: keys, anchors, and isolation from other tests."""

import secrets

import pytest

from audit.ledger.actors import Actor
from audit.signing import key_rotation
from audit.verification import verify
from tests.audit.authority import time_stamp_authority
from tests.audit.buckets import CREDENTIALS


@pytest.fixture(autouse=True)
def _only_checks_of_the_ledger(monkeypatch):
    """Remove the checks of other apps, because the subjects of these tests have no rows."""
    monkeypatch.setattr(verify, "_checks", [])


@pytest.fixture(autouse=True)
def _isolated_folders(settings, tmp_path, monkeypatch):
    """Give each test its own folders and credentials, so that no test contacts a cloud."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR = tmp_path / "anchors"


@pytest.fixture
def key(db):
    """Create the key of the ledger, which is entry 1, and return its verifier."""
    return key_rotation.create_key(by=Actor.software("test", "operations"))


@pytest.fixture
def bucket(s3, settings):
    """Create a bucket with Object Lock, configure it as an anchor, and return its name."""
    settings.ANCHOR_S3_BUCKET = f"worm-{secrets.token_hex(4)}"
    settings.ANCHOR_S3_ENDPOINT = s3.meta.endpoint_url
    s3.create_bucket(Bucket=settings.ANCHOR_S3_BUCKET, ObjectLockEnabledForBucket=True)
    return settings.ANCHOR_S3_BUCKET


@pytest.fixture(scope="session")
def tsa(tmp_path_factory):
    """Run an authority for time stamps of RFC 3161."""
    with time_stamp_authority(tmp_path_factory.mktemp("tsa")) as authority:
        yield authority


@pytest.fixture
def stamped(tsa, settings):
    """Configure the authority as an anchor, and return it."""
    settings.ANCHOR_TSA = tsa.address
    settings.ANCHOR_TSA_CERTIFICATES = str(tsa.root)
    return tsa
