"""Documents whose bytes are in the archive, whichever archive that is."""

import hashlib

import pytest

from ingestion.storage.archive import get_archive
from tests.factories import make_filed, make_site


def stored(folder, content):
    """Its hash, with the bytes in the archive."""
    sha256 = hashlib.sha256(content).hexdigest()
    (folder / "incoming").write_bytes(content)
    get_archive().put(folder / "incoming", sha256)
    return sha256


@pytest.fixture
def filed(tmp_path):
    """Three documents on file, with their bytes."""
    site = make_site("1001")
    hashes = [stored(tmp_path, f"%PDF {n}".encode()) for n in range(3)]
    for number, sha256 in enumerate(hashes):
        make_filed(site, f"doc-{number}", sha256)
    return hashes
