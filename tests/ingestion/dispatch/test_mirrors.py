"""Tests of mirrors: they deliver documents while the portal of a site does not respond."""

import dataclasses
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from audit.ledger.queries import list_entries
from ingestion.core.breaker import BreakerSettings, BreakerState
from ingestion.core.limiter import RequestRate
from ingestion.core.portal_limits import RequestOutcome
from ingestion.core.retry import RetryRules
from ingestion.dispatch import leases, portal_limit_rows
from ingestion.dispatch.shift import work_shift
from ingestion.documents import portal_sources
from ingestion.documents.portal_sources import SiteSourceKind, make_mirror_address
from ingestion.models import Document, PortalLimitState
from samples.portal import SamplePortal
from sites.models import Portal
from sites.portal_origin import parse_origin
from tests import steps
from tests.factories import make_batch, make_site

pytestmark = pytest.mark.django_db(transaction=True)
DEAD = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _quick_breaker(settings):
    rules = RetryRules(
        reschedule_seconds=0.01, backoff_base_seconds=0.001, backoff_cap_seconds=0.002
    )
    settings.INGEST_LIMITS = dataclasses.replace(settings.INGEST_LIMITS, retry=rules)
    settings.BREAKER = BreakerSettings(failures=3, cooldown_seconds=300)


def add_mirror(portal, base_url, number=1, **columns):
    columns = {
        "rate_per_second": 1000.0,
        "burst": 100,
        "allow_http": True,
        "allow_private_hosts": True,
        "approved_origin": parse_origin(base_url),
    } | columns
    return Portal.objects.create(
        key=f"{portal.key}-mirror-{number}",
        base_url=base_url,
        mirror_of=portal,
        mirror_order=number,
        **columns,
    )


def open_breaker(portal, probe_in=timedelta(minutes=5)):
    probe_at = round((timezone.now() + probe_in).timestamp() * 1e6)
    PortalLimitState.objects.update_or_create(
        portal=portal, defaults={"breaker": BreakerState.OPEN, "probe_at": probe_at}
    )


def list_source_changes(portal):
    return [
        (entry.detail["from"], entry.detail["to"])
        for entry in list_entries(portal.subject)
        if entry.event == "portal.source_changed"
    ]


def list_serving_mirrors(batch):
    """Return the mirrors that served the documents of a batch, by the ledger."""
    entries = list_entries(*(document.subject for document in batch.documents.all()))
    served = [entry for entry in entries if entry.event == "document.checking"]
    return {entry.detail["portal"]["mirror"] for entry in served}


def test_a_dead_portal_is_replaced_by_its_mirror_and_used_again_when_it_recovers(few, submit):
    with SamplePortal(few.directory, {}, faults=0) as portal:
        batch = submit(few, portal)
    site = batch.documents.first().site
    first = site.portal
    Portal.objects.update(rate_per_second=1000.0, burst=100)
    first.refresh_from_db()
    port = int(portal.base_url.rpartition(":")[2])
    with SamplePortal(few.directory, {}, faults=0) as other:
        path = urlsplit(first.base_url).path
        mirror = add_mirror(first, other.base_url + path)
        while batch.documents.unsettled().exists():
            work_shift()
        assert other.requests, "the mirror was asked"
    assert list_serving_mirrors(batch) == {mirror.key}
    assert not batch.documents.exclude(etag="").exists(), "an ETag of a mirror is not the portal's"
    assert list_source_changes(first) == [(first.key, mirror.key)]
    assert portal_sources.describe_source(site).kind is SiteSourceKind.MIRROR
    with SamplePortal(few.directory, {}, faults=0, port=port) as portal:
        PortalLimitState.objects.update(probe_at=0)
        recent = make_batch(site)
        Document.objects.filter(batch=recent).update(url=batch.documents.first().url)
        while recent.documents.unsettled().exists():
            work_shift()
        assert portal.requests, "the probe went to the portal itself"
    assert list_source_changes(first) == [(first.key, mirror.key), (mirror.key, first.key)]


def test_a_change_of_the_source_is_logged_with_both_sources(log):
    portal = make_site("1001", base_url=f"{DEAD}/docs/").portal
    mirror = add_mirror(portal, "http://127.0.0.1/a/")
    portal_limit_rows.reserve_tokens(portal.pk, RequestRate.of(100.0, 10), 1)
    for _ in range(5):
        portal_limit_rows.record_outcome(portal.pk, RequestOutcome.FAILED, BreakerSettings())
    [line] = log.read_lines("portal.source_changed")
    assert (line["from"], line["to"], line["site"]) == (portal.key, mirror.key, "1001")


def test_sources_are_asked_in_their_order_and_approved_ones_only():
    portal = make_site("1001", base_url=f"{DEAD}/docs/").portal
    now = timezone.now()
    assert portal_sources.choose_source(portal, now) == portal
    second = add_mirror(portal, "http://127.0.0.2/b/", 2)
    first = add_mirror(portal, "http://127.0.0.1/a/", 1)
    add_mirror(portal, "http://127.0.0.3/c/", 0, approved_origin="http://elsewhere:80")
    assert portal_sources.choose_source(portal, now) == portal
    open_breaker(portal)
    assert portal_sources.choose_source(portal, now) == first
    open_breaker(first)
    assert portal_sources.choose_source(portal, now) == second
    open_breaker(second)
    assert portal_sources.choose_source(portal, now) == portal, "it waits for its probe"
    open_breaker(first, probe_in=timedelta(seconds=-1))
    assert portal_sources.choose_source(portal, now) == first, "its probe is due"
    open_breaker(portal, probe_in=timedelta(seconds=-1))
    assert portal_sources.choose_source(portal, now) == portal, "the first source is probed"


def test_a_site_is_asked_to_upload_only_if_no_source_responds():
    site = make_site("1001", base_url=f"{DEAD}/docs/")
    sites = type(site).objects.all()
    assert not portal_sources.find_sites_to_upload(sites)
    open_breaker(site.portal)
    assert list(portal_sources.find_sites_to_upload(sites)) == [site]
    assert portal_sources.describe_source(site).kind is SiteSourceKind.UPLOAD
    mirror = add_mirror(site.portal, f"{DEAD}/mirror/")
    assert not portal_sources.find_sites_to_upload(sites)
    open_breaker(mirror)
    assert list(portal_sources.find_sites_to_upload(sites)) == [site]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://p.example/docs/a/b.pdf?v=2", "https://m.example/copy/a/b.pdf?v=2"),
        ("https://p.example/docs/b.pdf", "https://m.example/copy/b.pdf"),
        ("https://p.example/other/b.pdf", ""),
    ],
)
def test_the_address_at_a_mirror_follows_its_base_address(url, expected):
    portal = Portal(base_url="https://p.example/docs/")
    mirror = Portal(base_url="https://m.example/copy/")
    assert make_mirror_address(url, portal, mirror) == expected


def test_documents_that_the_mirror_does_not_have_wait_for_the_portal():
    site = make_site("1001", base_url=f"{DEAD}/docs/")
    batch = make_batch(site, documents=2)
    there, elsewhere = batch.documents.order_by("pk")
    Document.objects.filter(pk=elsewhere.pk).update(url=f"{DEAD}/other/doc-2.pdf")
    mirror = add_mirror(site.portal, f"{DEAD}/mirror/")
    open_breaker(site.portal)
    [lease] = leases.claim_due_chunks(1, by="here:1:1")
    asked = {item.document: (item.terms.key, item.url) for item in lease.items}
    assert asked[there.pk] == (mirror.key, f"{DEAD}/mirror/doc-1.pdf")
    assert asked[elsewhere.pk][0] == site.portal.key
    steps.give_up(there.pk, lease.lease_id, "DOWNLOAD_FAILED", {}, held=False)
    leases.return_chunk(lease.chunk, lease.lease_id)
    chunk = batch.chunks.get()
    assert chunk.next_dispatch_at == PortalLimitState.objects.get(portal=site.portal).next_probe_at


def test_a_mirror_condemns_no_document(few, submit):
    """The mirror has other bytes than the manifest declares, and lacks one document."""
    with SamplePortal(few.directory, {}, faults=0) as portal:
        batch = submit(few, portal)
        first = batch.documents.first().site.portal
        Portal.objects.update(rate_per_second=1000.0, burst=100)
        path = urlsplit(first.base_url).path
        Portal.objects.filter(pk=first.pk).update(base_url=f"{DEAD}{path}")
        first.refresh_from_db()
        for document in batch.documents.all():
            url = document.url.replace(portal.base_url, DEAD)
            Document.objects.filter(pk=document.pk).update(url=url, expected_sha256="0" * 64)
        missing = batch.documents.order_by("pk").last()
        Document.objects.filter(pk=missing.pk).update(url=f"{DEAD}{path}missing.pdf")
        add_mirror(first, portal.base_url + path)
        open_breaker(first)
        for _ in range(3):
            work_shift()
        assert len(portal.requests) >= 3
    assert set(batch.documents.values_list("state", flat=True)) == {"RECEIVED"}
    assert not batch.documents.exclude(counted_tries=0).exists(), "no document is blamed"
