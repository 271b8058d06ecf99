"""Lines of the log and ledger entries of a request have the correlation ID of the request."""

import pytest

from audit.ledger.queries import list_entries
from ingestion.dispatch import leases
from ingestion.models import Batch
from tests.api.conftest import check_problem
from tests.api.test_batches import hold, retry
from tests.factories import make_batch

# Lines about entries are written after the commit.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def batch(site):
    return make_batch(site)


@pytest.mark.parametrize(
    ("method", "path", "status", "ending"),
    [
        ("GET", "batches?limit=Jane%20Roe", 422, ": GET api/v1/batches"),
        ("GET", "batches/BAT-1999-0001", 404, ": GET api/v1/batches/<reference>"),
        ("DELETE", "packets", 405, ": DELETE api/v1/packets"),
        ("GET", "jane.roe", 404, ""),
    ],
)
def test_a_refused_request_is_logged_with_its_id_its_status_and_its_route(
    program, log, method, path, status, ending
):
    response = program.request(method, path)
    check_problem(response, status)
    [line] = [line for line in log.read_lines() if line["level"] == "warning"]
    assert line["correlation_id"] == response["X-Correlation-ID"] == response["X-Request-ID"]
    assert line["code"] == status
    assert line["event"] == f"a request ended with HTTP status {status}{ending}"


def test_a_refused_page_is_logged_with_its_id(client, db, log):
    missing = client.get("/nothing/jane.roe/")
    [line] = [line for line in log.read_lines() if line.get("code") == 404]
    assert line["correlation_id"] == missing["X-Correlation-ID"]
    assert "jane" not in str(line)


def test_an_error_of_the_server_is_logged_with_the_id_of_its_request(program, log, monkeypatch):
    monkeypatch.setattr("api.batches.visibility.list_visible_batches", lambda *args: 1 / 0)
    response = program.get("batches")
    lines = [line for line in log.read_lines() if line["level"] == "error"]
    assert {line["correlation_id"] for line in lines} == {response["X-Correlation-ID"]}
    assert "a request ended with HTTP status 500: GET api/v1/batches" in {
        line["event"] for line in lines
    }


def test_a_retry_has_its_own_id_and_the_later_work_that_of_the_submission(ops, batch, log):
    response = retry(ops, hold(batch))
    own, submitted = response["X-Correlation-ID"], str(batch.correlation_id)
    assert own != submitted
    lines = log.read_lines("batch.retried", "document.tried_again")
    assert [line["correlation_id"] for line in lines] == [own, own]
    assert {line["batch"] for line in lines} == {batch.reference}, "connects both IDs"
    document = batch.documents.get()
    entries = {each.event: each for each in list_entries(batch.subject, document.subject)}
    assert entries["batch.retried"].correlation_id == own
    assert entries["document.tried_again"].correlation_id == own
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    assert lease.items[0].correlation_id == submitted


def test_a_cancellation_has_its_own_id_and_what_a_worker_does_for_it_that_of_the_submission(
    ops, site, log
):
    batch = make_batch(site)
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    response = ops.request("DELETE", f"batches/{batch.reference}")
    leases.return_chunk(lease.chunk, lease.lease_id)
    [requested] = log.read_lines("batch.cancel_requested")
    assert requested["correlation_id"] == response["X-Correlation-ID"]
    ended = log.read_lines("document.cancelled", "batch.cancelled")
    assert {line["correlation_id"] for line in ended} == {str(batch.correlation_id)}
    assert {line["batch"] for line in (requested, *ended)} == {batch.reference}


def test_a_submission_has_the_id_of_its_request(ops, site, make_line, log):
    response = ops.submit({"documents": [make_line(site)]})
    lines = log.read_lines("batch.submitted", "batch.queued", "document.received")
    assert len(lines) == 3
    assert {line["correlation_id"] for line in lines} == {response["X-Correlation-ID"]}
    assert str(Batch.objects.get().correlation_id) == response["X-Correlation-ID"]
