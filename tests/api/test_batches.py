"""Batches: their status while they are processed, their results, and who can cancel them."""

import json
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from api.http import waiting
from audit.ledger.log import ledger
from audit.ledger.queries import list_entries
from ingestion.dispatch import leases
from ingestion.documents import batches
from ingestion.models import Batch, Chunk, Document
from sites.models import TokenScope
from tests import steps
from tests.api.conftest import Program, check_problem, make_token
from tests.factories import make_batch, make_staff, make_user
from tests.web.scenes import (
    FILED,
    REJECTED,
    make_packet,
    settle,
)


@pytest.fixture
def batch(site):
    return make_batch(site)


def finish(batch, *verdicts):
    """Settle the documents of a batch as a shift does, and complete the batch."""
    (lease,) = leases.claim_due_chunks(1, by="here:1:1")
    assert Chunk.objects.get(pk=lease.chunk).batch == batch
    for item, decided in zip(lease.items, verdicts, strict=True):
        steps.start_checking(item.document, lease.lease_id, sha256="ab" * 32, size=10)
        steps.conclude(item.document, lease.lease_id, decided, pages=1)
    leases.return_chunk(lease.chunk, lease.lease_id)


def test_an_unfinished_batch_has_status_202_with_its_progress(program, site):
    packet = make_packet(site, make_user(), FILED, None)
    before = program.get(f"batches/{packet.batch.reference}")
    assert before.status_code == 202
    assert before["X-Progress"] == "1/2 documents"
    assert before["Retry-After"].isdecimal()
    assert before.json()["progress"]["percentage"] == 50


def test_a_batch_names_the_sites_that_make_no_progress(program, batch, settings):
    settings.SITE_STALL_SECONDS = 1800
    assert program.get(f"batches/{batch.reference}").json()["stuck_sites"] == []
    before = timezone.now() - timedelta(hours=1)
    Batch.objects.update(created_at=before)
    Document.objects.update(received_at=before)
    Chunk.objects.update(created_at=before)
    [stuck] = program.get(f"batches/{batch.reference}").json()["stuck_sites"]
    assert (stuck["cause"], stuck["documents"]) == ("no_worker", 1)
    assert stuck["doc_ids"] == ["doc-1"]


def test_a_poll_without_changes_returns_304(program, batch):
    first = program.get(f"batches/{batch.reference}")
    repeated = program.get(f"batches/{batch.reference}", if_none_match=first["ETag"])
    assert repeated.status_code == 304
    assert repeated.content == b""
    assert repeated["ETag"] == first["ETag"]
    assert repeated["Retry-After"].isdecimal()
    assert repeated["X-Progress"] == "0/1 documents"
    settle(batch.packets.get(), REJECTED)
    changed = program.get(f"batches/{batch.reference}", if_none_match=first["ETag"])
    assert changed.status_code in {200, 202}
    assert changed["ETag"] != first["ETag"]


def test_another_sites_batch_is_not_found(other_program, batch):
    body = check_problem(other_program.get(f"batches/{batch.reference}"), 404)
    unknown = check_problem(other_program.get("batches/BAT-2026-9999"), 404)
    assert body["detail"] == unknown["detail"]
    assert other_program.get("batches").json()["items"] == []


def test_only_operations_see_a_batch_of_several_sites(ops, program, other_program, make_line):
    lines = [make_line(each.token.site) for each in (program, other_program)]
    reference = ops.submit({"documents": lines}).json()["id"]
    assert ops.get(f"batches/{reference}").status_code == 202
    assert program.get(f"batches/{reference}").status_code == 404
    mine = program.get("documents").json()["items"]
    assert [each["site_id"] for each in mine] == ["0203"]


def test_batches_are_listed_newest_first_in_pages(program, site, other_program):
    made = [make_batch(site).reference for _ in range(5)]
    make_batch(other_program.token.site)
    seen, address = [], "batches?limit=2"
    while address:
        response = program.get(address.removeprefix("http://testserver"))
        page = response.json()
        seen += [item["id"] for item in page["items"]]
        address = page["next"]
        assert response.headers.get("Link") == (f'<{address}>; rel="next"' if address else None)
        make_batch(site)  # new items do not shift the pages
    assert seen == made[::-1]


def test_the_next_page_of_a_list_keeps_the_filters(program, site):
    for _ in range(3):
        make_batch(site)
    page = program.get("batches?status=QUEUED&site=0203&limit=2").json()
    assert "status=QUEUED" in page["next"]
    assert "site=0203" in page["next"]
    assert program.get("batches?status=COMPLETED").json()["items"] == []
    assert program.get("batches?site=0999").json()["items"] == []


def test_a_list_needs_few_queries(program, site, django_assert_max_num_queries):
    for _ in range(10):
        make_packet(site, make_user(), FILED, None)
    with django_assert_max_num_queries(5):
        items = program.get("batches").json()["items"]
    assert {(item["total"], item["settled"]) for item in items} == {(2, 1)}


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("wait=5", 5),
        ("respond-async, WAIT = 7; foo", 7),
        ('wait="3"', 3),
        ("wait=3, wait=9", 3),
        ("wait=99", 20),
        ("wait=99999999999", 0),
        ("wait=-1", 0),
        ("wait=x, wait=3", 0),
        ("waiting=3", 0),
        ("", 0),
    ],
)
def test_the_preference_to_wait_is_parsed_as_in_the_rfc(header, seconds):
    assert waiting.parse_wait_seconds(header) == seconds


def test_at_most_a_quarter_of_the_threads_wait(settings):
    settings.WEB_THREADS = 8
    with waiting.waiting_threads.reserve() as first, waiting.waiting_threads.reserve() as second:
        with waiting.waiting_threads.reserve() as third:
            assert (first, second, third) == (True, True, False)
        with waiting.waiting_threads.reserve() as fourth:
            assert not fourth
    with waiting.waiting_threads.reserve() as last:
        assert last


def test_the_preference_to_wait_is_ignored_if_no_thread_may_wait(program, batch, settings):
    settings.WEB_THREADS = 1
    with waiting.waiting_threads.reserve():
        response = program.get(f"batches/{batch.reference}", prefer="wait=20")
    assert response.status_code == 202
    assert not response.has_header("Preference-Applied")


def test_a_wait_for_a_batch_that_stays_unfinished_returns_202(program, batch):
    response = program.get(f"batches/{batch.reference}", prefer="wait=1")
    assert response.status_code == 202
    assert response["Preference-Applied"] == "wait=1"
    assert "Prefer" in response["Vary"]
    batch.refresh_from_db()
    assert batch.state == "QUEUED", "waiting changes no row"


@pytest.mark.django_db(transaction=True)
def test_a_wait_returns_the_final_batch(program, batch):
    began = threading.Event()

    def work():
        began.wait(120)
        try:
            finish(batch, FILED)
        finally:
            connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    began.set()
    response = program.get(f"batches/{batch.reference}", prefer="wait=20")
    worker.join()
    assert response.status_code == 200
    assert response["Preference-Applied"] == "wait=20"
    assert not response.has_header("Retry-After")
    assert response.json()["status"] == "COMPLETED"


def test_the_manifest_of_a_final_batch_has_the_result_of_each_document(program, site):
    batch = make_batch(site, 2)
    early = program.get(f"batches/{batch.reference}/manifest")
    assert check_problem(early, 409)["detail"]
    assert early["Retry-After"].isdecimal()
    finish(batch, FILED, REJECTED)
    response = program.get(f"batches/{batch.reference}/manifest")
    body = response.json()
    assert (body["batch"], body["status"]) == (batch.reference, "COMPLETED")
    filed, rejected = body["documents"]
    assert (filed["doc_id"], filed["state"], filed["sha256"]) == ("doc-1", "ARCHIVED", "ab" * 32)
    assert (rejected["state"], rejected["code"]) == ("REJECTED", "SIGNATURE_MISSING")
    assert (rejected["category"], rejected["owner"]) == ("compliance", "site")
    assert rejected["do"]
    repeated = program.get(f"batches/{batch.reference}/manifest", if_none_match=response["ETag"])
    assert repeated.status_code == 304


def test_the_submitter_of_a_batch_can_cancel_it(program, site, make_line):
    reference = program.submit({"documents": [make_line(site)]}).json()["id"]
    newer = Program(*make_token(TokenScope.SUBMIT, site=site))
    response = newer.request("DELETE", f"batches/{reference}")
    assert (response.status_code, response.json()["status"]) == (200, "CANCELLED")
    repeated = program.request("DELETE", f"batches/{reference}")
    assert repeated.json()["status"] == "CANCELLED"
    batch = Batch.objects.get()
    requests = [
        each for each in list_entries(batch.subject) if each.event == "batch.cancel_requested"
    ]
    assert [each.actor for each in requests] == [newer.token.actor_name]


def test_a_batch_in_processing_is_cancelled_when_the_worker_returns_its_chunk(
    program, site, make_line
):
    lines = [make_line(site, doc_id="a"), make_line(site, doc_id="b")]
    reference = program.submit({"documents": lines}).json()["id"]
    (lease,) = leases.claim_due_chunks(1, by="here:1:1")
    response = program.request("DELETE", f"batches/{reference}")
    assert response.status_code == 202
    assert response.json()["progress"]["step"] == "Cancelling"
    leases.return_chunk(lease.chunk, lease.lease_id)
    final = program.get(f"batches/{reference}")
    assert (final.status_code, final.json()["status"]) == (200, "CANCELLED")


def test_a_final_batch_cannot_be_cancelled(program, site, make_line):
    reference = program.submit({"documents": [make_line(site)]}).json()["id"]
    finish(Batch.objects.get(), FILED)
    check_problem(program.request("DELETE", f"batches/{reference}"), 409)
    assert program.get(f"batches/{reference}").json()["status"] == "COMPLETED"


def test_only_the_submitter_and_operations_can_cancel_a_batch(program, other_program, ops, site):
    reference = make_packet(site, make_user("mara", sites=(site,)), None).batch.reference
    check_problem(other_program.request("DELETE", f"batches/{reference}"), 404)
    check_problem(program.request("DELETE", f"batches/{reference}"), 403)
    reader = Program(*make_token(TokenScope.READ, user=ops.token.user))
    check_problem(reader.request("DELETE", f"batches/{reference}"), 403)
    submitter = Program(*make_token(TokenScope.SUBMIT, user=ops.token.user))
    check_problem(submitter.request("DELETE", f"batches/{reference}"), 403)
    reviewer = Program(*make_token(user=make_staff("QA reviewers", "rita")))
    check_problem(reviewer.request("DELETE", f"batches/{reference}"), 403)
    assert ops.request("DELETE", f"batches/{reference}").status_code == 202


def hold(batch):
    """Hold the only document of a batch, as its deadline does, and complete the batch."""
    with ledger():
        assert batches.hold_unfinished(batch.pk) == 1
    batch.refresh_from_db()
    return batch


def retry(program, batch, key="r-1", reason="The portal works again."):
    return program.request(
        "POST",
        f"batches/{batch.reference}/retries",
        data=json.dumps({"reason": reason}),
        content_type="application/json",
        headers={"idempotency-key": key},
    )


def test_a_failed_batch_is_retried_once_for_each_key_and_on_record(ops, batch):
    path = f"batches/{hold(batch).reference}"
    assert (batch.state, ops.get(path).status_code) == ("FAILED", 200)
    accepted = retry(ops, batch)
    assert (accepted.status_code, accepted["X-Progress"]) == (202, "0/1 documents")
    assert accepted["Location"].endswith(f"/{path}")
    assert accepted.json()["progress"]["step"] == "Retrying held documents"
    check_problem(ops.get(f"{path}/manifest"), 409)
    assert retry(ops, batch).status_code == 202  # the same key: nothing more happens
    (entry,) = [each for each in list_entries(batch.subject) if each.event == "batch.retried"]
    assert (entry.detail["documents"], entry.actor) == (1, ops.token.actor_name)
    document = batch.documents.get()
    events = [each.event for each in list_entries(document.subject)]
    assert events.count("document.tried_again") == 1
    finish(batch, FILED)
    assert ops.get(path).status_code == 200


def test_a_batch_without_anything_to_retry_is_left_alone(ops, program, batch):
    check_problem(retry(ops, batch), 409)
    hold(batch)
    (error,) = check_problem(retry(ops, batch, reason="x"), 422)["errors"]
    assert (error["field"], error["message"]) == ("reason", "Write at least 10 characters.")
    body = {"headers": {"idempotency-key": "r-0"}, "content_type": "application/json"}
    missing = ops.request("POST", f"batches/{batch.reference}/retries", data="{}", **body)
    (error,) = check_problem(missing, 422)["errors"]
    assert error["message"] == "This field is missing. Add it."
    check_problem(retry(program, batch), 403)  # another account submitted it
    assert retry(ops, batch).status_code == 202
    check_problem(retry(ops, batch, reason="Another reason for it."), 422)  # the key was used


def test_batches_are_found_by_submitter_and_time(ops, program, site, make_line):
    assert program.submit({"documents": [make_line(site)]}).status_code == 202
    assert ops.submit({"documents": [make_line(site, doc_id="cv-2")]}).status_code == 202
    later = (timezone.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def find(query):
        return [item["submitter"] for item in ops.get(f"batches?{query}").json()["items"]]

    of_site = f"site:{site.site_id}"
    assert find("") == ["olga", of_site]
    assert find("submitter=olga") == ["olga"]
    assert find(f"submitter={of_site}") == [of_site]
    assert (find("submitter=nobody"), find(f"since={later}")) == ([], [])
    assert find(f"until={later}") == ["olga", of_site]


def test_a_batch_is_estimated_from_earlier_batches_when_it_is_submitted(ops, program, site):
    now = timezone.now()
    for seconds in (8, 9, 10, 11, 12):
        earlier = make_batch(site)
        finish(earlier, REJECTED)
        begun = now - timedelta(seconds=seconds)
        Batch.objects.filter(pk=earlier.pk).update(started_at=begun, finished_at=now)
    batch = make_batch(site)
    progress = ops.get(f"batches/{batch.reference}").json()["progress"]
    assert progress["estimate"] == {"low": 9, "likely": 10, "high": 12}
    assert progress["estimated_seconds_remaining"] == 10


def test_a_waiting_document_states_its_attempt_and_the_next_time(ops, batch):
    document, later = batch.documents.get(), timezone.now() + timedelta(minutes=5)
    Document.objects.filter(pk=document.pk).update(fetch_tries=2, next_attempt_at=later)
    body = ops.get(f"documents/{document.pk}").json()
    assert body["attempt"] == 3
    assert body["next_attempt_at"].startswith(later.strftime("%Y-%m-%dT%H:%M:%S"))
    probe_at = later + timedelta(minutes=5)  # While a portal is down, only the chunk has it.
    batch.chunks.update(next_dispatch_at=probe_at)
    body = ops.get(f"documents/{document.pk}").json()
    assert body["next_attempt_at"].startswith(probe_at.strftime("%Y-%m-%dT%H:%M:%S"))
