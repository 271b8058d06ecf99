"""Creates documents whose files are in the configured archive."""

import hashlib

import pytest

from ingestion.storage.archive import get_archive
from tests.factories import make_filed, make_site


def store_file(folder, content):
    """Store these bytes in the archive, and return their SHA-256."""
    sha256 = hashlib.sha256(content).hexdigest()
    (folder / "incoming").write_bytes(content)
    get_archive().put(folder / "incoming", sha256)
    return sha256


@pytest.fixture
def filed(tmp_path):
    """File three documents, and return the SHA-256s of their files."""
    site = make_site("1001")
    hashes = [store_file(tmp_path, f"%PDF {n}".encode()) for n in range(3)]
    for number, sha256 in enumerate(hashes):
        make_filed(site, f"doc-{number}", sha256)
    return hashes
