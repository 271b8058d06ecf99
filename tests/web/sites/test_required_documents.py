"""Required documents of a site: status, missing documents and conflicts."""

from datetime import timedelta

import pypdfium2
import pytest
from django.utils import timezone

from ingestion.models import Waiver
from ingestion.rules.findings import RuleFinding
from sites.models import Site
from tests.factories import make_read, make_site, make_user
from tests.web.conftest import text
from tests.web.scenes import FILED, make_packet

PI, OTHER = "Margaret Whitfield", "Helena Brandt"


@pytest.fixture
def page(signed_in):
    return lambda: text(signed_in.get("/sites/0203/"))


def today(days=0):
    return timezone.now().date() + timedelta(days=days)


def panel(client):
    return text(client.get("/packets/new/?site=0203", headers={"X-Fragment": "1"}))


def contradict(site):
    form = make_read(site, "form-fda-1572", investigator=PI, subinvestigators="Jonas Weber")
    return form, make_read(site, "protocol-signature-page", investigator=OTHER)


def test_a_new_site_sees_its_required_documents_and_where_to_upload_them(page):
    content = page()
    assert content.count("Missing") == 10
    assert "0 of 10 complete" in content
    assert "/packets/new/?site=0203&amp;type=irb-approval" in content


def test_a_conflict_names_both_documents_and_what_to_do(page, site):
    form, signed = contradict(site)
    content = page()
    sentence = f"The Form FDA 1572 names {PI}, but the signed protocol page names {OTHER}."
    assert sentence in content
    assert "Check which name is right" in content
    for document in (form, signed):
        assert f'href="/documents/{document.pk}/"' in content.split("to resolve<")[1]


def test_a_missing_document_of_a_named_person_is_listed_with_the_name(page, site, signed_in):
    form, _ = contradict(site)
    content = page()
    assert "type=cv&amp;person=Jonas%20Weber" in content
    assert f'Named on the <a href="/documents/{form.pk}/">Form FDA 1572</a>.' in content
    assert "Named on the Form FDA 1572." in panel(signed_in)
    content = text(signed_in.get(f"/packets/{form.packet.reference}/"))
    assert "Jonas Weber (CV, " in content
    assert content.count("PACKET_INCOMPLETE") == 1


def test_each_status_is_shown_with_its_date_or_its_reason(page, site, signed_in):
    make_read(site, "medical-licence", expiry_date=today(20))
    make_read(site, "lab-certification", expiry_date=today(-3))
    make_read(site, "irb-approval", RuleFinding("SIGNATURE_MISSING"), state="REJECTED")
    make_read(site, "cv", RuleFinding("SITE_MISMATCH"), state="IN_REVIEW")
    Waiver.objects.create(
        site=site, document_type="delegation-log", reason="One person", granted_by=make_user()
    )
    for content in (page(), panel(signed_in)):
        assert f"Due {today(20).day} " in content
        assert f"Expired on {today(-3).day} " in content
        assert all(word in content for word in ("Rejected", "In review", "Waived", "One person"))


def test_markup_in_a_document_is_displayed_and_not_run(page, site):
    make_read(site, "form-fda-1572", subinvestigators="<script>alert(1)</script> Weber")
    assert "<script>alert" not in page()


def test_a_single_site_is_shown_directly_and_several_are_listed(client, signed_in, mara, site):
    assert signed_in.get("/sites/").url == "/sites/0203/"
    client.force_login(make_user(sites=(site, make_site("0417"))))
    listed = text(client.get("/sites/"))
    assert listed.count("0 of 10") == 2
    assert 'href="/sites/0417/"' in listed


def test_people_without_a_site_are_told_to_ask_for_one(client, db):
    client.force_login(make_user())
    assert "You are not assigned to a site yet" in text(client.get("/sites/"))


def test_staff_see_all_sites_and_no_upload_links(client, ines, site):
    make_site("0417")
    client.force_login(ines)
    assert "0417" in text(client.get("/sites/"))
    assert "/packets/new/" not in text(client.get("/sites/0203/"))


@pytest.mark.parametrize("address", ["/sites/0999/", "/sites/0203/x/"])
def test_requirements_of_another_site_are_not_found(signed_in, address):
    make_site("0999")
    assert signed_in.get(address).status_code == 404


def test_site_numbers_with_special_characters_have_a_page(client, db):
    site = make_site("BER 02/03@a")
    client.force_login(make_user(sites=(site, make_site())))
    listed = text(client.get("/sites/")).split('href="')
    address = next(part.split('"')[0] for part in listed if ">BER 02/03@a</a>" in part)
    assert "BER 02/03@a" in text(client.get(address))


def test_the_packet_page_shows_conflicts_of_its_documents(signed_in, site, mara):
    packet = make_packet(site, mara, FILED)
    address = f"/packets/{packet.reference}/"
    contradict(site)
    assert "to resolve" not in text(signed_in.get(address))
    form = Site.objects.get(pk=site.pk).documents.get(document_type="form-fda-1572")
    assert "to resolve" in text(signed_in.get(f"/packets/{form.packet.reference}/"))


def test_conflicts_are_not_shown_while_a_packet_is_checked(signed_in, site, mara):
    packet = make_packet(site, mara, None)
    contradict(site)
    content = text(signed_in.get(f"/packets/{packet.reference}/"))
    assert 'id="live-conflicts"' in content
    assert "to resolve" not in content


def sheets_at(client, address):
    response = client.get(address)
    assert response["Content-Type"] == "application/pdf"
    return len(pypdfium2.PdfDocument(response.content))


def test_the_page_of_a_site_leads_to_its_separator_sheets(signed_in, page, site):
    make_read(site, "irb-approval", approval_date=today(-9), expiry_date=today(300))
    content = page()
    for address, sheets in (
        ("/sites/0203/separators/", 10),
        ("/sites/0203/separators/?documents=open", 9),
    ):
        assert f'href="{address}"' in content
        assert sheets_at(signed_in, address) == sheets
    assert 'href="/sites/0203/separators/"' in panel(signed_in)


def test_separator_sheets_of_other_sites_are_not_shown(signed_in):
    make_site("0999")
    assert signed_in.get("/sites/0999/separators/").status_code == 404
