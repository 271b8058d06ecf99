"""Operations, and the objects that their pages show."""

import pytest

from ingestion.models import WorkerHost
from tests import steps
from tests.factories import make_leased


@pytest.fixture(autouse=True)
def _places(settings, tmp_path):
    settings.ANCHOR_DIR = tmp_path / "anchors"


@pytest.fixture
def ops(as_role):
    return as_role("Operations")


@pytest.fixture
def host(db):
    return WorkerHost.objects.create(name="h", host="worker-01", workers=2, software="1")


def hold(site, documents=1, code="INTERNAL_ERROR"):
    chunk, lease = make_leased(documents, site)
    held = list(chunk.documents.order_by("pk"))
    for document in held:
        steps.give_up(document.pk, lease, code, {}, held=True)
    return held
