"""Watching the work: 202 while it goes on, 200 when it is done, and only what is one's own."""

import threading

import pytest
from django.db import connection

from api import waiting
from audit.ledger.queries import timeline
from ingestion.dispatch import leases
from ingestion.models import Batch, Chunk
from sites.models import TokenScope
from tests import steps
from tests.api.conftest import Program, make_token
from tests.api.test_problems import problem
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
    """Settle its documents as a shift would, and complete it."""
    (lease,) = leases.claim_due_chunks(1, by="here:1:1")
    assert Chunk.objects.get(pk=lease.chunk).batch == batch
    for item, decided in zip(lease.items, verdicts, strict=True):
        steps.start_checking(item.document, lease.lease_id, sha256="ab" * 32, size=10)
        steps.conclude(item.document, lease.lease_id, decided, pages=1)
    leases.return_chunk(lease.chunk, lease.lease_id)


def test_an_unfinished_batch_is_202_and_a_final_one_200(program, site):
    packet = make_packet(site, make_user(), FILED, None)
    before = program.get(f"batches/{packet.batch.reference}")
    assert before.status_code == 202
    assert before["X-Progress"] == "1/2 documents"
    assert before["Retry-After"].isdecimal()
    assert before.json()["progress"]["percentage"] == 50


def test_a_poll_that_finds_nothing_new_is_304(program, batch):
    first = program.get(f"batches/{batch.reference}")
    again = program.get(f"batches/{batch.reference}", if_none_match=first["ETag"])
    assert again.status_code == 304
    assert again.content == b""
    assert again["ETag"] == first["ETag"]
    assert again["Retry-After"].isdecimal()
    assert again["X-Progress"] == "0/1 documents"
    settle(batch.packets.get(), REJECTED)
    changed = program.get(f"batches/{batch.reference}", if_none_match=first["ETag"])
    assert changed.status_code in {200, 202}
    assert changed["ETag"] != first["ETag"]


def test_another_sites_batch_does_not_exist(stranger, batch):
    said = problem(stranger.get(f"batches/{batch.reference}"), 404)
    nobodys = problem(stranger.get("batches/BAT-2026-9999"), 404)
    assert said["detail"] == nobodys["detail"]
    assert stranger.get("batches").json()["items"] == []


def test_a_batch_of_several_sites_is_operations_own(ops, program, stranger, make_line):
    lines = [make_line(each.token.site) for each in (program, stranger)]
    reference = ops.send({"documents": lines}).json()["id"]
    assert ops.get(f"batches/{reference}").status_code == 202
    assert program.get(f"batches/{reference}").status_code == 404
    mine = program.get("documents").json()["items"]
    assert [each["site_id"] for each in mine] == ["0203"]


def test_batches_are_listed_newest_first_a_page_at_a_time(program, site, stranger):
    made = [make_batch(site).reference for _ in range(5)]
    make_batch(stranger.token.site)
    seen, address = [], "batches?limit=2"
    while address:
        response = program.get(address.removeprefix("http://testserver"))
        page = response.json()
        seen += [item["id"] for item in page["items"]]
        address = page["next"]
        assert response.headers.get("Link") == (f'<{address}>; rel="next"' if address else None)
        make_batch(site)  # what comes in meanwhile moves nothing
    assert seen == made[::-1]


def test_a_list_keeps_its_filters_on_the_next_page(program, site):
    for _ in range(3):
        make_batch(site)
    page = program.get("batches?status=QUEUED&site=0203&limit=2").json()
    assert "status=QUEUED" in page["next"]
    assert "site=0203" in page["next"]
    assert program.get("batches?status=COMPLETED").json()["items"] == []
    assert program.get("batches?site=0999").json()["items"] == []


def test_a_list_is_counted_in_few_queries(program, site, django_assert_max_num_queries):
    for _ in range(10):
        make_packet(site, make_user(), FILED, None)
    with django_assert_max_num_queries(4):
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
def test_how_long_to_wait_is_read_as_the_rfc_says(header, seconds):
    assert waiting.preferred(header) == seconds


def test_a_quarter_of_the_threads_may_wait(settings):
    settings.WEB_THREADS = 8
    with waiting.seats.one() as first, waiting.seats.one() as second:
        with waiting.seats.one() as third:
            assert (first, second, third) == (True, True, False)
        with waiting.seats.one() as fourth:
            assert not fourth
    with waiting.seats.one() as again:
        assert again


def test_where_no_thread_is_left_the_preference_is_passed_over(program, batch, settings):
    settings.WEB_THREADS = 1
    with waiting.seats.one():
        response = program.get(f"batches/{batch.reference}", prefer="wait=20")
    assert response.status_code == 202
    assert not response.has_header("Preference-Applied")


def test_a_wait_that_ends_in_vain_is_202_and_says_so(program, batch):
    response = program.get(f"batches/{batch.reference}", prefer="wait=1")
    assert response.status_code == 202
    assert response["Preference-Applied"] == "wait=1"
    assert "Prefer" in response["Vary"]
    batch.refresh_from_db()
    assert batch.state == "QUEUED", "waiting touches nothing"


@pytest.mark.django_db(transaction=True)
def test_a_wait_answers_with_the_final_batch(program, batch):
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


def test_the_manifest_of_a_final_batch_says_what_became_of_each_document(program, site):
    batch = make_batch(site, 2)
    early = program.get(f"batches/{batch.reference}/manifest")
    assert problem(early, 409)["detail"]
    assert early["Retry-After"].isdecimal()
    finish(batch, FILED, REJECTED)
    response = program.get(f"batches/{batch.reference}/manifest")
    said = response.json()
    assert (said["batch"], said["status"]) == (batch.reference, "COMPLETED")
    filed, rejected = said["documents"]
    assert (filed["doc_id"], filed["state"], filed["sha256"]) == ("doc-1", "ARCHIVED", "ab" * 32)
    assert (rejected["state"], rejected["code"]) == ("REJECTED", "SIGNATURE_MISSING")
    assert rejected["do"]
    again = program.get(f"batches/{batch.reference}/manifest", if_none_match=response["ETag"])
    assert again.status_code == 304


def test_who_submitted_a_batch_may_cancel_it(program, site, make_line):
    reference = program.send({"documents": [make_line(site)]}).json()["id"]
    newer = Program(*make_token(TokenScope.SUBMIT, site=site))
    response = newer.ask("DELETE", f"batches/{reference}")
    assert (response.status_code, response.json()["status"]) == (200, "CANCELLED")
    again = program.ask("DELETE", f"batches/{reference}")
    assert again.json()["status"] == "CANCELLED"
    batch = Batch.objects.get()
    asked = [each for each in timeline(batch.subject) if each.event == "batch.cancel_requested"]
    assert [each.actor for each in asked] == [newer.token.actor]


def test_a_batch_in_a_workers_hands_is_cancelled_as_soon_as_it_lets_go(program, site, make_line):
    lines = [make_line(site, doc_id="a"), make_line(site, doc_id="b")]
    reference = program.send({"documents": lines}).json()["id"]
    (lease,) = leases.claim_due_chunks(1, by="here:1:1")
    response = program.ask("DELETE", f"batches/{reference}")
    assert response.status_code == 202
    assert response.json()["progress"]["step"] == "Cancelling"
    leases.return_chunk(lease.chunk, lease.lease_id)
    final = program.get(f"batches/{reference}")
    assert (final.status_code, final.json()["status"]) == (200, "CANCELLED")


def test_a_batch_that_has_ended_is_not_cancelled(program, site, make_line):
    reference = program.send({"documents": [make_line(site)]}).json()["id"]
    finish(Batch.objects.get(), FILED)
    problem(program.ask("DELETE", f"batches/{reference}"), 409)
    assert program.get(f"batches/{reference}").json()["status"] == "COMPLETED"


def test_a_batch_is_cancelled_by_its_submitter_or_by_operations_alone(program, stranger, ops, site):
    reference = make_packet(site, make_user("mara", sites=(site,)), None).batch.reference
    problem(stranger.ask("DELETE", f"batches/{reference}"), 404)
    problem(program.ask("DELETE", f"batches/{reference}"), 403)
    reader = Program(*make_token(TokenScope.READ, user=ops.token.user))
    problem(reader.ask("DELETE", f"batches/{reference}"), 403)
    submitter = Program(*make_token(TokenScope.SUBMIT, user=ops.token.user))
    problem(submitter.ask("DELETE", f"batches/{reference}"), 403)
    reviewer = Program(*make_token(user=make_staff("QA reviewers", "rita")))
    problem(reviewer.ask("DELETE", f"batches/{reference}"), 403)
    assert ops.ask("DELETE", f"batches/{reference}").status_code == 202
