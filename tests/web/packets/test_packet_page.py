"""The page of a packet: its progress, then the outcome of each document."""

from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings as configured
from django.utils import timezone

from ingestion.core.states import DocumentState
from ingestion.dispatch.processes import host_heartbeat
from ingestion.models import Chunk, WorkerHost
from ingestion.rules.findings import RuleFinding
from tests.factories import make_batch, verdict
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
    settle,
)
from web.packets.packets import POLL_MILLISECONDS


@pytest.fixture(autouse=True)
def host(db):
    """Return a worker host that has just sent a heartbeat."""
    return WorkerHost.objects.create(name="h", host="worker-01", workers=1, software="1")


def page(client, packet, **headers):
    return client.get(f"/packets/{packet.reference}/", headers=headers)


def content_of(client, packet):
    return page(client, packet).content.decode()


def test_the_page_shows_how_many_documents_are_checked(signed_in, site, mara):
    text = content_of(signed_in, make_packet(site, mara, FILED, REJECTED, None))
    assert "Checking your documents" in text
    assert "2 of 3 checked. 1 filed, 1 rejected." in text
    assert '<progress class="sl-progress" max="3" value="2"' in text
    assert "data-done" not in text


def test_a_rejection_shows_what_happened_why_what_to_do_and_its_code(signed_in, site, mara):
    text = content_of(signed_in, make_packet(site, mara, REJECTED))
    assert "1 of 1 document needs your attention" in text
    for part in [
        "Page 2 is not signed.",
        "needs the signature of",
        "Ask the chair",
        "SIGNATURE_MISSING",
    ]:
        assert part in text
    assert "Upload a corrected file" in text
    assert "/correct/" in text


def test_a_duplicate_is_shown_as_a_good_outcome(signed_in, site, mara):
    first = make_packet(site, mara, FILED).documents.get()
    duplicate = make_packet(site, mara, None)
    duplicate.documents.update(expected_sha256=first.sha256)
    settle(duplicate, FILED)
    text = content_of(signed_in, duplicate)
    assert duplicate.documents.get().state == DocumentState.DEDUPED
    assert "Already on file since" in text
    assert "You do not need to do anything." in text
    assert "Upload a corrected file" not in text


def test_a_held_document_is_not_described_as_an_error_of_the_site(signed_in, site, mara):
    held = verdict("HELD", RuleFinding("INTERNAL_ERROR"))
    text = content_of(signed_in, make_packet(site, mara, held))
    assert "Held by us. You do not need to do anything" in text
    assert "There is a technical problem on our side or at the portal." in text


def test_a_document_in_review_waits_for_qa(signed_in, site, mara):
    text = content_of(signed_in, make_packet(site, mara, IN_REVIEW))
    assert "QA is reviewing this document." in text
    assert "names site 0417" in text


def test_the_fragment_contains_only_the_live_parts(signed_in, site, mara):
    packet = make_packet(site, mara, None)
    fragment = page(signed_in, packet, X_Fragment="1").content.decode()
    assert "data-live" in fragment
    assert "<html" not in fragment


def test_an_unchanged_packet_answers_304(signed_in, site, mara, django_assert_max_num_queries):
    packet = make_packet(site, mara, None, None)
    etag = page(signed_in, packet, X_Fragment="1").headers["ETag"]
    with django_assert_max_num_queries(6):  # session, user, packet, one sum, the source, the hosts
        answer = page(signed_in, packet, X_Fragment="1", If_None_Match=etag)
    assert (answer.status_code, answer.content) == (304, b"")


def test_every_transition_of_a_document_changes_the_page(signed_in, site, mara):
    packet = make_packet(site, mara, None, None)
    etag = page(signed_in, packet, X_Fragment="1").headers["ETag"]
    settle(packet, FILED)
    answer = page(signed_in, packet, X_Fragment="1", If_None_Match=etag)
    assert answer.status_code == 200
    assert "1 of 2 checked" in answer.content.decode()


def test_a_document_that_waits_for_its_portal_states_the_time_of_the_next_attempt(signed_in, site):
    packet = make_batch(site).packets.get()
    etag = page(signed_in, packet, X_Fragment="1").headers["ETag"]
    assert "Next attempt" not in content_of(signed_in, packet)
    Chunk.objects.update(next_dispatch_at=datetime(2040, 5, 1, 20, 24, tzinfo=UTC))
    answer = page(signed_in, packet, X_Fragment="1", If_None_Match=etag)
    assert "1 May 2040, 20:24 UTC" in answer.content.decode()


def test_the_complete_page_never_answers_304(signed_in, site, mara):
    packet = make_packet(site, mara, None)
    etag = page(signed_in, packet, X_Fragment="1").headers["ETag"]
    assert page(signed_in, packet, If_None_Match=etag).status_code == 200


def test_the_page_shows_that_all_documents_are_checked(signed_in, site, mara):
    packet = make_packet(site, mara, FILED, FILED)
    text = content_of(signed_in, packet)
    assert "All documents are on file" in text
    assert "data-done" in text


def test_documents_are_listed_in_the_order_of_sending(signed_in, site, mara):
    packet = make_packet(site, mara, None, None, None)
    settle(packet, None, REJECTED)
    text = content_of(signed_in, packet)
    sent = packet.documents.order_by("pk")
    places = [text.index(f'id="{document.subject.replace(":", "-")}"') for document in sent]
    assert places == sorted(places)


def test_the_number_of_queries_does_not_grow_with_the_documents(
    signed_in, site, mara, django_assert_max_num_queries
):
    packet = make_packet(site, mara, REJECTED, FILED, IN_REVIEW)
    with django_assert_max_num_queries(21):
        page(signed_in, packet)


def test_text_of_a_site_is_displayed_and_not_run(signed_in, site, mara):
    packet = make_packet(site, mara, None)
    packet.documents.update(filename="<script>alert(1)</script>.pdf")
    assert "<script>alert" not in content_of(signed_in, packet)


@pytest.mark.parametrize("address", ["/packets/", "/packets/a b/"])
def test_an_unknown_reference_is_not_found(signed_in, address):
    assert signed_in.get(address).status_code == 404


def test_a_failing_download_is_shown_as_being_retried(signed_in, site, mara):
    packet = make_packet(site, mara, None)
    packet.documents.update(failing_since=timezone.now())
    assert "The download is retried. You can also upload the file here." in content_of(
        signed_in, packet
    )


def silent_for(host, seconds):
    WorkerHost.objects.filter(pk=host.pk).update(
        seen_at=timezone.now() - timedelta(seconds=seconds)
    )


@pytest.mark.parametrize("is_gone", [True, False], ids=["drained", "silent"])
def test_without_a_worker_the_page_says_that_checking_has_stopped(
    signed_in, site, mara, host, is_gone
):
    packet = make_packet(site, mara, None)
    etag = page(signed_in, packet, X_Fragment="1").headers["ETag"]
    if is_gone:
        host.delete()
    else:
        silent_for(host, 28)
    answer = page(signed_in, packet, X_Fragment="1", If_None_Match=etag)
    assert answer.status_code == 200, "the open page is told, though no document moved"
    text = answer.content.decode()
    assert "Checking your documents" not in text
    assert "Checking has stopped: no worker is running" in text
    assert "Your files are saved." in text


def test_a_returning_worker_is_shown(signed_in, site, mara, host):
    packet = make_packet(site, mara, None)
    silent_for(host, 28)
    etag = page(signed_in, packet, X_Fragment="1").headers["ETag"]
    silent_for(host, 1)
    text = page(signed_in, packet, X_Fragment="1", If_None_Match=etag).content.decode()
    assert "Checking your documents" in text


def test_a_missing_worker_is_shown_within_thirty_seconds():
    max_delay_seconds = configured.HEARTBEAT_SECONDS * host_heartbeat.MAX_MISSED_HEARTBEATS
    assert max_delay_seconds + POLL_MILLISECONDS / 1000 <= 30


def test_a_waiting_document_shows_that_no_worker_is_running(signed_in, site, mara, host):
    document = make_packet(site, mara, None).documents.get()
    assert (
        "The document is waiting to be checked."
        in signed_in.get(f"/documents/{document.pk}/").content.decode()
    )
    host.delete()
    text = signed_in.get(f"/documents/{document.pk}/").content.decode()
    assert "No worker is running." in text
    assert "The document is waiting to be checked." not in text
