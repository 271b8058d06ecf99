import secrets

import pytest

from audit.ledger.actors import Actor
from audit.signing import key_rotation
from audit.verification import verify
from tests.audit.authority import time_stamp_authority
from tests.audit.buckets import CREDENTIALS


@pytest.fixture(autouse=True)
def _no_foreign_checks(monkeypatch):
    """The subjects of these tests have no rows; ingestion's reconciliation would miss them."""
    monkeypatch.setattr(verify, "_checks", [])


@pytest.fixture(autouse=True)
def _own_folders(settings, tmp_path, monkeypatch):
    """No test finds keys and checkpoints of another, or asks a cloud who it is."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR = tmp_path / "anchors"


@pytest.fixture
def key(db):
    """A ledger with a key: entry 1 says so."""
    return key_rotation.create_key(by=Actor.software("test", "operations"))


@pytest.fixture
def bucket(s3, settings):
    """A bucket with Object Lock, which the settings name as an anchor."""
    settings.ANCHOR_S3_BUCKET = f"worm-{secrets.token_hex(4)}"
    settings.ANCHOR_S3_ENDPOINT = s3.meta.endpoint_url
    s3.create_bucket(Bucket=settings.ANCHOR_S3_BUCKET, ObjectLockEnabledForBucket=True)
    return settings.ANCHOR_S3_BUCKET


@pytest.fixture(scope="session")
def tsa(tmp_path_factory):
    """An RFC 3161 authority: openssl behind HTTP."""
    with time_stamp_authority(tmp_path_factory.mktemp("tsa")) as authority:
        yield authority


@pytest.fixture
def stamped(tsa, settings):
    """The settings name this authority as an anchor."""
    settings.ANCHOR_TSA = tsa.address
    settings.ANCHOR_TSA_CERTIFICATES = str(tsa.root)
    return tsa
