"""Tests of sites that make no progress while other sites of their batch do."""

import io
import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.utils import timezone

from audit.ledger.actors import Actor
from ingestion.core.breaker import BreakerState
from ingestion.core.states import BatchState, DocumentState
from ingestion.dispatch import leases
from ingestion.dispatch.completion_polls import CompletionPolls
from ingestion.documents import batches, progress
from ingestion.documents.stuck_sites import find_stuck_sites
from ingestion.intake import registration, retrying
from ingestion.intake.submission import Submission
from ingestion.intake.submission_schemas import ManifestLine
from ingestion.management import waiting
from ingestion.models import Batch, BatchSource, Chunk, Document, PortalLimitState
from ingestion.operations import alarms, stuck
from tests import steps
from tests.factories import make_site

pytestmark = pytest.mark.django_db
OPS = Actor("system:tests", "ops")
LONG_AGO = timedelta(hours=2)


@pytest.fixture(autouse=True)
def _folders(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path
    settings.SITE_STALL_SECONDS = 3600


@pytest.fixture
def batch():
    """Return a batch of two sites that was queued two hours ago, with two documents of each."""
    sites = [make_site("1041"), make_site("1042")]
    lines = [
        ManifestLine(
            site_id=site.site_id,
            doc_id=f"doc-{number}",
            url=f"{site.portal.base_url}doc-{number}.pdf",
            schema_version="v2.1",
            document_type="cv",
        )
        for site in sites
        for number in (1, 2)
    ]
    batch = registration.register_manifest(lines, Submission(BatchSource.MANIFEST, OPS))
    began = timezone.now() - LONG_AGO
    Document.objects.update(received_at=began)
    Chunk.objects.update(created_at=began)
    Batch.objects.update(created_at=began, started_at=began)
    batch.refresh_from_db()
    return batch


def move_site(site_id):
    """Settle one document of a site, and return its chunk with the other one."""
    busy = Chunk.objects.exclude(site__site_id=site_id).values_list("site", flat=True)
    [lease] = leases.claim_due_chunks(1, by="here:1:1", busy_sites=busy)
    steps.give_up(lease.items[0].document, lease.lease_id, "DOWNLOAD_FAILED", {}, held=False)
    leases.return_chunk(lease.chunk, lease.lease_id)


def test_a_site_without_progress_is_named_while_another_one_moves(batch):
    move_site("1041")
    [found] = find_stuck_sites(timezone.now())
    assert (found.site, found.batch, found.cause) == ("1042", batch.reference, "no_worker")
    assert found.doc_ids == ("doc-1", "doc-2")
    assert found.since == Chunk.objects.get(site__site_id="1042").created_at
    reported = progress.get_progress(batch).as_json()["stuck_sites"]
    assert [each["site_id"] for each in reported] == ["1042"]
    assert stuck.count_stuck(timezone.now()) >= 1


def test_a_site_is_not_stuck_before_the_limit(batch, settings):
    settings.SITE_STALL_SECONDS = LONG_AGO.total_seconds() + 600
    assert find_stuck_sites(timezone.now()) == []


def test_documents_that_are_queued_again_start_the_clock_of_their_site_again(batch):
    move_site("1041")
    Chunk.objects.filter(site__site_id="1042").update(created_at=timezone.now())
    assert find_stuck_sites(timezone.now()) == []


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("portal_down", "its portal does not respond"),
        ("retrying", "its downloads fail and are retried"),
        ("working", "a worker has its documents and has finished none"),
    ],
)
def test_the_cause_of_a_stuck_site_is_named(batch, cause, text):
    move_site("1041")
    documents = Document.objects.filter(site__site_id="1042")
    if cause == "working":
        leases.claim_due_chunks(2, by="here:1:1")
    else:
        documents.update(failing_since=timezone.now() - LONG_AGO)
    if cause == "portal_down":
        portal = documents.first().site.portal
        PortalLimitState.objects.create(portal=portal, tat=0, breaker=BreakerState.OPEN)
    [found] = [each for each in find_stuck_sites(timezone.now()) if each.site == "1042"]
    assert (found.cause, found.cause_text) == (cause, text)


def test_an_alarm_names_the_stuck_sites(batch):
    move_site("1041")
    [alarm] = [each for each in alarms.find_alarms().alarms if each.key == "stuck_sites"]
    assert alarm.text.startswith("1 site makes no progress: site 1042 since ")
    assert "no worker has claimed its documents" in alarm.text


def test_the_command_status_names_the_stuck_sites(batch, capsys):
    move_site("1041")
    since = Chunk.objects.get(site__site_id="1042").created_at
    sentence = (
        f"site 1042 since {since:%Y-%m-%d %H:%M} UTC, because no worker has claimed its documents "
        f"({batch.reference})"
    )
    call_command("status", as_json=True)
    assert json.loads(capsys.readouterr().out)["stuck_sites"] == [sentence]
    call_command("status")
    assert f"stuck sites              {sentence}" in capsys.readouterr().out


def test_a_document_that_never_fails_has_a_deadline_after_the_last_of_its_site(batch, settings):
    """While others of its site are served, it waits for its turn, as at a slow portal."""
    settings.DISPATCH_DEADLINE_SECONDS = settings.SITE_STALL_SECONDS
    move_site("1041")
    [waiting] = Document.objects.unsettled().filter(site__site_id="1041")
    assert waiting.failing_since is None
    settled = Document.objects.filter(site__site_id="1041").exclude(pk=waiting.pk)
    settled.update(settled_at=timezone.now() - timedelta(minutes=30))
    assert "1041" not in {each.site for each in find_stuck_sites(timezone.now())}
    settled.update(settled_at=timezone.now() - timedelta(minutes=90))
    assert "1041" in {each.site for each in find_stuck_sites(timezone.now())}
    CompletionPolls().poll_due_batches()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.code) == (DocumentState.HELD, "CAPACITY")


def test_documents_of_an_ended_batch_that_were_queued_again_have_the_same_deadline(batch, settings):
    settings.DISPATCH_DEADLINE_SECONDS = settings.SITE_STALL_SECONDS
    for lease in leases.claim_due_chunks(9, by="here:1:1"):
        for item in lease.items:
            steps.give_up(item.document, lease.lease_id, "STORAGE_UNAVAILABLE", {}, held=True)
        leases.return_chunk(lease.chunk, lease.lease_id)
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETED
    Document.objects.update(settled_at=timezone.now() - LONG_AGO)
    retrying.retry_held(Document.objects.held(), by=OPS)
    Chunk.objects.update(created_at=timezone.now() - LONG_AGO)
    move_site("1041")
    [found] = find_stuck_sites(timezone.now())
    assert (found.site, found.documents) == ("1042", 2)
    CompletionPolls().poll_due_batches()
    held = Document.objects.held().values_list("site__site_id", "code")
    assert list(held) == [("1042", "CAPACITY")] * 2


def test_waiting_for_a_batch_names_its_stuck_site_once(batch):
    move_site("1041")

    class CancellingOutput(io.StringIO):
        """Cancels the batch when the site is named, so that the waiting ends."""

        def write(self, text):
            batches.cancel_batch(batch, by=OPS)
            return super().write(text)

    command = BaseCommand(stdout=io.StringIO(), stderr=CancellingOutput())
    waiting.report(batch, command, {"wait": True, "as_json": False})
    printed = command.stderr._out.getvalue()
    assert printed.count("Site 1042 has made no progress since") == 1
    assert "no worker has claimed its documents. Unfinished: doc-1, doc-2." in printed


def test_at_the_deadline_the_documents_of_a_stuck_site_are_held_and_the_others_continue(
    batch, settings
):
    settings.DISPATCH_DEADLINE_SECONDS = 3600
    move_site("1041")
    assert CompletionPolls().poll_due_batches() == 1
    states = batch.documents.order_by("site__site_id", "pk").values_list("state", flat=True)
    assert list(states)[1:] == [DocumentState.RECEIVED, DocumentState.HELD, DocumentState.HELD]
    assert set(Document.objects.held().values_list("code", flat=True)) == {"CAPACITY"}
    batch.refresh_from_db()
    assert batch.state == BatchState.IN_PROGRESS
    retrying.retry_held(Document.objects.held(), by=OPS)
    assert find_stuck_sites(timezone.now()) == [], "a retry starts the clock again"
