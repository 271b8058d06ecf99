"""Hosts that share a database and two buckets, and nothing else: no folder, no memory, no name.

Separate processes with separate folders; one of them may stand behind a network that is cut.
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
from tests.ingestion.hosts import environment, eventually, find, kill, stop_host, worker_host
from tests.ingestion.networks import network, relay
from tests.ingestion.scenes import (
    each_was_filed_once,
    everything_is_as_expected,
    is_completed,
    some_are_settled,
)
from tests.ingestion.storage.buckets import in_s3

pytestmark = pytest.mark.django_db(transaction=True)
# What the portal counts. We are told of a burst of one: the rest is for requests that leave a busy
# machine late. Two hosts that each kept this rate for themselves would be refused all the same.
LIMIT = SiteLimit(2.0, 4)
ONE_AT_A_TIME = {"SHIFT_MAX_CHUNKS": "1"}  # so that there is something left for the other


@pytest.fixture(autouse=True)
def _postgresql():
    if connection.vendor != "postgresql":
        pytest.skip("with SQLite there is one host")


@pytest.fixture
def buckets(s3, monkeypatch, settings):
    """What the environment of every host says."""
    settings.CHUNK_SIZE = 2
    return in_s3(s3, monkeypatch, settings) | ONE_AT_A_TIME


@pytest.fixture
def terms(buckets, broker):
    return buckets | broker


@pytest.fixture
def folders(tmp_path):
    """What the environment of a host says of its own folders; nobody else has them."""

    def folders(name):
        own = tmp_path / name
        own.mkdir()
        named = {f"{kind}_DIR": str(own / kind.lower()) for kind in ("SPOOL", "ARCHIVE", "ANCHOR")}
        return {"SITELEDGER_TESTS": str(own), **named}

    return folders


@contextmanager
def strict_portal(corpus, submit, *, through=nullcontext):
    """A batch whose portal counts requests, and where it is found: `through` leads to it."""
    limit = {corpus.expectations[0].site_id: LIMIT}
    with SamplePortal(corpus.directory, limit, faults=0) as portal, through(portal) as way:
        batch = submit(corpus, way)
        Portal.objects.update(rate_per_second=LIMIT.rate_per_second, burst=1)
        yield batch, portal, way


def upload(corpus):
    """Send a document in the form, on a host that works nothing. Answers its batch."""
    expected = corpus.expectations[0]
    content = (corpus.files / expected.site_id / f"{expected.doc_id}.pdf").read_bytes()
    file = registration.UploadedDocument("sent.pdf", "cv", "Ada", ContentFile(content, "sent.pdf"))
    user = make_user()
    put_on_record()  # hosts verify the ledger after the batch
    return registration.register_upload(site=Site.objects.get(), user=user, files=[file]).batch


def at_work(host):
    """Does a worker of this host hold a chunk just now?"""
    owners = Chunk.objects.running().values_list("lease_owner", flat=True)
    return find(host, "worker") & {int(owner.split(":")[1]) for owner in owners}


def nothing_is_lost_or_twice(corpus, batch, portal):
    everything_is_as_expected(corpus, batch)
    each_was_filed_once()
    assert portal.violations.total() == 0
    assert not list(reconciliation.rows_agree_with_the_ledger())
    assert verify.verify_ledger().intact
    parts = {sha256[:2] for sha256 in batch.documents.values_list("sha256", flat=True) if sha256}
    assert verify_parts(sorted(parts), asked_by="system:tests").intact


def test_two_hosts_with_nothing_in_common_but_database_and_buckets_do_a_batch_together(
    one_site, submit, settings, terms, folders, tmp_path
):
    with (
        worker_host(settings, **terms | folders("one")) as one,
        worker_host(settings, **terms | folders("two")) as two,
    ):
        # Else the first might be done before the second has started.
        eventually(lambda: WorkerHost.objects.count() == 2)
        with strict_portal(one_site, submit) as (batch, portal, _):
            eventually(lambda: at_work(one) and at_work(two))
            sent = upload(one_site)
            eventually(lambda: is_completed(batch) and is_completed(sent))
    nothing_is_lost_or_twice(one_site, batch, portal)
    assert sent.documents.get().state not in {DocumentState.HELD, DocumentState.CANCELLED}
    assert not batch.chunks.exclude(attempts=1).exists()
    assert not list(tmp_path.glob("*/archive/*"))


@pytest.mark.slow
def test_the_work_of_a_killed_host_is_done_by_the_other(one_site, submit, settings, terms, folders):
    with (
        strict_portal(one_site, submit) as (batch, portal, _),
        worker_host(settings, **terms | folders("one")) as one,
        worker_host(settings, **terms | folders("two")) as two,
    ):
        eventually(lambda: at_work(two) and frozen_at_work(one))
        kill(one, "all")
        one.kill()
        eventually(lambda: is_completed(batch))
    assert batch.chunks.filter(attempts__gt=1).exists()
    nothing_is_lost_or_twice(one_site, batch, portal)


@pytest.mark.slow
def test_a_slow_portal_delays_neither_host(two_sites, submit, settings, terms, folders):
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
    nothing_is_lost_or_twice(two_sites, batch, portal)


def frozen_at_work(host):
    """Stop its worker where it stands, if it holds a chunk there."""
    kill(host, "worker", signal.SIGSTOP)
    if at_work(host):
        return True
    kill(host, "worker", signal.SIGCONT)
    return False


# --- a network that is cut ----------------------------------------------------------------------


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
        machine.mend(link)


@contextmanager
def far_host(machine, s3, settings, terms):
    """A host behind the two links: database and buckets by the one, portals by the other."""
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
    """Its way to the portal stays open, so that only the host itself can stop."""
    settings.CHUNK_SIZE = 50
    patient = {"LEASE_SECONDS": "12", "HEARTBEAT_SECONDS": "3"}
    with (
        network() as machine,
        strict_portal(one_site, submit, through=partial(through_a_relay, machine)) as scene,
        far_host(machine, s3, settings, buckets | patient | folders("far")) as far,
    ):
        batch, portal, way = scene
        eventually(lambda: some_are_settled(batch) and find(far, "parser"))
        with (
            cut_off(machine, "database"),
            worker_host(settings, **buckets | patient | folders("near")) as near,
        ):
            until = reused()
            assert not find(far, "parser")
            assert way.last_heard(machine.there("portal")) < until.timestamp()
            eventually(lambda: at_work(near))
            eventually(lambda: is_completed(batch))
        stop_host(near)
        sent = upload(one_site)
        eventually(lambda: is_completed(sent))  # by the one that is back
    nothing_is_lost_or_twice(one_site, batch, portal)


def reused():
    """Wait until the one lease that is held is nobody's. Answers until when it ran."""
    lease, until = Chunk.objects.running().values_list("lease_id", "lease_expires_at").get()
    seen = [until]

    def is_over():
        rows = Chunk.objects.filter(lease_id=lease).values_list("lease_expires_at", flat=True)
        seen.extend(rows)
        return not rows

    eventually(is_over)
    return seen[-1]
