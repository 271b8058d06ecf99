"""Operations have a portal asked again for what it gave, without a manifest."""

from ingestion.core.breaker import BreakerState
from ingestion.documents import batches
from ingestion.documents.transitions import Actor
from ingestion.models import Batch, BatchSource, Document, PortalLimitState
from sites.models import Site
from tests import steps
from tests.api.test_problems import problem
from tests.factories import make_batch, make_filed, make_leased, make_site


def pull(who, site, key="again-1", **headers):
    headers = {"idempotency-key": key} | headers
    return who.ask("POST", f"sites/{site}/pulls", headers=headers)


def rejected(site, documents=1):
    """Documents that the site has to mend."""
    chunk, lease = make_leased(documents, site)
    for document in chunk.documents.all():
        steps.give_up(document.pk, lease, "FILE_TOO_LARGE", {"limit_mb": 1}, held=False)


def test_the_same_key_is_the_same_pull_also_while_it_is_worked(ops, site):
    rejected(site, 2)
    first, again = pull(ops, "0203"), pull(ops, "0203")
    assert first.status_code == again.status_code == 202
    assert first.json()["id"] == again.json()["id"]
    assert Batch.objects.filter(source=BatchSource.PULL).count() == 1
    other = make_site("0300")
    rejected(other)
    assert problem(pull(ops, "0300"), 422)["type"].endswith("key-reused")


def test_each_is_asked_for_once_and_no_upload_and_nothing_that_was_cancelled(ops, site):
    make_filed(site, "doc-7", "a" * 64)
    make_filed(site, "doc-7", "b" * 64)
    upload = make_filed(site, "form", "c" * 64)
    Document.objects.filter(pk=upload.pk).update(url="", spooled="uploads/x")
    batches.cancel_batch(make_batch(site), by=Actor("user:olga", "ops"))
    assert pull(ops, "0203").status_code == 202
    (asked,) = Document.objects.filter(batch__source=BatchSource.PULL)
    assert (asked.doc_id, asked.expected_sha256) == ("doc-7", "")


def test_a_pull_that_was_cancelled_can_be_made_again(ops, site):
    rejected(site)
    first = pull(ops, "0203").json()["id"]
    batches.cancel_batch(Batch.objects.get(reference=first), by=Actor("user:olga", "ops"))
    again = pull(ops, "0203", key="again-2")
    assert again.status_code == 202
    assert again.json()["id"] != first


def test_what_is_being_asked_for_is_not_asked_for_twice(ops, site):
    make_batch(site)
    said = problem(pull(ops, "0203"), 409)
    assert "nothing yet that is not being asked for" in said["detail"]


def test_a_portal_that_moved_is_not_asked_at_its_old_address(ops, site):
    rejected(site)
    site.portal.base_url = "https://elsewhere.example/"
    site.portal.save()
    problem(pull(ops, "0203"), 409)


def test_a_silent_portal_is_not_asked_and_the_answer_says_when(ops, site):
    rejected(site)
    PortalLimitState.objects.create(
        portal=site.portal, breaker=BreakerState.OPEN, shut_until=1_900_000_000_000_000
    )
    answer = pull(ops, "0203")
    assert "does not answer" in problem(answer, 409)["detail"]
    assert int(answer["Retry-After"]) > 0
    assert Batch.objects.filter(source=BatchSource.PULL).count() == 0


def test_only_operations_pull(program, ops, site):
    rejected(site)
    problem(pull(program, "0203"), 403)
    problem(pull(ops, "nobody"), 404)
    problem(ops.ask("POST", "sites/0203/pulls"), 400)
    assert Site.objects.count() == 1
