"""Stuck items are resolved with a reason, which is recorded."""

from datetime import timedelta

import pytest
from django.utils import timezone

from audit.ledger import queries
from ingestion.models import Chunk, Document
from tests.factories import make_batch, make_leased
from tests.web.conftest import text
from tests.web.operations.conftest import hold

PAGE = "/admin/ops/stuck/"
WHY = "The portal was repaired this morning."


def states(documents):
    rows = Document.objects.filter(pk__in=[document.pk for document in documents]).order_by("pk")
    return list(rows.values_list("state", flat=True))


def test_the_page_says_that_there_are_no_stuck_items(ops):
    assert "There are no stuck items." in text(ops.get(PAGE))


def test_selected_documents_return_to_the_queue_and_the_others_stay(ops, site):
    held = hold(site, 3)
    sent = {"what": "chosen", "chosen": [held[0].pk, held[2].pk], "reason": WHY}
    answer = ops.post(f"{PAGE}retry/", sent, follow=True)
    assert "2 documents are in the queue again." in text(answer)
    assert states(held) == ["RECEIVED", "HELD", "RECEIVED"]
    entry = queries.list_entries(held[0].subject)[-1]
    assert entry.event == "document.tried_again"
    assert entry.actor.startswith("user:")
    assert entry.detail["reason"] == WHY


def test_all_documents_of_one_reason_return_to_the_queue_together(ops, site):
    one, other = hold(site, 2), hold(site, 2, "PORTAL_UNAVAILABLE")
    sent = {"what": "all", "code": "PORTAL_UNAVAILABLE", "reason": WHY}
    ops.post(f"{PAGE}retry/", sent)
    assert (states(one), states(other)) == (["HELD"] * 2, ["RECEIVED"] * 2)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"what": "chosen", "reason": WHY}, "Select at least one item in the list."),
        ({"what": "all", "reason": ""}, "Enter a reason."),
        ({"what": "all", "reason": "because"}, "Enter a reason of at least 10 characters."),
        ({"what": "chosen", "chosen": "1 OR 1=1", "reason": WHY}, "Select at least one"),
    ],
)
def test_an_incomplete_form_is_shown_again_and_changes_nothing(ops, site, sent, message):
    held = hold(site)
    answer = ops.post(f"{PAGE}retry/", sent)
    assert answer.status_code == 400
    page = " ".join(answer.content.decode().split())
    assert message in page
    assert "<title>Error: Stuck items" in page
    assert f'value="{sent["reason"]}"' in page or not sent["reason"]
    assert states(held) == ["HELD"]


def test_an_expired_lease_is_released_with_a_reason(ops, site):
    chunk, _ = make_leased(2, site)
    Chunk.objects.update(lease_expires_at=timezone.now() - timedelta(minutes=1))
    assert "Expired leases" in text(ops.get(PAGE))
    sent = {"what": "chosen", "chosen": chunk.pk, "reason": WHY}
    assert "1 lease was released." in text(ops.post(f"{PAGE}release/", sent, follow=True))
    [entry] = queries.list_entries(f"chunk:{chunk.pk}")
    assert (entry.event, entry.detail["reason"]) == ("chunk.released", WHY)


def test_documents_past_their_deadline_are_retried_at_once(ops, site):
    [document] = make_batch(site).documents.all()
    past = timezone.now() - timedelta(days=2)
    Document.objects.update(failing_since=past)
    assert "Documents past their retry deadline" in text(ops.get(PAGE))
    sent = {"what": "chosen", "chosen": document.pk, "reason": WHY}
    assert "1 document is due now." in text(ops.post(f"{PAGE}now/", sent, follow=True))
    assert queries.list_entries(document.subject)[-1].detail["reason"] == WHY


@pytest.mark.parametrize("address", ["retry/", "release/", "now/"])
def test_people_without_the_permission_cannot_act_on_stuck_items(as_role, signed_in, site, address):
    held = hold(site)
    sent = {"what": "all", "chosen": held[0].pk, "reason": WHY}
    assert signed_in.post(PAGE + address, sent).status_code == 403
    assert as_role("Regulatory affairs").post(PAGE + address, sent).status_code == 403
    assert states(held) == ["HELD"]


@pytest.mark.parametrize("address", ["retry/", "release/", "now/"])
def test_stuck_items_are_not_changed_by_get_requests(ops, address):
    assert ops.get(PAGE + address).status_code == 405


def test_held_documents_are_filtered_by_reason_and_paged(ops, site, monkeypatch):
    monkeypatch.setattr("web.operations.stuck.ITEMS_PER_PAGE", 2)
    hold(site, 3)
    hold(site, 1, "PORTAL_UNAVAILABLE")
    assert "Page 1 of 2" in text(ops.get(PAGE))
    narrowed = text(ops.get(f"{PAGE}?code=PORTAL_UNAVAILABLE"))
    assert "Retry 1 document" in narrowed


def test_a_site_without_progress_is_listed_with_the_cause(ops, site, settings):
    settings.SITE_STALL_SECONDS = 1800
    batch = make_batch(site, documents=2)
    before = timezone.now() - timedelta(hours=1)
    Document.objects.update(received_at=before)
    Chunk.objects.update(created_at=before)
    page = text(ops.get(PAGE))
    assert "Sites without progress" in page
    assert batch.reference in page
    assert "No worker has claimed its documents." in page
    assert "There are no stuck items." not in page
