"""Staff of each role, a packet, and a worker for jobs of the ledger."""

import re

import pytest

from audit import job_runs
from audit.ledger.actors import Actor
from audit.signing import key_rotation
from tests.web.scenes import FILED, REJECTED, make_packet


@pytest.fixture
def packet(site, mara):
    return make_packet(site, mara, FILED, REJECTED)


@pytest.fixture
def affairs(as_role):
    return as_role("Regulatory affairs", name="regulatory", printed_name="Rafael Duarte")


@pytest.fixture(autouse=True)
def own_folders(settings, tmp_path):
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR = tmp_path / "anchors"
    settings.EXPORT_DIR = tmp_path / "exports"


@pytest.fixture
def work(db):
    """`work()` runs the waiting jobs, as a worker does."""
    key_rotation.create_key(by=Actor.software("tests", "operations"))

    def work():
        while job_runs.run_next_job():
            pass

    return work


def text(response):
    """Return the text of the main part of a page, without tags."""
    main = response.content.decode().partition("<main")[2]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())
