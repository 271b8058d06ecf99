"""Tests that a killed worker's downloads are used by the next one, with real processes."""

from collections import Counter

import pytest

from samples.portal import SamplePortal
from sites.models import Portal
from tests.ingestion.dispatch.conftest import only
from tests.ingestion.hosts import PATIENT, eventually, kill, worker_host
from tests.ingestion.whole_batches import assert_filed_once, assert_outcomes, is_completed

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.storm,
    pytest.mark.slow,
]


def test_documents_of_a_killed_worker_are_not_requested_from_their_portal_again(
    one_site_with_scans, submit, settings
):
    """The worker is killed while it reads a scan, so every document was fetched by then."""
    packet = only(one_site_with_scans, "irb-approval", "cv-whitfield", "lab-normal-ranges")
    with (
        SamplePortal(one_site_with_scans.directory, {}, faults=0) as portal,
        worker_host(settings, **PATIENT) as host,
    ):
        batch = submit(packet, portal)
        Portal.objects.update(rate_per_second=100.0, burst=100)
        scan = batch.documents.get(doc_id="lab-normal-ranges")

        def is_being_read():
            scan.refresh_from_db()
            return scan.state == "VALIDATING" and len(portal.requests) >= 3

        eventually(is_being_read)
        kill(host, "worker")
        eventually(lambda: is_completed(batch))
    requests = Counter(request.path for request in portal.requests)
    assert set(requests.values()) == {1}, requests
    assert_outcomes(packet, batch)
    assert_filed_once()
