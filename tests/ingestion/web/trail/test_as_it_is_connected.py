"""The pages with the real office: jobs of the ledger, done by a worker's own function."""

import io
import zipfile

import pytest
from django.urls import reverse

from audit import history, jobs, rotation
from ingestion.web.trail.timelines import subjects_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def own_folders(settings, tmp_path):
    settings.AUDIT_KEY_FILE = tmp_path / "keys" / "audit.pem"
    settings.ANCHOR_DIR = tmp_path / "anchors"
    settings.EXPORT_DIR = tmp_path / "exports"
    rotation.create(by="system:tests")


def test_a_check_that_is_asked_for_is_made_and_told(affairs, packet):
    asked = affairs.post(reverse("trail_check_now"))
    assert jobs.work_next()
    assert "The chain is intact" in affairs.get(asked["Location"]).content.decode()


@pytest.mark.requirement("R07")
@pytest.mark.requirement("R11")
def test_a_packet_is_exported_taken_away_and_both_are_on_record(affairs, packet):
    asked = affairs.post(f"{reverse('trail_export_confirm')}?packet={packet.reference}")
    assert jobs.work_next()
    address = asked["Location"]
    assert "manifest.json" in affairs.get(address).content.decode()
    taken = affairs.get(f"{address}file/")
    with zipfile.ZipFile(io.BytesIO(b"".join(taken))) as package:
        lines = package.read("entries.ndjson").decode().splitlines()
    assert len(lines) == len(history.timeline(*subjects_of(packet)))
    events = [entry.event for entry in history.latest()]
    assert events[:2] == ["ledger.export_downloaded", "ledger.exported"]
