"""Repeated downloads from a portal, which operations request without a manifest."""

from audit.ledger.actors import Actor
from ingestion.core.breaker import BreakerState
from ingestion.documents import batches
from ingestion.models import Batch, BatchSource, Document, PortalLimitState
from sites.models import Site
from tests import steps
from tests.api.conftest import check_problem
from tests.factories import make_batch, make_filed, make_leased, make_site


def pull(client, site, key="pull-1", **headers):
    headers = {"idempotency-key": key} | headers
    return client.request("POST", f"sites/{site}/pulls", headers=headers)


def add_rejected(site, documents=1):
    """Add rejected documents, which a pull downloads again."""
    chunk, lease = make_leased(documents, site)
    for document in chunk.documents.all():
        steps.give_up(document.pk, lease, "FILE_TOO_LARGE", {"limit_mb": 1}, held=False)


def test_the_same_key_returns_the_same_pull_also_during_processing(ops, site):
    add_rejected(site, 2)
    first, repeated = pull(ops, "0203"), pull(ops, "0203")
    assert first.status_code == repeated.status_code == 202
    assert first.json()["id"] == repeated.json()["id"]
    assert Batch.objects.filter(source=BatchSource.PULL).count() == 1
    other = make_site("0300")
    add_rejected(other)
    assert check_problem(pull(ops, "0300"), 422)["type"].endswith("key-reused")


def test_a_pull_downloads_each_document_once_without_uploads_and_cancelled_ones(ops, site):
    make_filed(site, "doc-7", "a" * 64)
    make_filed(site, "doc-7", "b" * 64)
    upload = make_filed(site, "form", "c" * 64)
    Document.objects.filter(pk=upload.pk).update(url="", spooled="uploads/x")
    batches.cancel_batch(make_batch(site), by=Actor("user:olga", "ops"))
    assert pull(ops, "0203").status_code == 202
    (pulled,) = Document.objects.filter(batch__source=BatchSource.PULL)
    assert (pulled.doc_id, pulled.expected_sha256) == ("doc-7", "")


def test_a_cancelled_pull_can_be_repeated(ops, site):
    add_rejected(site)
    first = pull(ops, "0203").json()["id"]
    batches.cancel_batch(Batch.objects.get(reference=first), by=Actor("user:olga", "ops"))
    repeated = pull(ops, "0203", key="pull-2")
    assert repeated.status_code == 202
    assert repeated.json()["id"] != first


def test_a_document_that_is_being_downloaded_is_not_pulled_again(ops, site):
    make_batch(site)
    body = check_problem(pull(ops, "0203"), 409)
    assert "no documents that are not being fetched already" in body["detail"]


def test_documents_at_a_portals_former_address_are_not_pulled(ops, site):
    add_rejected(site)
    site.portal.base_url = "https://elsewhere.example/"
    site.portal.save()
    check_problem(pull(ops, "0203"), 409)


def test_a_pull_from_an_unavailable_portal_is_refused_with_a_time_to_retry(ops, site):
    add_rejected(site)
    PortalLimitState.objects.create(
        portal=site.portal, breaker=BreakerState.OPEN, probe_at=1_900_000_000_000_000
    )
    answer = pull(ops, "0203")
    assert "does not answer" in check_problem(answer, 409)["detail"]
    assert int(answer["Retry-After"]) > 0
    assert Batch.objects.filter(source=BatchSource.PULL).count() == 0


def test_after_the_time_of_the_probe_a_pull_is_the_probe(ops, site):
    add_rejected(site)
    PortalLimitState.objects.create(portal=site.portal, breaker=BreakerState.OPEN, probe_at=1)
    assert pull(ops, "0203").status_code == 202


def test_only_operations_can_pull(program, ops, site):
    add_rejected(site)
    check_problem(pull(program, "0203"), 403)
    check_problem(pull(ops, "nobody"), 404)
    check_problem(ops.request("POST", "sites/0203/pulls"), 400)
    assert Site.objects.count() == 1
