"""People without access are redirected to sign in, or get 404."""

import pytest

from tests.web.scenes import FILED, make_packet

PAGES = [
    "/",
    "/packets/new/",
    "/packets/new/files/",
    "/sites/",
    "/help/",
    "/help/rejections/",
    "/account/mail/",
]


@pytest.fixture
def packet(site, mara):
    return make_packet(site, mara, FILED)


def addresses(packet):
    document = packet.documents.get()
    own = f"/documents/{document.pk}/"
    needs = f"/sites/{packet.site.site_id}/"
    rest = [f"{own}file/", f"/packets/{packet.reference}/receipt/"]
    return [f"/packets/{packet.reference}/", own, needs, *rest]


def test_strangers_are_redirected_to_sign_in(client, packet):
    for address in [*PAGES, *addresses(packet)]:
        assert client.get(address).url == f"/login/?next={address}"


def test_a_packet_of_another_site_is_not_found(stranger, packet):
    for address in addresses(packet):
        assert stranger.get(address).status_code == 404


def test_the_fragment_of_a_packet_of_another_site_is_not_found(stranger, packet):
    answer = stranger.get(f"/packets/{packet.reference}/", headers={"X-Fragment": "1"})
    assert answer.status_code == 404


def test_pages_of_another_site_look_like_pages_that_do_not_exist(stranger, packet):
    theirs = stranger.get(f"/packets/{packet.reference}/").content
    never = stranger.get("/packets/PKT-1999-0001/").content
    assert main(theirs) == main(never)


def main(page):
    return page.split(b"<main")[1].split(b"</main>")[0]


def test_staff_see_the_packets_of_all_sites(client, ines, packet):
    client.force_login(ines)
    for address in addresses(packet)[:3]:
        assert client.get(address).status_code == 200


def test_requirements_of_another_site_are_not_disclosed(stranger, site):
    page = stranger.get("/packets/new/?site=0203", headers={"X-Fragment": "1"}).content.decode()
    assert "0203" not in page


def test_pages_accept_only_the_methods_that_they_need(signed_in, packet):
    for address in ["/", "/help/rejections/", *addresses(packet)]:
        assert signed_in.post(address).status_code == 405


def test_no_cache_stores_a_page_of_a_person(signed_in, packet):
    for address in ["/", "/packets/new/", *addresses(packet)[:3]]:
        assert "no-store" in signed_in.get(address).headers["Cache-Control"]
