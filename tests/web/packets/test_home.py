"""The start page of coordinators: documents that need attention, and packets with progress."""

import pytest

from ingestion.models import PortalLimitState
from tests.factories import make_user
from tests.web.scenes import (
    FILED,
    IN_REVIEW,
    REJECTED,
    make_packet,
    pdf,
)


def page(client):
    return client.get("/").content.decode()


def test_people_without_a_site_are_told_whom_to_ask(client, db):
    client.force_login(make_user("new"))
    assert "You are not assigned to a site yet" in page(client)


def test_a_site_without_packets_gets_a_link_to_the_upload_form(signed_in):
    assert "No packets yet" in page(signed_in)


def test_a_rejected_document_needs_attention(signed_in, site, mara):
    make_packet(site, mara, FILED, REJECTED)
    content = page(signed_in)
    assert "1 document needs your attention<" in content
    assert "Page 2 is not signed." in content
    assert "1 to correct" in content


def test_a_rejected_document_with_a_correction_needs_no_attention(signed_in, site, mara):
    make_packet(site, mara, REJECTED)
    make_packet(site, mara, FILED)
    assert "Nothing needs your attention" in page(signed_in)


def test_home_packet_and_site_page_show_the_same_counts(signed_in, site, mara):
    rejected = make_packet(site, mara, REJECTED)
    document = rejected.documents.get()
    packet_page, site_page = f"/packets/{rejected.reference}/", "/sites/0203/"

    def page_at(address):
        return " ".join(signed_in.get(address).content.decode().split())

    assert "1 document needs your attention<" in page_at("/")
    assert "1 to correct" in page_at("/")
    assert "1 of 1 document needs your attention" in page_at(packet_page)
    assert "1 document needs your attention<" in page_at(site_page)
    make_packet(site, mara, FILED)  # the same document, in a packet of its own
    assert "Nothing needs your attention" in page_at("/")
    assert "to correct" not in page_at("/")
    assert "1 replaced" in page_at("/")
    assert "Finished. 1 document has been replaced" in page_at(packet_page)
    assert "Upload a corrected file" not in page_at(packet_page)
    assert "Newer version:" in page_at(packet_page)
    assert "your attention" not in page_at(site_page)
    answer = signed_in.get(f"/documents/{document.pk}/correct/")
    assert answer.status_code == 409
    assert "A newer version was already sent." in answer.content.decode()


def test_a_corrected_document_needs_no_attention_on_any_page(signed_in, site, mara):
    packet = make_packet(site, mara, REJECTED)
    document = packet.documents.get()
    form = {"token": "t-1", "file-0": pdf("letter.pdf"), "type-0": "irb-approval"}
    assert signed_in.post(f"/documents/{document.pk}/correct/", form).status_code == 302
    assert "Nothing needs your attention" in page(signed_in)
    assert "1 replaced" in page(signed_in)
    content = signed_in.get(f"/packets/{packet.reference}/").content.decode()
    assert "Finished. 1 document has been replaced" in content
    assert "your attention" not in signed_in.get("/sites/0203/").content.decode()


def test_a_document_in_review_needs_no_attention_of_the_site(signed_in, site, mara):
    make_packet(site, mara, IN_REVIEW)
    content = page(signed_in)
    assert "Nothing needs your attention" in content
    assert "1 in review" in content


def test_packets_of_other_sites_are_not_listed(stranger, site, mara):
    packet = make_packet(site, mara, REJECTED)
    assert packet.reference not in page(stranger)


def test_the_number_of_queries_does_not_grow_with_the_packets(
    signed_in, site, mara, django_assert_max_num_queries
):
    for _ in range(5):
        make_packet(site, mara, REJECTED, FILED)
    with django_assert_max_num_queries(13):
        page(signed_in)


def test_many_packets_are_paged(signed_in, site, mara, settings):
    for _ in range(16):
        make_packet(site, mara, None)
    assert "Older packets" in page(signed_in)
    assert "Newer packets" in signed_in.get("/?page=2").content.decode()


@pytest.mark.parametrize("number", ["0", "99", "x"])
def test_a_page_number_that_does_not_exist_shows_an_existing_page(signed_in, site, mara, number):
    make_packet(site, mara, FILED)
    assert signed_in.get(f"/?page={number}").status_code == 200


def test_staff_are_redirected_to_their_start_page(client, ines):
    client.force_login(ines)
    assert client.get("/").url == "/admin/audit/"


def test_a_site_whose_portal_does_not_respond_gets_a_link_to_the_upload_form(signed_in, site):
    assert "not responding" not in page(signed_in)
    PortalLimitState.objects.create(portal=site.portal, breaker="HALF_OPEN")
    content = page(signed_in)
    assert "not responding" in content
    assert "/packets/new/?site=0203" in content


def test_portals_of_other_sites_are_not_shown(stranger, site):
    PortalLimitState.objects.create(portal=site.portal, breaker="OPEN")
    assert "not responding" not in page(stranger)
