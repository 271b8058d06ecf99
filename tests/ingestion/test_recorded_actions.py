"""Tests that each action has a ledger entry that names the person (R07)."""

import pytest

from audit.ledger import queries
from ingestion.dispatch import leases
from ingestion.documents import batches
from ingestion.intake import retrying
from tests import steps
from tests.factories import make_batch, make_user
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
    pdf,
    send,
)

pytestmark = [pytest.mark.requirement("R07"), pytest.mark.django_db]


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR, settings.ARCHIVE_DIR = tmp_path / "spool", tmp_path / "archive"
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATIC_ROOT.mkdir()


def named(event, subject=""):
    """Return the actors of the entries with this event."""
    found = queries.find_entries(
        queries.EntrySearch(event=event, subjects=[subject] if subject else [])
    )
    return [entry.actor.partition("@")[0] for entry in found]


@pytest.mark.slow
def test_an_upload_is_recorded(client, mara):
    client.force_login(mara)
    send(client, **{"file-0": pdf(), "type-0": "irb-approval"})
    assert named("batch.submitted") == [mara.actor_name]
    assert named("document.received") == [mara.actor_name]


@pytest.mark.parametrize(
    ("decided", "event"),
    [
        (FILED, "document.filed"),
        (REJECTED, "document.rejected"),
        (IN_REVIEW, "document.sent_to_review"),
    ],
)
def test_a_decision_of_the_checks_is_recorded(site, mara, decided, event):
    document = make_packet(site, mara, decided).documents.get()
    assert named("document.checking", document.subject) == ["system:worker"]
    assert named(event, document.subject) == ["system:worker"]


def test_a_retry_is_recorded():
    batch, ops = make_batch(), make_user("ops", is_staff=True)
    (lease,) = leases.claim_due_chunks(1, by="here:1:1")
    steps.give_up(lease.items[0].document, lease.lease_id, "PORTAL_UNAVAILABLE", {}, held=True)
    retrying.retry_held(batch.documents.all(), by=ops.actor)
    assert named("document.held") == ["system:worker"]
    assert named("document.tried_again") == [ops.actor_name]


def test_a_cancellation_is_recorded():
    batch, ops = make_batch(), make_user("ops", is_staff=True)
    batches.cancel_batch(batch, by=ops.actor)
    assert named("batch.cancel_requested", batch.subject) == [ops.actor_name]
    assert named("document.cancelled") == [ops.actor_name]
