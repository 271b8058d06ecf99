"""Tests that pages and the HTTP interface say where the documents of a site come from."""

import pytest

from ingestion.documents.portal_sources import SiteSourceKind, describe_source
from ingestion.models import PortalLimitState
from sites.models import Portal
from tests.factories import make_batch
from tests.web.conftest import text

NOT_RESPONDING = "The portal of this site does not respond."


@pytest.fixture
def portal(site):
    return site.portal


@pytest.fixture
def mirror(portal):
    address = "https://mirror.example/0203/"
    return Portal.objects.create(
        key="cro-mirror",
        base_url=address,
        approved_origin="https://mirror.example:443",
        mirror_of=portal,
    )


def stop(portal):
    PortalLimitState.objects.create(portal=portal, breaker="OPEN", probe_at=2_000_000_000_000_000)


def test_the_page_of_the_site_and_the_packet_name_the_mirror(signed_in, site, portal, mirror):
    packet = make_batch(site).packets.get()
    pages = ("/sites/0203/", f"/packets/{packet.reference}/")
    assert not any(NOT_RESPONDING in text(signed_in.get(page)) for page in pages)
    etag = signed_in.get(pages[1], headers={"X-Fragment": "1"})["ETag"]
    stop(portal)
    for page in pages:
        content = text(signed_in.get(page))
        assert NOT_RESPONDING in content
        assert "downloaded from the mirror cro-mirror" in content
        assert "Upload urgent documents" not in content
    headers = {"X-Fragment": "1", "If-None-Match": etag}
    assert "cro-mirror" in text(signed_in.get(pages[1], headers=headers)), "the part is sent anew"


def test_without_a_mirror_the_site_is_asked_to_upload(signed_in, site, portal):
    packet = make_batch(site).packets.get()
    stop(portal)
    for page in ("/sites/0203/", f"/packets/{packet.reference}/"):
        content = text(signed_in.get(page))
        assert 'href="/packets/new/?site=0203">Upload urgent documents' in content


def test_after_the_time_of_the_probe_the_portal_is_asked_with_the_next_document(
    signed_in, site, portal
):
    stop(portal)
    assert "The portal is asked again from <time" in text(signed_in.get("/sites/0203/"))
    PortalLimitState.objects.update(probe_at=1)
    page = text(signed_in.get("/sites/0203/"))
    assert "The portal is asked again with the next document." in page
    assert "asked again from" not in page


def test_the_start_page_asks_for_uploads_only_if_no_mirror_responds(signed_in, portal, mirror):
    stop(portal)
    assert "Portal not responding" not in text(signed_in.get("/"))
    stop(mirror)
    assert "Portal not responding" in text(signed_in.get("/"))


def test_the_dashboard_names_the_source_that_is_used_instead(as_role, site, portal, mirror):
    operations = as_role("Operations")
    stop(portal)
    assert "Documents come from the mirror cro-mirror" in text(operations.get("/admin/ops/"))
    stop(mirror)
    page = text(operations.get("/admin/ops/"))
    assert "Sites are asked to upload" in page
    assert f"It is a mirror of {portal.key}." in page
    assert describe_source(site).kind is SiteSourceKind.UPLOAD
