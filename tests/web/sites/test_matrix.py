"""The matrix of sites and required documents: filters, order, pages and CSV."""

import csv
from datetime import timedelta
from io import StringIO

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ingestion.models import RequiredDocument, SiteRequirement
from ingestion.operations import site_summaries
from ingestion.rules.findings import RuleFinding
from sites.models import Membership, Site, Study
from tests.factories import make_read, make_site
from tests.web.conftest import text
from web.sites import matrix

PI = "Margaret Whitfield"


@pytest.fixture
def other(mara):
    site = make_site("0417")
    Site.objects.filter(pk=site.pk).update(country="Spain", name="Hospital Clínic")
    Membership.objects.create(user=mara, site=site)
    return site


def row_of(page, site_id):
    [row] = [part for part in page.split("<tr>") if f">{site_id}</a>" in part]
    return row


def test_a_cell_links_to_the_document_or_to_the_upload_form(signed_in, site, other):
    filed = make_read(site, "irb-approval")
    refused = make_read(site, "cv", RuleFinding("SIGNATURE_MISSING"), state="REJECTED")
    row = row_of(text(signed_in.get("/sites/")), "0203")
    assert f'href="/documents/{filed.pk}/"' in row
    assert f'href="/documents/{refused.pk}/"' in row
    assert "/packets/new/?site=0203&amp;type=medical-licence&amp;person=" in row
    assert "1 of 10" in row
    for hidden in (", IRB approval, site 0203", ", CV, site 0203", ", Medical licence, site 0203"):
        assert hidden in row


def test_a_missing_document_links_staff_to_the_page_of_the_site(client, ines, site):
    make_site("0999")
    client.force_login(ines)
    row = row_of(text(client.get("/sites/")), "0203")
    assert 'href="/sites/0203/#cv"' in row
    assert 'id="cv"' in text(client.get("/sites/0203/"))
    assert "/packets/new/" not in row


def test_the_most_urgent_of_several_people_decides_about_a_cell(signed_in, site, other):
    make_read(site, "form-fda-1572", investigator=PI, subinvestigators="Jonas Weber")
    make_read(site, "cv", person=PI)
    row = row_of(text(signed_in.get("/sites/")), "0203")
    assert 'Missing</span> <span class="sl-count">1 of 2</span>' in row
    assert "type=cv&amp;person=Jonas+Weber" in row


def test_cells_show_that_a_document_is_not_required(signed_in, site, other):
    SiteRequirement.objects.create(
        site=other, document_type="cv", is_required=False, reason="Nobody"
    )
    page = text(signed_in.get("/sites/"))
    assert "n/a" in row_of(page, "0417")
    assert "n/a" not in row_of(page, "0203")


def test_sites_can_be_filtered_by_study_country_and_completeness(signed_in, site, other):
    def listed(query):
        page = text(signed_in.get(f"/sites/?{query}"))
        return [number for number in ("0203", "0417") if f">{number}</a>" in page]

    assert listed("country=Spain") == ["0417"]
    assert listed("country=Atlantis") == ["0203", "0417"], "what is not known narrows nothing"
    assert listed("study=SLX-301&country=Ireland") == ["0203"]
    RequiredDocument.objects.create(study=Study.objects.get(), document_type="medical-licence")
    soon = timezone.now().date() + timedelta(days=29)
    make_read(site, "medical-licence", expiry_date=soon)
    assert listed("incomplete=on") == ["0417"]
    assert listed("due=on") == ["0203"]
    assert "No site matches these filters." in text(signed_in.get("/sites/?due=on&country=Spain"))


def test_the_least_complete_sites_come_first(signed_in, site, other):
    make_read(site, "irb-approval")
    page = text(signed_in.get("/sites/"))
    assert page.index(">0417</a>") < page.index(">0203</a>")


def test_sites_and_countries_of_other_sites_are_not_listed(signed_in, site, other):
    strange = make_site("0999")
    Site.objects.filter(pk=strange.pk).update(country="Norway")
    for address in ("/sites/", "/sites/?country=Norway", "/figures/"):
        page = text(signed_in.get(address))
        assert "0999" not in page
        assert "Norway" not in page
    assert "0999" not in b"".join(signed_in.get("/sites.csv")).decode()


@pytest.fixture
def three_on_a_page(monkeypatch):
    monkeypatch.setattr(matrix, "SITES_PER_PAGE", 3)


def test_many_sites_are_paged_in_the_order_of_their_summaries(client, ines, three_on_a_page):
    sites = [make_site(f"010{n}") for n in range(5)]
    make_read(sites[0], "irb-approval")
    site_summaries.refresh_summaries()
    make_read(sites[4], "irb-approval")
    client.force_login(ines)
    first, second = (text(client.get(f"/sites/?page={n}")) for n in (1, 2))
    assert "Page 1 of 2, least complete first" in first
    assert ">0104</a>" in second, "its order is from before"
    assert "1 of 10" in row_of(second, "0104"), "what is shown of it is from now"
    assert "were calculated on" in first


def test_filters_also_work_with_summaries(client, ines, three_on_a_page):
    RequiredDocument.objects.create(study=make_site("0100").study, document_type="medical-licence")
    sites = [make_site(f"020{n}") for n in range(4)]
    make_read(sites[1], "medical-licence", expiry_date=timezone.now().date() + timedelta(days=9))
    make_read(sites[2], "medical-licence", expiry_date=timezone.now().date() + timedelta(days=99))
    site_summaries.refresh_summaries()
    client.force_login(ines)
    due = text(client.get("/sites/?due=on"))
    assert ">0201</a>" in due
    assert ">0202</a>" not in due
    lacking = text(client.get("/sites/?incomplete=on"))
    assert "3 sites" in lacking
    assert ">0201</a>" not in lacking


@pytest.mark.parametrize("address", ["/sites/?x=", "/figures/"])
def test_the_number_of_queries_does_not_grow_with_the_sites(signed_in, mara, site, other, address):
    def queries():
        with CaptureQueriesContext(connection) as counted:
            signed_in.get(address)
        return len(counted)

    make_read(site, "cv", RuleFinding("SIGNATURE_MISSING"), state="REJECTED")
    make_read(site, "cv")
    few = queries()
    for number in range(3):
        more = make_site(f"070{number}")
        Membership.objects.create(user=mara, site=more)
        make_read(more, "cv")
        make_read(more, "irb-approval", RuleFinding("SIGNATURE_MISSING"), state="REJECTED")
    assert queries() == few <= 26


def test_the_csv_contains_all_selected_sites(signed_in, site, other, monkeypatch):
    monkeypatch.setattr(matrix, "SITES_PER_PAGE", 1)
    Site.objects.filter(pk=site.pk).update(name='=HYPERLINK("http://evil")')
    make_read(site, "irb-approval")
    answer = signed_in.get("/sites.csv")
    assert answer["Content-Type"].startswith("text/csv")
    assert "attachment" in answer["Content-Disposition"]
    rows = list(csv.DictReader(StringIO(b"".join(answer).decode())))
    found = {row["Site"]: row for row in rows}
    assert found["0203"]["IRB approval"] == "Filed"
    assert found["0203"]["Name"] == '\'=HYPERLINK("http://evil")', "shown by a spreadsheet, not run"
    assert found["0417"]["CV"] == "Missing"
    assert (found["0203"]["In order"], found["0203"]["Needed"]) == ("1", "10")
    narrowed = b"".join(signed_in.get("/sites.csv?country=Spain")).decode()
    assert "0203" not in narrowed


def test_each_chart_of_the_metrics_page_has_a_table(signed_in, site, other):
    make_read(site, "irb-approval")
    make_read(site, "cv", RuleFinding("SIGNATURE_MISSING"), state="REJECTED")
    page = text(signed_in.get("/figures/?days=30"))
    for part in (
        "Filed at first attempt",
        "50%",
        "1 of 20 required documents",
        "1 of 2 (50%)",
        "Not signed",
    ):
        assert part in page
    assert page.count("<table") == 4
    assert "style=" not in page
    assert "No documents were rejected in the last 90 days." in text(
        signed_in.get("/figures/?country=Spain&days=7")
    )
