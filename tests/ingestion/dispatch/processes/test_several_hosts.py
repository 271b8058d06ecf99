"""Tests of hosts that share a database and two buckets, and no folders.

The hosts are separate processes with separate folders. One of them may be behind a network whose
links can be cut.
"""

import signal
from contextlib import contextmanager, nullcontext
from functools import partial

import pytest
from django.core.files.base import ContentFile
from django.db import connection

from audit.verification import verify
from ingestion.core.states import DocumentState
from ingestion.intake import registration
from ingestion.models import Chunk, WorkerHost
from ingestion.operations import reconciliation
from ingestion.storage.archive_verification import verify_parts
from samples.portal import SamplePortal, SiteLimit
from sites.models import Portal, Site
from tests.factories import make_user, put_on_record
from tests.ingestion.hosts import (
    PATIENT,
    environment,
    eventually,
    find,
    kill,
    stop_host,
    worker_host,
)
from tests.ingestion.networks import network, relay
from tests.ingestion.storage.buckets import use_buckets
from tests.ingestion.whole_batches import (
    assert_filed_once,
    assert_outcomes,
    has_settled_documents,
    is_completed,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.only_on("postgresql", reason="with SQLite there is one host"),
]
# The limit that the portal enforces. SiteLedger is configured with a burst of 1: the difference
# allows for requests that leave a busy machine late. Two hosts with separate limits of this rate
# would still exceed it.
LIMIT = SiteLimit(2.0, 4)
ONE_AT_A_TIME = {"SHIFT_MAX_CHUNKS": "1"}  # so that chunks are left for the other host


@pytest.fixture
def buckets(s3, monkeypatch, settings):
    """The environment variables that are the same for every host."""
    settings.CHUNK_SIZE = 2
    return use_buckets(s3, monkeypatch, settings) | ONE_AT_A_TIME


@pytest.fixture
def terms(buckets, broker):
    return buckets | broker


@pytest.fixture
def folders(tmp_path):
    """A function that returns the environment variables for the folders of one host."""

    def folders(name):
        own = tmp_path / name
        own.mkdir()
        named = {f"{kind}_DIR": str(own / kind.lower()) for kind in ("SPOOL", "ARCHIVE", "ANCHOR")}
        return {"SITELEDGER_TESTS": str(own), **named}

    return folders


@contextmanager
def strict_portal(corpus, submit, *, through=nullcontext):
    """Yield a batch, its portal, which counts requests, and the way to it: `through(portal)`."""
    limit = {corpus.expectations[0].site_id: LIMIT}
    with SamplePortal(corpus.directory, limit, faults=0) as portal, through(portal) as way:
        batch = submit(corpus, way)
        Portal.objects.update(rate_per_second=LIMIT.rate_per_second, burst=1)
        yield batch, portal, way


def upload(corpus):
    """Upload a document as the form does, and return its batch."""
    expected = corpus.expectations[0]
    content = (corpus.files / expected.site_id / f"{expected.doc_id}.pdf").read_bytes()
    file = registration.UploadedDocument("sent.pdf", "cv", "Ada", ContentFile(content, "sent.pdf"))
    user = make_user()
    put_on_record()  # hosts verify the ledger after the batch
    return registration.register_upload(site=Site.objects.get(), user=user, files=[file]).batch


def find_busy_workers(host):
    """Return the workers of this host that hold a chunk now."""
    owners = Chunk.objects.running().values_list("lease_owner", flat=True)
    return find(host, "worker") & {int(owner.split(":")[1]) for owner in owners}


def assert_nothing_lost_or_repeated(corpus, batch, portal):
    assert_outcomes(corpus, batch)
    assert_filed_once()
    assert portal.violations.total() == 0
    assert not list(reconciliation.check_document_rows_against_ledger())
    assert verify.verify_ledger().intact
    parts = {sha256[:2] for sha256 in batch.documents.values_list("sha256", flat=True) if sha256}
    assert verify_parts(sorted(parts), asked_by="system:tests").intact


@pytest.mark.slow
def test_two_hosts_that_share_only_database_and_buckets_work_on_one_batch(
    one_site, submit, settings, terms, folders, tmp_path
):
    with (
        worker_host(settings, **terms | folders("one") | PATIENT) as one,
        worker_host(settings, **terms | folders("two") | PATIENT) as two,
    ):
        # Otherwise the first host might finish the batch before the second has started.
        eventually(lambda: WorkerHost.objects.count() == 2)
        with strict_portal(one_site, submit) as (batch, portal, _):
            eventually(lambda: find_busy_workers(one) and find_busy_workers(two))
            sent = upload(one_site)
            eventually(lambda: is_completed(batch) and is_completed(sent))
    assert_nothing_lost_or_repeated(one_site, batch, portal)
    assert sent.documents.get().state not in {DocumentState.HELD, DocumentState.CANCELLED}
    assert not batch.chunks.exclude(attempts=1).exists()
    assert not list(tmp_path.glob("*/archive/*"))


@pytest.mark.slow
def test_another_host_continues_the_work_of_a_killed_host(
    one_site, submit, settings, terms, folders
):
    with (
        worker_host(settings, **terms | folders("one")) as one,
        worker_host(settings, **terms | folders("two")) as two,
    ):
        # Otherwise the first host might finish the batch before the second has started.
        eventually(lambda: WorkerHost.objects.count() == 2)
        with strict_portal(one_site, submit) as (batch, portal, _):
            eventually(lambda: find_busy_workers(two) and freeze_busy_worker(one))
            kill(one, "all")
            one.kill()
            eventually(lambda: is_completed(batch))
    assert batch.chunks.filter(attempts__gt=1).exists()
    assert_nothing_lost_or_repeated(one_site, batch, portal)


@pytest.mark.slow
def test_a_slow_portal_does_not_delay_other_sites_on_any_host(
    two_sites, submit, settings, terms, folders
):
    slow = two_sites.expectations[0].site_id
    several = {"SHIFT_MAX_CHUNKS": "4"}
    with (
        worker_host(settings, **terms | several | folders("one")),
        worker_host(settings, **terms | several | folders("two")),
        SamplePortal(two_sites.directory, {slow: SiteLimit(0.25, 4)}, faults=0) as portal,
    ):
        eventually(lambda: WorkerHost.objects.count() == 2)
        batch = submit(two_sites, portal)
        Portal.objects.filter(sites__site_id=slow).update(rate_per_second=0.25, burst=1)
        others = batch.documents.exclude(site__site_id=slow)
        eventually(lambda: not others.filter(settled_at=None).exists())
        its_own = batch.documents.filter(site__site_id=slow)
        assert its_own.filter(settled_at=None).count() > its_own.count() / 2
        eventually(lambda: is_completed(batch))
    assert_nothing_lost_or_repeated(two_sites, batch, portal)


def freeze_busy_worker(host):
    """Freeze the worker of the host if it holds a chunk. Return whether it did."""
    kill(host, "worker", signal.SIGSTOP)
    if find_busy_workers(host):
        return True
    kill(host, "worker", signal.SIGCONT)
    return False


@contextmanager
def through_a_relay(machine, portal):
    with relay(machine.here("portal"), portal.base_url.rpartition(":")[2]) as passed:
        passed.base_url = f"http://{machine.here('portal')}:{passed.port}"
        yield passed


@contextmanager
def cut_off(machine, link):
    machine.cut(link)
    try:
        yield
    finally:
        machine.restore(link)


@contextmanager
def far_host(machine, s3, settings, terms):
    """A host behind two links: one to the database and the buckets, one to the portals."""
    here, own = machine.here("database"), environment(settings)["DATABASE_URL"]
    with (
        relay(here, connection.settings_dict["PORT"]) as database,
        relay(here, s3.meta.endpoint_url.rpartition(":")[2]) as store,
    ):
        address = f"{here}:{database.port}"
        endpoint = f"http://{here}:{store.port}"
        changes = terms | {
            "DATABASE_URL": own.replace(
                "127.0.0.1:{PORT}".format(**connection.settings_dict), address
            ),
            "ARCHIVE_S3_ENDPOINT": endpoint,
            "SPOOL_S3_ENDPOINT": endpoint,
        }
        assert address in changes["DATABASE_URL"]
        with worker_host(settings, *machine.before, **changes) as host:
            yield host


@pytest.mark.slow
def test_a_host_cut_off_from_the_database_stops_before_its_leases_can_be_reused(
    one_site, submit, settings, s3, buckets, folders
):
    """Its link to the portal stays open, so only the host itself can stop its requests."""
    settings.CHUNK_SIZE = 50
    long_lease = {"LEASE_SECONDS": "12", "HEARTBEAT_SECONDS": "3"}
    with (
        network() as machine,
        strict_portal(one_site, submit, through=partial(through_a_relay, machine)) as scene,
        far_host(machine, s3, settings, buckets | long_lease | folders("far")) as far,
    ):
        batch, portal, way = scene
        eventually(lambda: has_settled_documents(batch) and find(far, "parser"))
        with (
            cut_off(machine, "database"),
            worker_host(settings, **buckets | long_lease | folders("near")) as near,
        ):
            until = wait_for_end_of_lease()
            assert not find(far, "parser")
            assert way.last_received_at(machine.there("portal")) < until.timestamp()
            eventually(lambda: find_busy_workers(near))
            eventually(lambda: is_completed(batch))
        stop_host(near)
        sent = upload(one_site)
        eventually(lambda: is_completed(sent))  # by the host that was cut off
    assert_nothing_lost_or_repeated(one_site, batch, portal)


def wait_for_end_of_lease():
    """Wait until the only lease is ended by another host. Returns until when it was valid."""
    lease, until = Chunk.objects.running().values_list("lease_id", "lease_expires_at").get()
    seen = [until]

    def is_over():
        rows = Chunk.objects.filter(lease_id=lease).values_list("lease_expires_at", flat=True)
        seen.extend(rows)
        return not rows

    eventually(is_over)
    return seen[-1]
